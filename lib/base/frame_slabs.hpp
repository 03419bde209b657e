#pragma once

#include <cstddef>

#include "leat/base/detail/frame_allocator.hpp"

namespace leat::detail {

/// Where threads take blocks for frames from when many live at once, and give back what they have
/// too much of: slabs in huge pages, each of blocks of one class. A free slab keeps its addresses,
/// up to 256 MiB of such, and the system may take its memory.
///
/// A run is a list of blocks of one class. Thread safety: full; a run costs one lock.
namespace frame_slabs {

/// Bytes of a class that a thread has from operator new before it takes runs: who needs less needs
/// no huge page.
inline constexpr std::size_t few = std::size_t{1} << 20;

/// A run of at least one block and at most `most`, which becomes what there are. Errors:
/// std::bad_alloc.
[[nodiscard]] frame_cache::free_block* take(std::size_t index, std::size_t& most);

/// Gives back a run, of which operator new may have made some. Returns how many those were.
std::size_t give_back(frame_cache::free_block* run) noexcept;

/// Slabs that blocks are out of, and at most one that is free; for tests.
[[nodiscard]] std::size_t count();

}  // namespace frame_slabs

}  // namespace leat::detail
