#include "codec/csv/csv_splitter.hpp"

#include <bit>
#include <cstdint>
#include <cstring>

#include "codec/csv/internal/csv_text.hpp"
#include "codec/text/byte_masks.hpp"
#include "leat/codec/decode_error.hpp"

namespace LEAT::detail {
namespace {

constexpr std::size_t block_size = 64;

// A bit for each byte of a block: delimiters, and bytes that need a closer look.
struct marks {
  std::uint64_t delimiters = 0;
  std::uint64_t special = 0;  // line ends, and `quote`
};

#if defined(__x86_64__)
LEAT_AVX2 marks mark_avx2(const char* data, char delimiter, char quote) noexcept {
  const byte_block block(data);
  return {block.where(delimiter), block.where('\n', '\r') | block.where(quote)};
}
#endif

marks mark_portably(const char* block, char delimiter, char quote) noexcept {
  marks found;
  for (std::size_t at = 0; at < block_size; ++at) {
    const char c = block[at];
    const std::uint64_t bit = std::uint64_t{1} << at;
    if (c == delimiter) found.delimiters |= bit;
    if (c == quote || c == '\n' || c == '\r') found.special |= bit;
  }
  return found;
}

marks mark(const char* block, char delimiter, char quote) noexcept {
#if defined(__x86_64__)
  if (has_avx2()) return mark_avx2(block, delimiter, quote);
#endif
  return mark_portably(block, delimiter, quote);
}

bool is_line_end(char c) noexcept { return c == '\n' || c == '\r'; }

}  // namespace

// The first count_ elements of fields_ are the fields. After split_unquoted(), they lie in the
// record, and offsets_ is empty. After split_general(), offsets_ has the begin of each field in the
// record, because a field with doubled quotes lies in unquoted_.

std::span<const std::string_view> csv_splitter::split(std::string_view record, std::size_t number) {
  if (!split_unquoted(record)) split_general(record, number);
  return std::span(fields_).first(count_);
}

void csv_splitter::reserve_fields() {
  if (fields_.size() < count_ + block_size + 1) fields_.resize(2 * count_ + 2 * block_size);
}

bool csv_splitter::split_unquoted(std::string_view record) {
  count_ = 0;
  offsets_.clear();
  if (record.empty()) return true;
  // Without quotes, a byte that is special anyway.
  const char quote = quotes_ ? '"' : '\n';
  const char* const data = record.data();
  std::size_t begin = 0;  // of the current field
  for (std::size_t base = 0; base < record.size(); base += block_size) {
    reserve_fields();
    const std::size_t size = std::min(block_size, record.size() - base);
    marks found;
    if (size == block_size) {
      found = mark(data + base, delimiter_, quote);
    } else {
      char last[block_size] = {};  // bytes after the record must not be read
      std::memcpy(last, data + base, size);
      found = mark(last, delimiter_, quote);
      const std::uint64_t inside = (std::uint64_t{1} << size) - 1;
      found.delimiters &= inside;
      found.special &= inside;
    }
    if (found.special != 0) return false;
    std::string_view* out = fields_.data() + count_;
    for (std::uint64_t left = found.delimiters; left != 0; left &= left - 1) {
      const std::size_t end = base + static_cast<std::size_t>(std::countr_zero(left));
      *out++ = {data + begin, end - begin};
      begin = end + 1;
    }
    count_ = static_cast<std::size_t>(out - fields_.data());
    if (count_ >= limit_) {
      count_ = limit_;
      return true;
    }
  }
  fields_[count_++] = {data + begin, record.size() - begin};
  return true;
}

void csv_splitter::split_general(std::string_view record, std::size_t number) {
  count_ = 0;
  unquoted_.clear();
  unquoted_.reserve(record.size());  // so that it stays where it is
  std::size_t at = 0;
  for (;;) {
    while (at < record.size() && is_line_end(record[at])) ++at;
    if (at == record.size()) break;
    offsets_.push_back(at);
    const bool quoted = quotes_ && record[at] == '"';
    at = quoted ? quoted_field(record, at, number) : plain_field(record, at, number);
    if (count_ == limit_) return;
    if (at == record.size()) return;
    ++at;  // after the delimiter
  }
  // An empty field follows the last delimiter.
  if (!record.empty() && record.back() == delimiter_) {
    offsets_.push_back(record.size());
    add(record.substr(record.size()));
  }
}

void csv_splitter::add(std::string_view field) {
  reserve_fields();
  fields_[count_++] = field;
}

std::size_t csv_splitter::plain_field(std::string_view record, std::size_t at, std::size_t number) {
  std::size_t end = at;
  for (; end < record.size() && record[end] != delimiter_; ++end) {
    if (is_line_end(record[end])) {
      throw_error(number, end, "line end in an unquoted field: enclose the field in quotes");
    }
    if (quotes_ && record[end] == '"') {
      throw_error(number, end, quote_in_unquoted_field);
    }
  }
  add(record.substr(at, end - at));
  return end;
}

std::size_t csv_splitter::quoted_field(std::string_view record, std::size_t at,
                                       std::size_t number) {
  const std::size_t first = at + 1;
  const std::size_t unquoted_before = unquoted_.size();
  bool doubled = false;
  std::size_t from = first;  // begin of the part that is not in `unquoted_` yet
  for (;;) {
    const std::size_t quote = record.find('"', from);
    if (quote == std::string_view::npos) throw_error(number, at, no_closing_quote);
    const std::size_t next = quote + 1;
    if (next == record.size() || record[next] == delimiter_) {
      if (doubled) {
        unquoted_.append(record, from, quote - from);
        add(std::string_view(unquoted_).substr(unquoted_before));
      } else {
        add(record.substr(first, quote - first));
      }
      return next;
    }
    if (record[next] != '"') throw_error(number, quote, quote_in_quoted_field);
    doubled = true;
    unquoted_.append(record, from, next - from);
    from = next + 1;
  }
}

void csv_splitter::throw_error(std::size_t number, std::size_t at, const std::string& why) const {
  throw decode_error(number, ", byte " + std::to_string(at + 1) + ", field " +
                                 std::to_string(count_) + ": " + why);
}

}  // namespace LEAT::detail
