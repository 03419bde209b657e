#include "codec/text/internal/line_splitter.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>

#include "codec/text/byte_masks.hpp"

namespace LEAT::detail {
namespace {

// Positions of line ends are found for one block at a time and walked afterwards: a loop over the
// bits of each mask would mispredict about twice a line.
constexpr std::size_t block_size = 4096;

struct positions {
  // An upper limit plus padding: positions are written four at a time.
  std::array<std::uint16_t, block_size + 64> at;
  std::size_t count = 0;
};

#if defined(__x86_64__)
template <int AtOnce>
LEAT_AVX2 void find_line_ends_avx2(const char* data, positions& found) noexcept {
  std::uint16_t* out = found.at.data();
  for (std::size_t base = 0; base < block_size; base += 256) {
    const std::uint64_t m0 = detail::byte_block(data + base).where('\n');
    const std::uint64_t m1 = detail::byte_block(data + base + 64).where('\n');
    const std::uint64_t m2 = detail::byte_block(data + base + 128).where('\n');
    const std::uint64_t m3 = detail::byte_block(data + base + 192).where('\n');
    if ((m0 | m1 | m2 | m3) == 0) continue;  // lines are long, so most blocks have no line end
    out = detail::write_bits<AtOnce>(out, m0, base);
    out = detail::write_bits<AtOnce>(out, m1, base + 64);
    out = detail::write_bits<AtOnce>(out, m2, base + 128);
    out = detail::write_bits<AtOnce>(out, m3, base + 192);
  }
  found.count = static_cast<std::size_t>(out - found.at.data());
}
#endif

void find_line_ends(const char* data, std::size_t size, positions& found) noexcept {
  const char* at = data;
  const char* const end = data + size;
  found.count = 0;
  while (at < end) {
    at = static_cast<const char*>(std::memchr(at, '\n', static_cast<std::size_t>(end - at)));
    if (!at) break;
    found.at[found.count++] = static_cast<std::uint16_t>(at - data);
    ++at;
  }
}

// `found`: the number of line ends in the previous block, which indicates the length of lines.
void find_in_block(const char* data, std::size_t size, positions& found) noexcept {
#if defined(__x86_64__)
  if (detail::has_avx2() && size == block_size) {
    // Lines of more than 16 bytes on average have at most four ends in 64 bytes most of the time;
    // lines of twice that length have two.
    if (found.count <= block_size / 30) return find_line_ends_avx2<2>(data, found);
    return find_line_ends_avx2<4>(data, found);
  }
#endif
  find_line_ends(data, size, found);
}

}  // namespace

std::size_t split_lines(std::string_view text, std::vector<std::string_view>& lines) {
  positions found;
  const char* const data = text.data();
  std::size_t line = 0;  // begin of the current line
  for (std::size_t base = 0; base < text.size(); base += block_size) {
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

std::string_view unterminated_line(std::string_view rest) noexcept {
  if (!rest.empty() && rest.back() == '\r') rest.remove_suffix(1);
  return rest;
}

}  // namespace LEAT::detail
