#pragma once

// Parses four short numbers at a time with vector instructions, which share most of the cost of one
// number: see parse_number_avx2.hpp.

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>
#include <type_traits>

#include "codec/text/byte_masks.hpp"
#include "codec/text/parse_number_avx2.hpp"

#if defined(__x86_64__)

namespace LEAT::detail {

// The shuffle and scale for a decimal point at one of 16 positions, or for none.
struct point_position {
  std::array<std::uint8_t, 16> without;  // a shuffle that removes it
  std::array<double, 2> powers;          // 10 to the number of bytes after it; with a minus
};

constexpr std::array<point_position, 17> make_point_positions() noexcept {
  std::array<point_position, 17> all{};
  for (std::size_t at = 0; at <= 16; ++at) {
    for (std::size_t position = 0; position < 16; ++position) {
      // Bytes up to the point move right by one; 0xFF is a byte that becomes 0.
      const bool moves = at < 16 && position <= at;
      all[at].without[position] = static_cast<std::uint8_t>(moves ? position - 1 : position);
    }
    double power = 1;
    for (std::size_t fraction_digit = at + 1; fraction_digit < 16; ++fraction_digit) power *= 10;
    all[at].powers = {power, -power};
  }
  return all;
}

constexpr std::array<point_position, 17> point_positions = make_point_positions();
constexpr std::array<std::int64_t, 2> sign_masks = {0, -1};

/// The last bytes of four texts; the digits are their numeric values.
class four_last_digits {
 public:
  /// See last_digits.
  LEAT_AVX2 four_last_digits(const std::array<const char*, 4>& ends,
                             const std::array<std::size_t, 4>& counts) noexcept
      : even_(last_of(ends[0], counts[0], ends[2], counts[2])),
        odd_(last_of(ends[1], counts[1], ends[3], counts[3])) {}

  /// Removes the decimal point from each. Returns its position, 0 to 15; 16 if there is none.
  LEAT_AVX2 std::array<std::size_t, 4> pop_decimal_points() noexcept {
    const __m256i point = _mm256_set1_epi8('.' - '0');
    const auto even =
        static_cast<std::uint32_t>(_mm256_movemask_epi8(_mm256_cmpeq_epi8(even_, point)));
    const auto odd =
        static_cast<std::uint32_t>(_mm256_movemask_epi8(_mm256_cmpeq_epi8(odd_, point)));
    const std::array<std::size_t, 4> at = {point_index(even), point_index(odd),
                                           point_index(even >> 16), point_index(odd >> 16)};
    even_ = _mm256_shuffle_epi8(
        even_, both(point_positions[at[0]].without.data(), point_positions[at[2]].without.data()));
    odd_ = _mm256_shuffle_epi8(
        odd_, both(point_positions[at[1]].without.data(), point_positions[at[3]].without.data()));
    return at;
  }

  /// Stores the numbers. Returns false if one of them is invalid, or not below 2 to the 52nd.
  LEAT_AVX2 bool values(__m256i& out) const noexcept {
    const __m256i above_nine = _mm256_subs_epu8(_mm256_max_epu8(even_, odd_), _mm256_set1_epi8(9));
    const __m256i tens = _mm256_set1_epi16(0x010A);
    const __m256i hundreds = _mm256_set1_epi32(0x00010064);
    const __m256i fours =
        _mm256_packus_epi32(_mm256_madd_epi16(_mm256_maddubs_epi16(even_, tens), hundreds),
                            _mm256_madd_epi16(_mm256_maddubs_epi16(odd_, tens), hundreds));
    const __m256i eights = _mm256_madd_epi16(fours, _mm256_set1_epi32(0x00012710));
    constexpr std::int64_t unit = 100'000'000;
    constexpr std::int64_t last = (std::int64_t{1} << 52) / unit - 1;
    const __m256i too_large = _mm256_cmpgt_epi32(eights, _mm256_set1_epi64x(unit << 32 | last));
    const __m256i bad = _mm256_or_si256(above_nine, too_large);
    out = _mm256_add_epi64(_mm256_mul_epu32(eights, _mm256_set1_epi64x(unit)),
                           _mm256_srli_epi64(eights, 32));
    return _mm256_testz_si256(bad, bad) != 0;
  }

 private:
  LEAT_AVX2 static std::size_t point_index(std::uint32_t at) noexcept {
    return static_cast<std::size_t>(_tzcnt_u32(at | 0x10000));
  }
  LEAT_AVX2 static __m256i both(const void* low, const void* high) noexcept {
    return _mm256_inserti128_si256(
        _mm256_castsi128_si256(_mm_loadu_si128(static_cast<const __m128i*>(low))),
        _mm_loadu_si128(static_cast<const __m128i*>(high)), 1);
  }
  LEAT_AVX2 static __m256i last_of(const char* low, std::size_t low_count, const char* high,
                                   std::size_t high_count) noexcept {
    const __m256i text = both(low - last_digits::size, high - last_digits::size);
    const __m256i mask = both(last_bytes + low_count, last_bytes + high_count);
    return _mm256_and_si256(_mm256_sub_epi8(text, _mm256_set1_epi8('0')), mask);
  }

