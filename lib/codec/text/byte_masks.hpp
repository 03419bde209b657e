#pragma once

// Masks with a bit for each of 64 bytes, in which the splitters of lines and of comma-separated
// values search.

#include <cstddef>
#include <cstdint>

#if defined(__x86_64__)
#include <immintrin.h>

#include "leat/base/flavour.hpp"

/// Attribute of functions that may be called only if has_avx2().
#define LEAT_AVX2 __attribute__((target("avx2,bmi,popcnt")))

namespace LEAT::detail {

/// Returns true if this processor can run LEAT_AVX2 functions.
inline bool has_avx2() noexcept {
  static const bool has = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("bmi") &&
                          __builtin_cpu_supports("popcnt");
  return has;
}

/// 64 bytes.
struct byte_block {
  LEAT_AVX2 explicit byte_block(const char* data) noexcept
      : low(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(data))),
        high(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(data) + 1)) {}

  /// Returns the mask of the bytes that equal `c`.
  [[nodiscard]] LEAT_AVX2 std::uint64_t where(char c) const noexcept {
    const __m256i wanted = _mm256_set1_epi8(c);
    return mask(_mm256_cmpeq_epi8(low, wanted), _mm256_cmpeq_epi8(high, wanted));
  }
  /// Returns the mask of the bytes that equal `a` or `b`.
  [[nodiscard]] LEAT_AVX2 std::uint64_t where(char a, char b) const noexcept {
    const __m256i one = _mm256_set1_epi8(a);
    const __m256i other = _mm256_set1_epi8(b);
    return mask(_mm256_or_si256(_mm256_cmpeq_epi8(low, one), _mm256_cmpeq_epi8(low, other)),
                _mm256_or_si256(_mm256_cmpeq_epi8(high, one), _mm256_cmpeq_epi8(high, other)));
  }

  __m256i low;
  __m256i high;

 private:
  static LEAT_AVX2 std::uint64_t mask(__m256i low, __m256i high) noexcept {
    return static_cast<std::uint32_t>(_mm256_movemask_epi8(low)) |
           (std::uint64_t{static_cast<std::uint32_t>(_mm256_movemask_epi8(high))} << 32);
  }
};

// Clears the lowest set bit of `mask`. Returns `base` plus its position, or plus 64 if no bit is
// set.
//
// Not std::countr_zero: its test for 0 becomes a branch for each bit, which is mispredicted.
LEAT_AVX2 inline std::uint16_t pop_lowest_bit(std::uint64_t& mask, std::size_t base) noexcept {
  const auto bit = static_cast<std::size_t>(_tzcnt_u64(mask));
  mask = _blsr_u64(mask);
  return static_cast<std::uint16_t>(base + bit);
}

/// Writes the positions of the set bits of `mask`, which stands for the 64 bytes from `base` on.
/// Returns the address after the last position. Positions are written in groups of `AtOnce`, which
/// is two or a multiple of four, so that their number does not decide a branch if it is rarely
/// larger.
/// Precondition: `out` has space for 64 positions.
template <int AtOnce>
LEAT_AVX2 inline std::uint16_t* write_bits(std::uint16_t* out, std::uint64_t mask,
                                           std::size_t base) noexcept {
  std::uint16_t* const end = out + _mm_popcnt_u64(mask);
  do {
    // Written out: g++ 12 does not unroll a loop at -O2.
    if constexpr (AtOnce == 2) {
      out[0] = pop_lowest_bit(mask, base);
      out[1] = pop_lowest_bit(mask, base);
      out += 2;
    }
    for (int fours = 0; fours < AtOnce / 4; ++fours) {
      out[0] = pop_lowest_bit(mask, base);
      out[1] = pop_lowest_bit(mask, base);
      out[2] = pop_lowest_bit(mask, base);
      out[3] = pop_lowest_bit(mask, base);
      out += 4;
    }
  } while (mask != 0);
  return end;
}

}  // namespace LEAT::detail

#endif
