#pragma once

#include <cstddef>
#include <cstdint>

#include <isa-l/crc.h>

#include "leat/base/bytes.hpp"

namespace LEAT::detail {

// The checksum without the inversions at both ends, which the caller does.

std::uint32_t raw_crc32c_portable(std::uint32_t state, const std::byte* data,
                                  std::size_t size) noexcept;

#if defined(__x86_64__)
// For shorter texts, the call and the set-up of the wide code of ISA-L cost more than they save.
inline constexpr std::size_t short_text = 192;

// ISA-L takes the size as an int.
inline constexpr std::size_t piece = std::size_t{1} << 30;

// For texts of more than one piece.
std::uint32_t raw_crc32c_pieces(std::uint32_t state, const std::byte* data,
                                std::size_t size) noexcept;

inline std::uint32_t raw_crc32c_piece(std::uint32_t state, const std::byte* data,
                                      std::size_t size) noexcept {
  return ::crc32_iscsi(reinterpret_cast<unsigned char*>(const_cast<std::byte*>(data)),
                       static_cast<int>(size), state);
}

// Assembler, because an intrinsic would only be inlined into functions compiled for SSE 4.2. The
// text is a memory operand, which saves an instruction per word.
inline std::uint64_t crc32_word(std::uint64_t state, const std::byte* data) noexcept {
  using word [[gnu::may_alias, gnu::aligned(1)]] = std::uint64_t;
  asm("crc32q %1, %0" : "+r"(state) : "m"(*reinterpret_cast<const word*>(data)));
  return state;
}

// Forced inline, because g++ does not inline it; the header of a record is then one instruction.
[[gnu::always_inline]] inline std::uint32_t raw_crc32c_sse42(std::uint32_t state,
                                                             const std::byte* data,
                                                             std::size_t size) noexcept {
  if (size >= short_text) {
    if (size > piece) [[unlikely]]
      return raw_crc32c_pieces(state, data, size);
    return raw_crc32c_piece(state, data, size);
  }
  if (size < 8) {
    for (; size > 0; --size, ++data) {
      asm("crc32b %1, %0" : "+r"(state) : "q"(static_cast<unsigned char>(*data)));
    }
    return state;
  }
  // Zeros before a text do not change a state of 0. So the odd bytes are processed first, after
  // zeros that fill a word, with the state already added to the text. This avoids a loop over
  // single bytes, whose end would be mispredicted if sizes vary.
  const std::size_t odd = (size - 1) % 8 + 1;
  const std::uint64_t first = load_little_endian<std::uint64_t>(data) ^ state;
  std::uint64_t wide = 0;
  asm("crc32q %1, %0" : "+r"(wide) : "r"(first << (8 * (8 - odd))));
  // The part of the state that belongs to the next word. Two shifts, because a shift by 64 is
  // undefined.
  wide ^= (std::uint64_t{state} >> (8 * (odd - 1))) >> 8;
  const std::byte* const end = data + size;
  for (data += odd; data != end; data += 8) wide = crc32_word(wide, data);
  return static_cast<std::uint32_t>(wide);
}

inline bool has_sse42() noexcept { return __builtin_cpu_supports("sse4.2") != 0; }
#endif

}  // namespace LEAT::detail
