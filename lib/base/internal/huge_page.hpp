#pragma once

#include <cstddef>

#include "leat/base/flavour.hpp"

namespace LEAT::detail {

/// The usual size of a huge page, in bytes. Memory that begins and ends at multiples of it can
/// consist of huge pages.
inline constexpr std::size_t huge_page_size = std::size_t{2} << 20;

}  // namespace LEAT::detail
