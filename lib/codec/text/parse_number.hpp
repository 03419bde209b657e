#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <iterator>
#include <limits>
#include <string_view>
#include <type_traits>

#include "leat/base/flavour.hpp"

namespace LEAT::detail {

/// The result of parsing a number.
enum class parsed : unsigned char { ok, no_number, out_of_range };

// The inline functions below parse short and plain numbers; these functions parse all others.
[[nodiscard]] parsed parse_number_general(std::string_view text, std::int32_t& out) noexcept;
[[nodiscard]] parsed parse_number_general(std::string_view text, std::int64_t& out) noexcept;
[[nodiscard]] parsed parse_number_general(std::string_view text, float& out) noexcept;
[[nodiscard]] parsed parse_number_general(std::string_view text, double& out) noexcept;

/// Takes decimal digits from the front of a text. Precondition: at most 19 digits, so that they
/// fit.
class digit_reader {
 public:
  explicit digit_reader(std::string_view text) noexcept
      : at_(text.data()), end_(text.data() + text.size()) {}

  [[nodiscard]] bool at_end() const noexcept { return at_ == end_; }
  [[nodiscard]] std::uint64_t value() const noexcept { return value_; }

  /// Returns the number of digits.
  std::size_t take() noexcept {
    const char* const first = at_;
    while (end_ - at_ >= 8 && read_eight_digits()) {
    }
    for (; at_ != end_; ++at_) {
      const unsigned digit = static_cast<unsigned char>(*at_) - unsigned{'0'};
      if (digit > 9) break;
      value_ = value_ * 10 + digit;
    }
    return static_cast<std::size_t>(at_ - first);
  }

  /// Skips `c`. Returns false if the next byte is another.
  bool take(char c) noexcept {
    if (at_ == end_ || *at_ != c) return false;
    ++at_;
    return true;
  }

 private:
  // Eight digits at a time: pairs, then fours, then all, with one multiplication each.
  bool read_eight_digits() noexcept {
    static_assert(std::endian::native == std::endian::little);
    std::uint64_t word;
    std::memcpy(&word, at_, sizeof word);
    const std::uint64_t digits = word - 0x3030303030303030U;
    // A byte above 9 has one of its high bits set, or gets one by the addition.
    if (((digits | (digits + 0x7676767676767676U)) & 0x8080808080808080U) != 0) return false;
    word = digits * 10 + (digits >> 8);
    constexpr std::uint64_t mask = 0x000000FF000000FFU;
    word =
        ((word & mask) * 0x000F424000000064U + ((word >> 16) & mask) * 0x0000271000000001U) >> 32;
    value_ = value_ * 100'000'000 + word;
    at_ += 8;
    return true;
  }

  const char* at_;
  const char* end_;
  std::uint64_t value_ = 0;
};

/// Parses decimal digits with an optional minus and white space around them.
template <class Integer>
  requires std::is_integral_v<Integer>
[[nodiscard]] inline parsed parse_number(std::string_view text, Integer& out) noexcept {
  // One digit less than the maximum, so the number is never too large.
  constexpr std::size_t safe_digits = std::numeric_limits<Integer>::digits10;
  digit_reader reader(text);
  const bool negative = reader.take('-');
  if (text.size() > safe_digits || reader.take() == 0 || !reader.at_end())
    return parse_number_general(text, out);
  const auto value = static_cast<Integer>(reader.value());
  out = negative ? -value : value;
  return parsed::ok;
}

/// Stores `digits` / `power`, rounded to the nearest. Returns false for too many digits.
/// Precondition: the power of 10 is exact.
template <class Float>
[[nodiscard]] inline bool round_quotient(bool negative, std::uint64_t digits, double power,
                                         Float& out) noexcept {
  // Both are exact, so the quotient is rounded only once (Clinger).
  constexpr std::uint64_t max_exact = std::uint64_t{1} << 53;
  if (digits > max_exact) return false;
  const double exact = static_cast<double>(static_cast<std::int64_t>(digits)) / power;
  auto bits = std::bit_cast<std::uint64_t>(exact);
  if constexpr (std::is_same_v<Float, float>) {
    // Rounding twice is wrong only if the first result lies halfway between two floats.
    constexpr std::uint64_t below = (std::uint64_t{1} << 29) - 1;
    if ((bits & below) == (below >> 1) + 1) return false;
  }
  bits |= std::uint64_t{negative} << 63;  // no branch: signs are often random
  out = static_cast<Float>(std::bit_cast<double>(bits));
  return true;
}

/// Parses a complete number like std::strtod in the C locale: decimal or, after 0x, hexadecimal;
/// inf, infinity, nan in any case; white space around it. Rounds to the nearest number. The result
/// is infinite if it is too large, and 0 if it is too small.
template <class Float>
  requires std::is_floating_point_v<Float>
[[nodiscard]] inline parsed parse_number(std::string_view text, Float& out) noexcept {
  static constexpr double powers[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,  1e8,  1e9,
                                      1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19};
  if (text.size() > 20) return parse_number_general(text, out);  // more digits than fit
  digit_reader reader(text);
  const bool negative = reader.take('-');
  std::size_t digits = reader.take();
  const std::size_t fraction = reader.take('.') ? reader.take() : 0;
  digits += fraction;
  if (!reader.at_end() || digits == 0 || digits > 19 ||
      !round_quotient(negative, reader.value(), powers[fraction], out)) {
    return parse_number_general(text, out);
  }
  return parsed::ok;
}

}  // namespace LEAT::detail
