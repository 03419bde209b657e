#pragma once

#include <cstddef>
#include <cstdint>

#include <isa-l/crc.h>

#include "leat/codec/bytes.hpp"

namespace leat::detail {

// The checksum without the inversions at both ends: those are the caller's.

std::uint32_t raw_crc32c_portable(std::uint32_t state, const std::byte* data,
                                  std::size_t size) noexcept;

#if defined(__x86_64__)
// For short texts the call and the set-up of the wide code cost more than they save; from here on
// ISA-L is faster.
inline constexpr std::size_t short_text = 192;

// In assembler: an intrinsic would only be inlined into functions compiled for SSE 4.2.
inline std::uint32_t raw_crc32c_sse42(std::uint32_t state, const std::byte* data,
                                      std::size_t size) noexcept {
  if (size >= short_text) {
    return ::crc32_iscsi(reinterpret_cast<unsigned char*>(const_cast<std::byte*>(data)),
                         static_cast<int>(size), state);
  }
  std::uint64_t wide = state;
  for (; size >= 8; size -= 8, data += 8) {
    asm("crc32q %1, %0" : "+r"(wide) : "r"(load_little_endian<std::uint64_t>(data)));
  }
  auto narrow = static_cast<std::uint32_t>(wide);
  for (; size > 0; --size, ++data) {
    asm("crc32b %1, %0" : "+r"(narrow) : "q"(static_cast<unsigned char>(*data)));
  }
  return narrow;
}

inline bool has_sse42() noexcept { return __builtin_cpu_supports("sse4.2") != 0; }
#endif

}  // namespace leat::detail
