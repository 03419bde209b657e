#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>

#include "leat/base/flavour.hpp"

namespace LEAT {

/// A non-owning view of bytes.
using byte_view = std::span<const std::byte>;

/// Returns the bytes of `text`, which must outlive the result.
[[nodiscard]] inline byte_view as_bytes(std::string_view text) noexcept {
  return {reinterpret_cast<const std::byte*>(text.data()), text.size()};
}

/// Returns `bytes` as text; the bytes must outlive the result.
[[nodiscard]] inline std::string_view as_text(byte_view bytes) noexcept {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

/// Reads a little-endian number from memory of any alignment.
template <class Integer>
[[nodiscard]] Integer load_little_endian(const std::byte* from) noexcept {
  static_assert(std::endian::native == std::endian::little,
                "big-endian machines need a byte swap here");
  Integer value;
  std::memcpy(&value, from, sizeof value);
  return value;
}

/// Writes a little-endian number to memory of any alignment.
template <class Integer>
void store_little_endian(std::byte* to, Integer value) noexcept {
  static_assert(std::endian::native == std::endian::little,
                "big-endian machines need a byte swap here");
  std::memcpy(to, &value, sizeof value);
}

}  // namespace LEAT
