#include "leat/codec/checkpoint/checkpoint_state.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstddef>
#include <cstdint>

#include "codec/excerpt.hpp"
#include "codec/text/parse_number.hpp"
#include "leat/base/error.hpp"

namespace LEAT {
namespace {

constexpr std::string_view model_path_field = "model_checkpoint_path";
constexpr std::string_view paths_field = "all_model_checkpoint_paths";
constexpr std::string_view timestamps_field = "all_model_checkpoint_timestamps";
constexpr std::string_view preserved_field = "last_preserved_timestamp";

// ---- Writing.

bool prints(char c) noexcept { return c >= ' ' && c <= '~'; }

void append_quoted(std::string& text, std::string_view value) {
  constexpr std::string_view marked = "\n\r\t\"'\\";
  constexpr std::string_view letters = "nrt\"'\\";
  text += '"';
  for (const char c : value) {
    if (const std::size_t at = marked.find(c); at != std::string_view::npos) {
      text.append(1, '\\').append(1, letters[at]);
    } else if (prints(c)) {
      text += c;
    } else {
      const unsigned byte = static_cast<unsigned char>(c);
      text += '\\';
      for (const unsigned shift : {6U, 3U, 0U})
        text += static_cast<char>('0' + (byte >> shift & 7));
    }
  }
  text += '"';
}

void append_field(std::string& text, std::string_view field, std::string_view value) {
  text.append(field).append(": ");
  append_quoted(text, value);
  text += '\n';
}

void append_field(std::string& text, std::string_view field, double value) {
  std::array<char, 32> digits;  // the shortest that reads as the same
  const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), value).ptr;
  text.append(field).append(": ").append(digits.data(), end).append(1, '\n');
}

// ---- Reading.

bool is_space(char c) noexcept { return c == ' ' || (c >= '\t' && c <= '\r'); }
bool is_digit(char c) noexcept { return c >= '0' && c <= '9'; }
bool is_word(char c) noexcept {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || is_digit(c) || c == '_';
}
bool is_number(char c) noexcept { return is_word(c) || c == '.' || c == '+' || c == '-'; }

// Returns the value of a digit of any base up to 16; at least the base for other characters.
unsigned hex_digit(char c) noexcept {
  if (is_digit(c)) return static_cast<unsigned>(c - '0');
  if (c >= 'a' && c <= 'f') return static_cast<unsigned>(c - 'a') + 10;
  if (c >= 'A' && c <= 'F') return static_cast<unsigned>(c - 'A') + 10;
  return 16;
}

void append_utf8(std::string& text, std::uint32_t code) {
  const auto put = [&](std::uint32_t byte) { text += static_cast<char>(byte); };
  if (code < 0x80) {
    put(code);
  } else if (code < 0x800) {
    put(0xC0 | code >> 6);
    put(0x80 | (code & 0x3F));
  } else if (code < 0x10000) {
    put(0xE0 | code >> 12);
    put(0x80 | (code >> 6 & 0x3F));
    put(0x80 | (code & 0x3F));
  } else {
    put(0xF0 | code >> 18);
    put(0x80 | (code >> 12 & 0x3F));
    put(0x80 | (code >> 6 & 0x3F));
    put(0x80 | (code & 0x3F));
  }
}

// The grammar is protobuf's text format for a message with only strings, doubles and lists of
// these; only a list may be in brackets:
//
//     text   = { field ":" ( value | "[" [ value { "," value } ] "]" ) [ "," | ";" ] }
//     value  = number | string { string }
//
// White space, and comments from "#" to the end of the line, may be between all of these.

class parser {
 public:
  explicit parser(std::string_view text) noexcept : text_(text) {}

  checkpoint_state run() {
    checkpoint_state state;
    for (skip_space(); !at_end(); skip_space()) {
      const std::string_view field = take_while(is_word);
      if (field.empty()) throw_error("expected the name of a field, found " + next_text());
      skip_space();
      if (!take(':'))
        throw_error("expected ':' after the field " + detail::excerpt(field) + ", found " +
                    next_text());
      read_field(state, field);
      skip_space();
      if (!take(',')) take(';');
    }
    return state;
  }

 private:
  void read_field(checkpoint_state& state, std::string_view field) {
    if (field == model_path_field) {
      state.model_checkpoint_path = take_string();
    } else if (field == preserved_field) {
      state.last_preserved_timestamp = take_number();
    } else if (field == paths_field) {
      take_values([&] { state.all_model_checkpoint_paths.push_back(take_string()); });
    } else if (field == timestamps_field) {
      take_values([&] { state.all_model_checkpoint_timestamps.push_back(take_number()); });
    } else {
      throw_error("unknown field " + detail::excerpt(field));
    }
  }

  // One value, or a list of them in brackets.
  template <class Take>
  void take_values(Take take_one) {
    skip_space();
    if (!take('[')) return take_one();
    skip_space();
    if (take(']')) return;
    do {
      take_one();
      skip_space();
    } while (take(','));
    if (!take(']')) throw_error("expected ',' or ']' in a list, found " + next_text());
  }

