#include "leat/io/reader/detail/range_checksums.hpp"

#include <array>

#include "leat/codec/checksum/crc32c.hpp"

namespace LEAT::detail {
namespace {

// states_[i] is the state after i blocks from first_ on, of a checksum that began with 0 at first_
// or before it. After n blocks, a state is Z(s) ^ T: s is the state before them, Z is linear, the
// effect of n blocks of zeros, and T depends only on the blocks. So two checksums that pass the
// same blocks differ afterwards by Z of their difference before. of() thereby obtains the state of
// any range from a stored one, without reading the blocks again.

// Polynomials over GF(2) modulo that of the checksum; bit 31 is the coefficient of x^0.

constexpr std::uint32_t times_x(std::uint32_t a) noexcept {
  return (a >> 1) ^ ((a & 1U) != 0 ? 0x82F63B78U : 0U);
}

constexpr std::uint32_t product(std::uint32_t a, std::uint32_t b) noexcept {
  std::uint32_t sum = 0;
  for (; a != 0; a <<= 1) {
    sum ^= b & (0U - (a >> 31));
    b = times_x(b);
  }
  return sum;
}

// Element k: x to the power of the number of bits in 2^k blocks.
constexpr auto powers_of_blocks = [] {
  std::array<std::uint32_t, 64> powers{};
  std::uint32_t power = 0x80000000U;
  for (std::size_t bit = 0; bit < 8 * range_checksums::block; ++bit) power = times_x(power);
  for (std::uint32_t& p : powers) {
    p = power;
    power = product(power, power);
  }
  return powers;
}();

// Returns the state after a number of blocks of zeros.
std::uint32_t behind_zeros(std::uint32_t state, std::uint64_t blocks) noexcept {
  for (std::size_t k = 0; blocks != 0; ++k, blocks >>= 1) {
    if ((blocks & 1U) != 0) state = product(state, powers_of_blocks[k]);
  }
  return state;
}

}  // namespace

std::uint32_t range_checksums::go_through(std::uint32_t state, byte_view bytes) noexcept {
  summed_ += bytes.size();
  return ~extend_crc32c(~state, bytes);
}

std::uint32_t range_checksums::of(byte_view range, std::uint64_t offset) {
  const auto head = static_cast<std::size_t>(boundary(offset) - offset);
  if (range.size() < head + block) return ~go_through(~0U, range);
  begin(offset);
  const std::size_t blocks = (range.size() - head) / block * block;
  const std::uint64_t known = known_to() - boundary(offset);
  if (known < blocks) {
    const auto from = static_cast<std::size_t>(known);
    add(range.subspan(head + from, blocks - from));
  }
  return of(range.first(head), range.subspan(head + blocks), range.size());
}

void range_checksums::begin(std::uint64_t offset) {
  const std::uint64_t from = boundary(offset);
  if (states_.empty() || from < first_ || from > known_to()) {
    states_.assign(1, 0);
    first_ = from;
  }
  for (; first_ < from; first_ += block) states_.pop_front();
}

void range_checksums::add(byte_view blocks) {
  for (; blocks.size() >= block; blocks = blocks.subspan(block)) {
    states_.push_back(go_through(states_.back(), blocks.first(block)));
  }
}

// A state is linear in the state before it.
std::uint32_t range_checksums::of(byte_view head, byte_view tail, std::uint64_t size) noexcept {
  const std::uint64_t blocks = (size - head.size() - tail.size()) / block;
  std::uint32_t state = go_through(~0U, head);
  state = states_[static_cast<std::size_t>(blocks)] ^ behind_zeros(state ^ states_.front(), blocks);
  return ~go_through(state, tail);
}

}  // namespace LEAT::detail
