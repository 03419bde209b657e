#pragma once

// Parses short numbers with vector instructions instead of a loop, whose number of iterations would
// decide a branch.

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <type_traits>

#include "codec/text/byte_masks.hpp"
#include "codec/text/parse_number.hpp"

#if defined(__x86_64__)

namespace LEAT::detail {

// Internal linkage: the address is found without a table look-up.
// At offset 16 - n: a mask of the last n bytes of 16.
alignas(32) constexpr std::uint8_t last_bytes[] = {
    0,    0,    0,    0,    0,    0,    0,    0,    0,    0,    0,    0,    0,    0,    0,    0,
    0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF};
// 10 to the number of bytes after the point; the last element is for no point.
constexpr double powers_after_point[] = {1e0, 1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7, 1e8,
                                         1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e0};

/// The last bytes of a text; the digits are their numeric values.
class last_digits {
 public:
  static constexpr std::size_t size = 16;

  /// Loads the `count` bytes before `end`; the bytes before them become 0. Precondition: 0 < count
  /// <= size, and `size` bytes before `end` can be read.
  LEAT_AVX2 last_digits(const char* end, std::size_t count) noexcept {
    const __m128i text = _mm_loadu_si128(reinterpret_cast<const __m128i*>(end - size));
    const __m128i mask = _mm_loadu_si128(reinterpret_cast<const __m128i*>(last_bytes + count));
    digits_ = _mm_and_si128(_mm_sub_epi8(text, _mm_set1_epi8('0')), mask);
  }

  /// Removes the last decimal point. Returns the number of bytes after it, or `size` without one.
  LEAT_AVX2 std::size_t pop_decimal_point() noexcept {
    const __m128i point = _mm_set1_epi8('.' - '0');
    const auto points =
        static_cast<std::uint32_t>(_mm_movemask_epi8(_mm_cmpeq_epi8(digits_, point)));
    const auto before = static_cast<std::size_t>(31 - __builtin_clz(2 * points + 1));
    // Bytes before the point move right by one position, over the point.
    const __m128i positions = _mm_setr_epi8(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
    const __m128i moves = _mm_cmpgt_epi8(_mm_set1_epi8(static_cast<char>(before)), positions);
    digits_ = _mm_shuffle_epi8(digits_, _mm_add_epi8(positions, moves));
    return size - before;
  }

  [[nodiscard]] LEAT_AVX2 bool all_digits() const noexcept {
    const __m128i nine = _mm_set1_epi8(9);
    const __m128i good = _mm_cmpeq_epi8(_mm_max_epu8(digits_, nine), nine);
    return _mm_movemask_epi8(good) == 0xFFFF;
  }

  /// Returns the number. Precondition: all_digits().
  [[nodiscard]] LEAT_AVX2 std::uint64_t value() const noexcept {
    // Pairs, then fours, then eights.
    const __m128i twos = _mm_maddubs_epi16(digits_, _mm_set1_epi16(0x010A));
    const __m128i fours = _mm_madd_epi16(twos, _mm_set1_epi32(0x00010064));
    const __m128i eights =
        _mm_madd_epi16(_mm_packus_epi32(fours, fours), _mm_set1_epi32(0x00012710));
    const auto both = static_cast<std::uint64_t>(_mm_cvtsi128_si64(eights));
    return (both & 0xFFFFFFFFU) * 100'000'000 + (both >> 32);
  }

 private:
  __m128i digits_;
};

/// Parses a number of up to 16 digits with an optional minus and, for a float, an optional point.
/// Returns false if the text is longer or different; parse_number() handles it. Results equal those
/// of parse_number().
///
/// Precondition: 16 bytes before the end of the text can be read.
template <class Number>
[[nodiscard]] LEAT_AVX2 inline bool parse_number_avx2(std::string_view text, Number& out) noexcept {
  constexpr bool is_float = std::is_floating_point_v<Number>;
  constexpr std::size_t max_size = std::is_same_v<Number, std::int32_t> ? 9 : last_digits::size;
  if (text.empty()) return false;
  const bool negative = text.front() == '-';
  const std::size_t size = text.size() - (negative ? 1 : 0);
  if (size - 1 >= max_size) return false;  // or no point
  last_digits digits(text.data() + text.size(), size);
  if constexpr (is_float) {
    const std::size_t fraction_digits = digits.pop_decimal_point();
    const bool point_alone = size == 1 && fraction_digits == 0;
    if (point_alone || !digits.all_digits()) return false;
    return round_quotient(negative, digits.value(), powers_after_point[fraction_digits], out);
  } else {
    if (!digits.all_digits()) return false;
    const std::uint64_t sign = std::uint64_t{0} - (negative ? 1 : 0);
    out = static_cast<Number>((digits.value() ^ sign) - sign);
    return true;
  }
}

}  // namespace LEAT::detail

#endif
