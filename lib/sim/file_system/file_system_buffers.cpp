// The buffers of operations under way, which are the kernel's: whether anybody changes them.

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <string>

#include "leat/sim/file_system/file_system.hpp"
#include "sim/file_system/operation_names.hpp"

namespace leat::sim {
namespace {

constexpr std::byte fill_byte{0xA5};  // a buffer that is being read into

// Tells any single changed byte for certain: each step can be undone. In four lanes, since a
// program reads into buffers that are much larger than its files.
std::uint64_t hash_of(const std::byte* data, std::size_t size) noexcept {
  constexpr std::uint64_t factor = 0x9E3779B97F4A7C15;  // odd
  constexpr std::size_t lanes = 4;
  constexpr std::size_t word = sizeof(std::uint64_t);
  std::uint64_t state[lanes] = {1, 2, 3, 4};
  std::size_t at = 0;
  for (; size - at >= lanes * word; at += lanes * word) {
    for (std::size_t i = 0; i < lanes; ++i) {
      std::uint64_t next = 0;
      std::memcpy(&next, data + at + i * word, word);
      state[i] = (state[i] ^ next) * factor;
      state[i] ^= state[i] >> 32;
    }
  }
  std::uint64_t sum = size;
  for (; at < size; ++at) sum = (sum ^ std::to_integer<std::uint64_t>(data[at])) * factor;
  for (const std::uint64_t s : state) sum = ((sum ^ (sum >> 32)) + s) * factor;
  return sum;
}

}  // namespace

// The kernel owns the buffer while the operation is under way.
void file_system::hash_buffer(pending& p) {
  const file_request& r = *p.request;
  if (r.what == file_request::operation::read) std::fill_n(r.data, r.size, fill_byte);
  p.buffer_hash = hash_of(r.data, r.size);
}

void file_system::check_buffer(const pending& p) const {
  const file_request& r = *p.request;
  if (p.buffer_hash == hash_of(r.data, r.size)) return;
  violation_(std::string("buffer of a ") + name_of(p.request->what) +
             " was changed during the operation");
}

}  // namespace leat::sim