  double take_number() {
    skip_space();
    std::string_view digits = take_while(is_number);
    const std::string_view all = digits;
    const bool is_hex = digits.find_first_of("xX") != std::string_view::npos;
    if (digits.size() > 1 && (digits.back() == 'f' || digits.back() == 'F') &&
        (is_digit(digits[digits.size() - 2]) || digits[digits.size() - 2] == '.')) {
      digits.remove_suffix(1);
    }
    double value = 0;
    if (digits.empty() || is_hex || detail::parse_number(digits, value) != detail::parsed::ok ||
        !std::isfinite(value)) {  // not a valid time
      throw_error("expected a number, found " + (all.empty() ? next_text() : detail::excerpt(all)));
    }
    return value;
  }

  // Adjacent strings are one string.
  std::string take_string() {
    std::string value;
    skip_space();
    if (at_end() || (text_[at_] != '"' && text_[at_] != '\'')) {
      throw_error("expected a quoted string, found " + next_text());
    }
    while (!at_end() && (text_[at_] == '"' || text_[at_] == '\'')) {
      take_part(value);
      skip_space();
    }
    return value;
  }

  void take_part(std::string& value) {
    const char quote = text_[at_++];
    for (;;) {
      if (at_end() || text_[at_] == '\n')
        throw_error("string is not closed at the end of its line");
      const char c = text_[at_++];
      if (c == quote) return;
      if (c == '\\') {
        take_escape(value);
      } else {
        value += c;
      }
    }
  }

  void take_escape(std::string& value) {
    constexpr std::string_view letters = "abfnrtv\\?'\"";
    constexpr std::string_view meanings = "\a\b\f\n\r\t\v\\?'\"";
    const char c = at_end() ? '\0' : text_[at_++];
    if (const std::size_t i = letters.find(c); i != std::string_view::npos) {
      value += meanings[i];
    } else if (c >= '0' && c <= '7') {
      --at_;
      value += static_cast<char>(take_digits(8, 1, 3));
    } else if (c == 'x' || c == 'X') {
      value += static_cast<char>(take_digits(16, 1, 2));
    } else if (c == 'u' || c == 'U') {
      const std::size_t digits = c == 'u' ? 4 : 8;
      const std::uint32_t code = take_digits(16, digits, digits);
      if (code > 0x10FFFF || (code >= 0xD800 && code < 0xE000))
        throw_error("escape sequence in a string is not a valid character");
      append_utf8(value, code);
    } else {
      throw_error("unknown escape sequence in a string");
    }
  }

  std::uint32_t take_digits(unsigned base, std::size_t fewest, std::size_t most) {
    std::uint32_t value = 0;
    std::size_t count = 0;
    for (; count < most && !at_end() && hex_digit(text_[at_]) < base; ++count) {
      value = value * base + hex_digit(text_[at_++]);
    }
    if (count < fewest) throw_error("escape sequence in a string has too few digits");
    return value;
  }

  void skip_space() noexcept {
    while (!at_end()) {
      if (text_[at_] == '#') {
        at_ = std::min(text_.find('\n', at_), text_.size());
      } else if (is_space(text_[at_])) {
        ++at_;
      } else {
        return;
      }
    }
  }

  template <class Which>
  std::string_view take_while(Which which) noexcept {
    const std::size_t begin = at_;
    while (!at_end() && which(text_[at_])) ++at_;
    return text_.substr(begin, at_ - begin);
  }

  bool take(char c) noexcept {
    if (at_end() || text_[at_] != c) return false;
    ++at_;
    return true;
  }

  [[nodiscard]] bool at_end() const noexcept { return at_ == text_.size(); }

  [[nodiscard]] std::string next_text() const {
    return at_end() ? "the end of the text" : detail::excerpt(text_.substr(at_, 1));
  }

  [[noreturn]] void throw_error(const std::string& why) const {
    const auto line =
        1 + std::count(text_.begin(), text_.begin() + static_cast<std::ptrdiff_t>(at_), '\n');
    throw failure(errc::invalid_argument,
                  "checkpoint state, line " + std::to_string(line) + ": " + why);
  }

  std::string_view text_;
  std::size_t at_ = 0;
};

}  // namespace

std::string checkpoint_state::to_text() const {
  std::string text;
  if (!model_checkpoint_path.empty()) append_field(text, model_path_field, model_checkpoint_path);
  for (const std::string& path : all_model_checkpoint_paths) append_field(text, paths_field, path);
  for (const double t : all_model_checkpoint_timestamps) append_field(text, timestamps_field, t);
  if (last_preserved_timestamp) append_field(text, preserved_field, *last_preserved_timestamp);
  return text;
}

checkpoint_state checkpoint_state::from_text(std::string_view text) { return parser(text).run(); }

}  // namespace LEAT
