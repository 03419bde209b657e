// Checks that nothing changes the buffers of operations in progress, which belong to the kernel.

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <string>

#include "leat/sim/file_system/file_system.hpp"
#include "sim/file_system/operation_names.hpp"

namespace LEAT::sim {
namespace {

constexpr std::byte fill_byte{0xA5};  // in a buffer that is the target of a read

// Detects every single changed byte: each step is invertible. It uses four lanes, since programs
// read into buffers that are much larger than their files.
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

// The kernel owns the buffer during the operation.
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

}  // namespace LEAT::sim
