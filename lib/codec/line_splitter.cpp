#include "leat/codec/line_splitter.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <cstring>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace leat {
namespace {

// Positions of line ends are found for one block at a time and walked afterwards: a loop over the
// bits of each mask would mispredict about twice a line.
constexpr std::size_t block_size = 4096;

struct positions {
  // Four more than there can be: they are written four at a time.
  std::array<std::uint16_t, block_size + 64> at;
  std::size_t count = 0;
};

// Appends the positions of the set bits of `mask`, which stands for the 64 bytes from `base` on.
[[gnu::always_inline]] inline void append_bits(positions& found, std::uint64_t mask,
                                               std::size_t base) noexcept {
  const auto bits = static_cast<std::size_t>(std::popcount(mask));
  std::uint16_t* out = found.at.data() + found.count;
  // Lines of more than 16 bytes on the average have four ends in 64 bytes at most, and mostly.
  do {
    for (int i = 0; i < 4; ++i) {
      *out++ = static_cast<std::uint16_t>(base + static_cast<std::size_t>(std::countr_zero(mask)));
      mask &= mask - 1;
    }
  } while (mask != 0);
  found.count += bits;
}

#if defined(__x86_64__)
__attribute__((target("avx2,bmi,popcnt"))) void find_line_ends_avx2(const char* data,
                                                                    positions& found) noexcept {
  const __m256i newline = _mm256_set1_epi8('\n');
  for (std::size_t base = 0; base < block_size; base += 64) {
    const auto* in = reinterpret_cast<const __m256i*>(data + base);
    const auto low = static_cast<std::uint32_t>(
        _mm256_movemask_epi8(_mm256_cmpeq_epi8(_mm256_loadu_si256(in), newline)));
    const auto high = static_cast<std::uint32_t>(
        _mm256_movemask_epi8(_mm256_cmpeq_epi8(_mm256_loadu_si256(in + 1), newline)));
    append_bits(found, low | (std::uint64_t{high} << 32), base);
  }
}
#endif

void find_line_ends(const char* data, std::size_t size, positions& found) noexcept {
  const char* at = data;
  const char* const end = data + size;
  while (at < end) {
    at = static_cast<const char*>(std::memchr(at, '\n', static_cast<std::size_t>(end - at)));
    if (!at) break;
    found.at[found.count++] = static_cast<std::uint16_t>(at - data);
    ++at;
  }
}

void find_in_block(const char* data, std::size_t size, positions& found) noexcept {
#if defined(__x86_64__)
  static const bool avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("bmi") &&
                           __builtin_cpu_supports("popcnt");
  if (avx2 && size == block_size) return find_line_ends_avx2(data, found);
#endif
  find_line_ends(data, size, found);
}

}  // namespace

std::size_t split_lines(std::string_view text, std::vector<std::string_view>& lines) {
  positions found;
  const char* const data = text.data();
  std::size_t line = 0;  // where the present line begins
  for (std::size_t base = 0; base < text.size(); base += block_size) {
    found.count = 0;
    find_in_block(data + base, std::min(block_size, text.size() - base), found);
    const std::size_t before = lines.size();
    lines.resize(before + found.count);
    std::string_view* out = lines.data() + before;
    for (std::size_t i = 0; i < found.count; ++i) {
      const std::size_t end = base + found.at[i];
      const bool carriage_return = end > line && data[end - 1] == '\r';
      *out++ = std::string_view(data + line, end - line - (carriage_return ? 1 : 0));
      line = end + 1;
    }
  }
  return line;
}

std::string_view last_line(std::string_view rest) noexcept {
  if (!rest.empty() && rest.back() == '\r') rest.remove_suffix(1);
  return rest;
}

}  // namespace leat
