#include "base/text/json_writer.hpp"

#include <cstddef>
#include <ostream>

namespace LEAT::detail {
namespace {

bool is_between(unsigned char c, unsigned low, unsigned high) { return c >= low && c <= high; }

// Returns the length in bytes of the UTF-8 sequence at the front, or 0 if it is not valid. RFC
// 3629, section 4.
std::size_t sequence_length(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char lead = byte(0);
  if (lead < 0x80) return 1;
  const std::size_t length = is_between(lead, 0xC2, 0xDF)   ? 2
                             : is_between(lead, 0xE0, 0xEF) ? 3
                             : is_between(lead, 0xF0, 0xF4) ? 4
                                                            : 0;
  if (length == 0 || text.size() < length) return 0;
  // No overlong forms, no surrogates, nothing above U+10FFFF.
  const unsigned low = lead == 0xE0 ? 0xA0 : lead == 0xF0 ? 0x90 : 0x80;
  const unsigned high = lead == 0xED ? 0x9F : lead == 0xF4 ? 0x8F : 0xBF;
  if (!is_between(byte(1), low, high)) return 0;
  for (std::size_t i = 2; i < length; ++i) {
    if (!is_between(byte(i), 0x80, 0xBF)) return 0;
  }
  return length;
}

void write_hex(std::ostream& out, unsigned char c) {
  constexpr char digits[] = "0123456789ABCDEF";
  out << digits[c >> 4] << digits[c & 15];
}

}  // namespace

json_writer& json_writer::key(std::string_view name) {
  separate();
  write_text(name);
  out_ << ':';
  first_ = true;
  return *this;
}

json_writer& json_writer::value(std::string_view text) {
  separate();
  write_text(text);
  return *this;
}

json_writer& json_writer::value(std::uint64_t number) {
  separate();
  out_ << number;
  return *this;
}

json_writer& json_writer::milliseconds(std::int64_t count) {
  separate();
  if (count < 0) out_ << '-';
  const std::uint64_t size =
      count < 0 ? 0 - static_cast<std::uint64_t>(count) : static_cast<std::uint64_t>(count);
  out_ << size / 1000 << '.' << size / 100 % 10 << size / 10 % 10 << size % 10;
  return *this;
}

json_writer& json_writer::open(char bracket) {
  separate();
  out_ << bracket;
  first_ = true;
  return *this;
}

json_writer& json_writer::close(char bracket) {
  out_ << bracket;
  first_ = false;
  return *this;
}

json_writer& json_writer::literal(std::string_view text) {
  separate();
  out_ << text;
  return *this;
}

void json_writer::separate() {
  if (!first_) out_ << ',';
  first_ = false;
}

void json_writer::write_text(std::string_view text) {
  out_ << '"';
  while (!text.empty()) {
    const std::size_t length = sequence_length(text);
    const auto c = static_cast<unsigned char>(text.front());
    if (c == '"' || c == '\\') {
      out_ << '\\' << text.front();
    } else if (c < 0x20 || c == 0x7F) {
      out_ << "\\u00";
      write_hex(out_, c);
    } else if (length == 0) {
      out_ << "\\\\x";
      write_hex(out_, c);
    } else {
      out_ << text.substr(0, length);
    }
    text.remove_prefix(length == 0 ? 1 : length);
  }
  out_ << '"';
}

}  // namespace LEAT::detail
