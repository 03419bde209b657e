#include "codec/csv/csv_block.hpp"

#include <algorithm>
#include <cstring>

namespace LEAT::detail {
namespace {

// Bytes of the line end between the end of a record and the next record. Only these two bytes may
// be read. npos if other bytes are between them.
std::size_t line_end_before(const char* end, const char* next) noexcept {
  const std::size_t size = reinterpret_cast<std::uintptr_t>(next) -
                           reinterpret_cast<std::uintptr_t>(end);  // very large if it is before
  const bool is_line_end = size == 0 || (size == 1 && (end[0] == '\n' || end[0] == '\r')) ||
                           (size == 2 && end[0] == '\r' && end[1] == '\n');
  return is_line_end ? size : std::string_view::npos;
}

}  // namespace

// The records are adjacent in memory, so one pass over all of their text finds the delimiters. It
// does not look for the ends of records; three counts prove afterwards that each record is plain:
//
// - All line ends are between the records, so no record contains any.
// - The delimiters outside quotes divide evenly, and each share lies within its record.
// - The fields that begin and end with a quote account for all quotes.
//
// Otherwise csv_splitter splits the records one by one. Positions have 16 bits: a text has at most
// max_record bytes.

std::size_t csv_block::take(std::span<const std::string_view> records) {
  const std::size_t count = count_together(records);
  records_ = records.first(count);
  const char* const begin = records_.front().data();
  text_ = {begin, records_.back().data() + records_.back().size()};
  plain_ = find_fields();
  return count;
}

// An empty record has no field; csv_splitter handles it.
std::size_t csv_block::count_together(std::span<const std::string_view> records) noexcept {
  between_ = 0;
  const char* const begin = records[0].data();
  if (records[0].empty()) return 1;
  std::size_t count = 1;
  for (; count < std::min(records.size(), max_count); ++count) {
    const std::string_view before = records[count - 1];
    const std::string_view next = records[count];
    if (next.empty()) break;
    const std::size_t line_end = line_end_before(before.data() + before.size(), next.data());
    if (line_end == std::string_view::npos) break;
    if (next.data() + next.size() - begin > static_cast<std::ptrdiff_t>(max_text)) break;
    between_ += line_end;
  }
  return count;
}

bool csv_block::find_fields() {
#if defined(__x86_64__)
  if (!has_avx2() || text_.empty() || text_.size() > max_record) return false;
  if (!positions_) positions_ = std::make_unique_for_overwrite<field_positions>();
  const totals all = find_delimiters();
  any_quotes_ = all.quotes > 0;
  return all.line_ends == between_ && delimiters_are_even(all.delimiters) &&
         (!any_quotes_ || quotes_are_around_fields(all.quotes));
#else
  return false;
#endif
}

// The number of delimiters in each record must be equal.
bool csv_block::delimiters_are_even(std::size_t found) noexcept {
  if (found % count() != 0) return false;
  delimiters_ = found / count();
  const std::uint16_t* first = positions_->delimiters.data();
  bool even = true;
  for (std::size_t i = 0; i < count(); ++i) {
    const auto begin = static_cast<std::size_t>(records_[i].data() - text_.data());
    const std::size_t end = begin + records_[i].size();
    positions_->begins[i] = static_cast<std::uint16_t>(begin);
    positions_->ends[i] = static_cast<std::uint16_t>(end);
    even = even && (delimiters_ == 0 || (first[0] >= begin && first[delimiters_ - 1] < end));
    first += delimiters_;
  }
  return even;
}

// If the number of fields that begin and end with a quote equals the number of pairs, all quotes
// are at the ends of fields: no quote is inside a field or open at the end of a record.
bool csv_block::quotes_are_around_fields(std::size_t quotes) const noexcept {
  std::size_t pairs = 0;
  const std::uint16_t* ends = positions_->delimiters.data();
  for (const std::string_view record : records_) {
    const char* begin = record.data();
    for (std::size_t i = 0; i <= delimiters_; ++i) {
      const char* const end =
          i == delimiters_ ? record.data() + record.size() : text_.data() + ends[i];
      if (end - begin >= 2 && *begin == '"' && end[-1] == '"') ++pairs;
      begin = end + 1;
    }
    ends += delimiters_;
  }
  return 2 * pairs == quotes;
}

#if defined(__x86_64__)

namespace {

// Sets a bit for each byte if the number of quotes up to and including it is odd.
LEAT_AVX2 std::uint64_t inside_odd_quotes(std::uint64_t quotes) noexcept {
  for (int by = 1; by < 64; by *= 2) quotes ^= quotes << by;
  return quotes;
}

}  // namespace

LEAT_AVX2 csv_block::totals csv_block::find_delimiters() noexcept {
  constexpr int at_once = 8;  // there are rarely more fields in 64 bytes
  totals all;
  std::uint16_t* out = positions_->delimiters.data();
  std::uint64_t open = 0;  // all ones: inside quotes
  for (std::size_t base = 0; base < text_.size(); base += block_size) {
    const std::size_t size = std::min(block_size, text_.size() - base);
    char last[block_size];
    const char* data = text_.data() + base;
    std::uint64_t inside = ~std::uint64_t{0};
    if (size < block_size) {  // bytes after the text must not be read
      std::memcpy(last, data, size);
      data = last;
      inside >>= block_size - size;
    }
    const byte_block block(data);
    std::uint64_t delimiters = block.where(delimiter_) & inside;
    all.line_ends += static_cast<std::size_t>(_mm_popcnt_u64(block.where('\n', '\r') & inside));
    const std::uint64_t quotes = quotes_ ? block.where('"') & inside : 0;
    if ((quotes | open) != 0) {
      const std::uint64_t quoted = inside_odd_quotes(quotes) ^ open;
      delimiters &= ~quoted;
      open = std::uint64_t{0} - (quoted >> 63);
      all.quotes += static_cast<std::size_t>(_mm_popcnt_u64(quotes));
    }
    out = write_bits<at_once>(out, delimiters, base);
  }
  all.delimiters = static_cast<std::size_t>(out - positions_->delimiters.data());
  return all;
}

#endif

}  // namespace LEAT::detail
