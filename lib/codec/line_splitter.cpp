#include "leat/codec/line_splitter.hpp"

#include <algorithm>
#include <array>
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
  // More than there can be: they are written four at a time.
  std::array<std::uint16_t, block_size + 64> at;
  std::size_t count = 0;
};

#if defined(__x86_64__)
#define LEAT_LINE_TARGET __attribute__((target("avx2,bmi,popcnt")))

// Takes the lowest set bit out of `mask`: its position. 64 and no change when there is none.
//
// Not std::countr_zero: its test for 0 becomes a branch for each bit, which is mispredicted.
LEAT_LINE_TARGET inline std::uint16_t take_bit(std::uint64_t& mask, std::size_t base) noexcept {
  const auto bit = static_cast<std::size_t>(_tzcnt_u64(mask));
  mask = _blsr_u64(mask);
  return static_cast<std::uint16_t>(base + bit);
}

// Writes the positions of the set bits of `mask`, which stands for the 64 bytes from `base` on, and
// gives the place behind the last. Lines of more than 16 bytes on the average have four ends in 64
// bytes at most, and mostly: so four are always written, and the number of bits decides no branch.
LEAT_LINE_TARGET inline std::uint16_t* write_bits(std::uint16_t* out, std::uint64_t mask,
                                                  std::size_t base) noexcept {
  std::uint16_t* const end = out + _mm_popcnt_u64(mask);
  do {
    // Written out: g++ 12 does not unroll a loop at -O2.
    out[0] = take_bit(mask, base);
    out[1] = take_bit(mask, base);
    out[2] = take_bit(mask, base);
    out[3] = take_bit(mask, base);
    out += 4;
  } while (mask != 0);
  return end;
}

// A bit for each of 64 bytes: whether it is a line end.
LEAT_LINE_TARGET inline std::uint64_t line_ends_of(const char* data, __m256i newline) noexcept {
  const auto* in = reinterpret_cast<const __m256i*>(data);
  const auto low = static_cast<std::uint32_t>(
      _mm256_movemask_epi8(_mm256_cmpeq_epi8(_mm256_loadu_si256(in), newline)));
  const auto high = static_cast<std::uint32_t>(
      _mm256_movemask_epi8(_mm256_cmpeq_epi8(_mm256_loadu_si256(in + 1), newline)));
  return low | (std::uint64_t{high} << 32);
}

LEAT_LINE_TARGET void find_line_ends_avx2(const char* data, positions& found) noexcept {
  const __m256i newline = _mm256_set1_epi8('\n');
  std::uint16_t* out = found.at.data();
  for (std::size_t base = 0; base < block_size; base += 256) {
    const std::uint64_t m0 = line_ends_of(data + base, newline);
    const std::uint64_t m1 = line_ends_of(data + base + 64, newline);
    const std::uint64_t m2 = line_ends_of(data + base + 128, newline);
    const std::uint64_t m3 = line_ends_of(data + base + 192, newline);
    if ((m0 | m1 | m2 | m3) == 0) continue;  // lines are long: there is nothing in most places
    out = write_bits(out, m0, base);
    out = write_bits(out, m1, base + 64);
    out = write_bits(out, m2, base + 128);
    out = write_bits(out, m3, base + 192);
  }
  found.count = static_cast<std::size_t>(out - found.at.data());
}
#undef LEAT_LINE_TARGET
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
