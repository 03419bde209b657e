#pragma once

#include <cstddef>
#include <cstdint>

#include "leat/base/bytes.hpp"

namespace LEAT::detail {

/// The largest file: an offset is a signed number in the system's interface.
inline constexpr std::uint64_t max_file_size = INT64_MAX;

/// Returns the little-endian number at offset `at` of the header of a file. Precondition: it lies
/// within the header.
template <class Integer>
[[nodiscard]] Integer load_at(byte_view bytes, std::size_t at) noexcept {
  return load_little_endian<Integer>(bytes.data() + at);
}

}  // namespace LEAT::detail