  // First and third, second and fourth: this order returns the values in the order of the texts.
  __m256i even_;
  __m256i odd_;
};

/// Stores four quotients, as round_quotient() does. Returns false if one needs other rounding.
template <class Float>
[[nodiscard]] LEAT_AVX2 inline bool put_floats(__m256d quotients, std::byte* out) noexcept {
  if constexpr (std::is_same_v<Float, float>) {
    const __m256i below = _mm256_set1_epi64x((std::int64_t{1} << 29) - 1);
    const __m256i middle = _mm256_set1_epi64x(std::int64_t{1} << 28);
    const __m256i in_the_middle =
        _mm256_cmpeq_epi64(_mm256_and_si256(_mm256_castpd_si256(quotients), below), middle);
    if (_mm256_testz_si256(in_the_middle, in_the_middle) == 0) return false;
    const __m128 rounded = _mm256_cvtpd_ps(quotients);
    std::memcpy(out, &rounded, sizeof rounded);
  } else {
    std::memcpy(out, &quotients, sizeof quotients);
  }
  return true;
}

/// Stores four integers. Returns false if one of them does not fit.
template <class Integer>
[[nodiscard]] LEAT_AVX2 inline bool put_integers(__m256i values, std::byte* out) noexcept {
  if constexpr (sizeof(Integer) == sizeof(std::int32_t)) {
    const __m256i low_halves = _mm256_setr_epi32(0, 2, 4, 6, 0, 2, 4, 6);
    const __m128i narrow = _mm256_castsi256_si128(_mm256_permutevar8x32_epi32(values, low_halves));
    const __m256i lost = _mm256_xor_si256(_mm256_cvtepi32_epi64(narrow), values);
    if (_mm256_testz_si256(lost, lost) == 0) return false;
    std::memcpy(out, &narrow, sizeof narrow);
  } else {
    std::memcpy(out, &values, sizeof values);
  }
  return true;
}

/// Parses four texts as parse_number_avx2() parses each, and writes the numbers to `out`, which
/// need not be aligned. Returns false, without writing, if one of the texts has to be parsed on its
/// own.
///
/// Precondition: the first byte of each text can be read, even if it is empty, and 16 before its
/// end.
template <class Number>
[[nodiscard]] LEAT_AVX2 inline bool parse_four_numbers_avx2(
    const std::array<const char*, 4>& begins, const std::array<const char*, 4>& ends,
    std::byte* out) noexcept {
  constexpr std::size_t max_size = last_digits::size;  // a power of 2
  std::array<std::size_t, 4> negative;
  std::array<std::size_t, 4> counts;
  std::size_t all = 0;  // below max_size if each of them is
  for (std::size_t i = 0; i < 4; ++i) {
    negative[i] = *begins[i] == '-' ? 1 : 0;
    counts[i] = static_cast<std::size_t>(ends[i] - begins[i]) - negative[i];
    all |= counts[i] - 1;
  }
  if (all >= max_size) return false;  // or no point
  four_last_digits digits(ends, counts);
  __m256i values;
  if constexpr (std::is_floating_point_v<Number>) {
    const std::array<std::size_t, 4> at = digits.pop_decimal_points();
    all = 0;
    for (std::size_t i = 0; i < 4; ++i) all |= counts[i] - 2 + at[i] / max_size;
    if (all >= max_size || !digits.values(values)) return false;  // or only a point
    // For numbers below 2 to the 52nd, the low bits of their sum with 2 to the 52nd are the number.
    const __m256d above = _mm256_set1_pd(0x1p52);
    const __m256i sum = _mm256_or_si256(values, _mm256_castpd_si256(above));
    const __m256d exact = _mm256_sub_pd(_mm256_castsi256_pd(sum), above);
    const __m256d powers = _mm256_set_pd(
        point_positions[at[3]].powers[negative[3]], point_positions[at[2]].powers[negative[2]],
        point_positions[at[1]].powers[negative[1]], point_positions[at[0]].powers[negative[0]]);
    return put_floats<Number>(_mm256_div_pd(exact, powers), out);
  } else {
    if (!digits.values(values)) return false;
    const __m256i sign = _mm256_set_epi64x(sign_masks[negative[3]], sign_masks[negative[2]],
                                           sign_masks[negative[1]], sign_masks[negative[0]]);
    return put_integers<Number>(_mm256_sub_epi64(_mm256_xor_si256(values, sign), sign), out);
  }
}

}  // namespace LEAT::detail

#endif
