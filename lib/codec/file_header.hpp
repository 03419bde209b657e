#pragma once

#include <cstddef>
#include <cstdint>

#include "leat/base/bytes.hpp"

namespace leat::detail {

/// No file is larger: an offset is a signed number to the system.
inline constexpr std::uint64_t max_file_size = INT64_MAX;

/// The number at offset `at` of the header of a file, little-endian. Precondition: it is in there.
template <class Integer>
[[nodiscard]] Integer load_at(byte_view bytes, std::size_t at) noexcept {
  return load_little_endian<Integer>(bytes.data() + at);
}

}  // namespace leat::detail
