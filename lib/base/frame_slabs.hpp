#pragma once

#include <cstddef>

#include "leat/base/detail/frame_allocator.hpp"

namespace leat::detail {

/// Where threads take blocks for frames from when many live at once, and give back what they have
/// too much of: slabs in huge pages, each of blocks of one class. A free slab keeps its addresses,
/// up to 256 MiB of such, and the system may take its memory.
///
/// A batch is a list of blocks of one class. Thread safety: full; a batch costs one lock.
namespace frame_slabs {

/// Bytes of a class that a thread has from operator new before it takes batches: who needs less
/// needs no huge page.
inline constexpr std::size_t heap_bytes_before_slabs = std::size_t{1} << 20;

/// A batch of at least one block and at most `most`, which becomes what there are. Errors:
/// std::bad_alloc.
[[nodiscard]] frame_cache::free_block* take_batch(std::size_t index, std::size_t& most);

/// Gives back a batch, of which operator new may have made some. Returns how many those were.
std::size_t return_batch(frame_cache::free_block* batch) noexcept;

/// Slabs that blocks are out of, and at most one that is free; for tests.
[[nodiscard]] std::size_t count();

}  // namespace frame_slabs

}  // namespace leat::detail
