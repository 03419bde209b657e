#include "codec/csv/internal/csv_record_splitter.hpp"

#include <algorithm>
#include <array>

#include "codec/csv/internal/csv_text.hpp"
#include "codec/text/byte_masks.hpp"

namespace LEAT::detail {
namespace {

constexpr std::size_t piece_size = 4096;

// Positions of quotes and line ends in a piece of a text, and space to write them in groups.
using piece_marks = std::array<std::uint16_t, piece_size + 64>;

std::size_t mark_piece_portably(const char* data, std::size_t size, char quote,
                                piece_marks& marks) noexcept {
  std::size_t count = 0;
  for (std::size_t i = 0; i < size; ++i) {
    if (data[i] == '\n' || data[i] == '\r' || data[i] == quote)
      marks[count++] = static_cast<std::uint16_t>(i);
  }
  return count;
}

#if defined(__x86_64__)
LEAT_AVX2 std::size_t mark_piece_avx2(const char* data, char quote, piece_marks& marks) noexcept {
  std::uint16_t* out = marks.data();
  for (std::size_t base = 0; base < piece_size; base += 64) {
    const byte_block block(data + base);
    out = write_bits<4>(out, block.where('\n', '\r') | block.where(quote), base);
  }
  return static_cast<std::size_t>(out - marks.data());
}
#endif

std::size_t mark_piece(const char* data, std::size_t size, char quote,
                       piece_marks& marks) noexcept {
#if defined(__x86_64__)
  if (size == piece_size && has_avx2()) return mark_piece_avx2(data, quote, marks);
#endif
  return mark_piece_portably(data, size, quote, marks);
}

}  // namespace

// Visits the quotes and line ends of a text in order.
class csv_record_splitter::scan {
 public:
  scan(const settings& s, const input& in, std::vector<byte_view>& records)
      : settings_(s),
        text_(in.text),
        is_last_(in.is_last),
        inside_(in.at_searched != state::outside_quotes),
        records_(records) {}

  result run(std::size_t from) {
    // Without quotes, a byte that is marked anyway.
    const char quote = settings_.quotes ? '"' : '\n';
    next_ = from;
    piece_marks marks;
    for (std::size_t base = from; base < text_.size() && !stopped_; base += piece_size) {
      const std::size_t size = std::min(piece_size, text_.size() - base);
      const std::size_t count = mark_piece(text_.data() + base, size, quote, marks);
      for (std::size_t i = 0; i < count && !stopped_; ++i) visit(base + marks[i]);
    }
    if (!stopped_) finish();
    return found_;
  }

 private:
  void visit(std::size_t at) {
    if (at < next_) return;  // the second byte of a pair
    if (text_[at] == '"' && settings_.quotes) {
      if (inside_) {
        leave_quotes(at);
      } else if (at == found_.consumed || text_[at - 1] == settings_.delimiter) {
        inside_ = true;
        opened_at_ = at;
      } else {
        stop(at, quote_in_unquoted_field);
      }
    } else if (!inside_) {
      end_record(at);
    }
  }

  void leave_quotes(std::size_t at) {
    // The next byte decides whether the quote ends the field or is the first of two. If it is not
    // there yet, the next call visits this quote again.
    if (at + 1 == text_.size()) {
      if (is_last_) inside_ = false;
      found_.rest = state::after_quote;
      return;
    }
    const char after = text_[at + 1];
    if (after == '"') {
      next_ = at + 2;
    } else if (after == settings_.delimiter || after == '\n' || after == '\r') {
      inside_ = false;
    } else {
      stop(at, quote_in_quoted_field);
    }
  }

  void end_record(std::size_t at) {
    std::size_t after = at + 1;
    if (text_[at] == '\r') {
      if (after == text_.size() && !is_last_) return;  // the next byte may be LF
      if (after < text_.size() && text_[after] == '\n') ++after;
    }
    next_ = after;
    add(at);
    if (!stopped_) found_.consumed = after;
  }

  void add(std::size_t end) {
    const std::string_view record = text_.substr(found_.consumed, end - found_.consumed);
    if (record.size() > settings_.max_size) {
      stop(end, nullptr);
    } else if (!record.empty() || !settings_.skip_blank_lines) {
      records_.push_back(as_bytes(record));
    }
  }

  // The text ends within a record, or after one.
  void finish() {
    std::string_view rest = text_.substr(found_.consumed);
    if (rest.empty()) return;
    if (is_last_) {
      if (inside_) return stop(opened_at_, no_closing_quote);
      add(text_.size());
      if (!stopped_) found_.consumed = text_.size();
      return;
    }
    if (!inside_) {
      if (rest.ends_with('\r')) rest.remove_suffix(1);
    } else if (found_.rest != state::after_quote) {
      found_.rest = state::inside_quotes;
    }
    if (rest.size() > settings_.max_size) stop(text_.size(), nullptr);
  }

  // A record that is both too long and malformed is too long, so that pieces make no difference.
  void stop(std::size_t at, const char* fault) noexcept {
    stopped_ = true;
    const std::size_t seen =
        fault == no_closing_quote ? text_.size() : std::min(at + 1, text_.size());
    found_.is_too_long = !fault || seen - found_.consumed > settings_.max_size;
    if (found_.is_too_long) return;
    found_.fault = fault;
    found_.fault_at = at;
  }

  const settings& settings_;
  std::string_view text_;
  bool is_last_;
  bool inside_;  // quotes
  bool stopped_ = false;
  std::size_t next_ = 0;       // marks before it have been visited
  std::size_t opened_at_ = 0;  // the last quote that begins a field
  std::vector<byte_view>& records_;
  result found_;
};

csv_record_splitter::result csv_record_splitter::split(const input& in,
                                                       std::vector<byte_view>& records) const {
  // The message about a quote that is never closed names its offset.
  if (in.is_last) return scan(settings_, {in.text, true}, records).run(0);
  std::size_t from = in.searched;
  // A quote or CR at the end of the searched bytes is visited again, with the byte after it.
  const bool is_open =
      in.at_searched == state::after_quote ||
      (in.at_searched == state::outside_quotes && from > 0 && in.text[from - 1] == '\r');
  if (is_open) --from;
  return scan(settings_, in, records).run(from);
}

std::size_t end_of_line(std::string_view text, bool is_last) noexcept {
  const std::size_t end = text.find_first_of("\r\n");
  if (end == std::string_view::npos) return 0;
  if (text[end] == '\n') return end + 1;
  if (end + 1 == text.size()) return is_last ? end + 1 : 0;
  return end + (text[end + 1] == '\n' ? 2 : 1);
}

}  // namespace LEAT::detail
