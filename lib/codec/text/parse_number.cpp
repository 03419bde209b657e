#include "codec/text/parse_number.hpp"

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <iterator>
#include <limits>
#include <system_error>
#include <type_traits>

namespace LEAT::detail {
namespace {

bool is_space(char c) noexcept { return c == ' ' || (c >= '\t' && c <= '\r'); }

std::string_view without_space(std::string_view text) noexcept {
  while (!text.empty() && is_space(text.front())) text.remove_prefix(1);
  while (!text.empty() && is_space(text.back())) text.remove_suffix(1);
  return text;
}

unsigned decimal_digit(char c) noexcept { return static_cast<unsigned char>(c) - unsigned{'0'}; }

template <class Integer>
parsed parse_integer(std::string_view text, Integer& out) noexcept {
  text = without_space(text);
  const bool negative = !text.empty() && text.front() == '-';
  if (negative) text.remove_prefix(1);
  if (text.empty()) return parsed::no_number;
  using wide = std::make_unsigned_t<Integer>;
  // One digit less is never too large.
  constexpr std::size_t safe_digits = std::numeric_limits<Integer>::digits10;
  wide value = 0;
  const bool safe = text.size() <= safe_digits;
  const wide limit = static_cast<wide>(std::numeric_limits<Integer>::max()) + (negative ? 1 : 0);
  bool fits = true;
  for (const char c : text) {
    const unsigned digit = decimal_digit(c);
    if (digit > 9) return parsed::no_number;
    if (!safe && fits) fits = value <= limit / 10 && digit <= limit - value * 10;
    if (fits) value = value * 10 + digit;
  }
  if (!fits) return parsed::out_of_range;
  out = static_cast<Integer>(negative ? wide{0} - value : value);
  return parsed::ok;
}

bool is_hex(std::string_view text) noexcept {
  return text.size() > 2 && text[0] == '0' && (text[1] == 'x' || text[1] == 'X');
}

template <class Float>
parsed parse_any(std::string_view text, Float& out) noexcept {
  const bool hex = is_hex(text);
  if (hex) text.remove_prefix(2);
  // std::from_chars would accept a sign here, and a word after "nan".
  if (text.empty() || text.front() == '-' || text.back() == ')') return parsed::no_number;
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(
      text.data(), end, out, hex ? std::chars_format::hex : std::chars_format::general);
  if (error == std::errc::invalid_argument || stop != end) return parsed::no_number;
  return error == std::errc() ? parsed::ok : parsed::out_of_range;
}

// Decides whether a number beyond the range of its type is too large or too small.
bool is_above_one(std::string_view text) noexcept {
  const bool hex = is_hex(text);
  if (hex) text.remove_prefix(2);
  const std::size_t end = std::min(text.find_first_of(hex ? "pP" : "eE"), text.size());
  const std::size_t point = std::min(text.find('.'), end);
  const std::size_t first = text.find_first_not_of("0.");
  auto magnitude = static_cast<std::int64_t>(point) - static_cast<std::int64_t>(first);
  if (hex) magnitude *= 4;
  std::string_view digits = text.substr(std::min(end + 1, text.size()));
  if (digits.starts_with('+')) digits.remove_prefix(1);
  if (!digits.empty()) {
    std::int64_t exponent = 0;
    constexpr std::int64_t much = std::int64_t{1} << 61;  // more than the digits of a text
    if (parse_integer(digits, exponent) == parsed::out_of_range) return digits.front() != '-';
    magnitude += std::clamp(exponent, -much, much);
  }
  return magnitude > 0;
}

template <class Float>
parsed parse_float(std::string_view text, Float& out) noexcept {
  text = without_space(text);
  const bool negative = !text.empty() && text.front() == '-';
  if (negative || (!text.empty() && text.front() == '+')) text.remove_prefix(1);
  const parsed result = parse_any(text, out);
  if (result == parsed::no_number) return result;
  if (result == parsed::out_of_range) {
    out = is_above_one(text) ? std::numeric_limits<Float>::infinity() : Float{0};
  }
  if (negative) out = -out;
  return parsed::ok;
}

}  // namespace

parsed parse_number_general(std::string_view text, std::int32_t& out) noexcept {
  return parse_integer(text, out);
}
parsed parse_number_general(std::string_view text, std::int64_t& out) noexcept {
  return parse_integer(text, out);
}
parsed parse_number_general(std::string_view text, float& out) noexcept {
  return parse_float(text, out);
}
parsed parse_number_general(std::string_view text, double& out) noexcept {
  return parse_float(text, out);
}

}  // namespace LEAT::detail
