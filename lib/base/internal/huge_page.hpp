#pragma once

#include <cstddef>

namespace leat::detail {

/// The usual size of a huge page, in bytes. Memory that begins and ends at multiples of it can
/// consist of huge pages.
inline constexpr std::size_t huge_page_size = std::size_t{2} << 20;

}  // namespace leat::detail
