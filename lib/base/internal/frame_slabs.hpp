#pragma once

#include <cstddef>

#include "leat/base/internal/frame_allocator.hpp"

namespace LEAT::detail {

/// Slabs in huge pages, from which threads take blocks for frames if many are alive at once, and to
/// which they return excess blocks. Each slab has blocks of one class. A free slab keeps its
/// addresses, up to 256 MiB in all, and the system may take its memory.
///
/// A batch is a list of blocks of one class. Thread safety: thread-safe. Cost: one lock for a
/// batch.
namespace frame_slabs {

/// Bytes of a class that a thread allocates with operator new before it takes batches. A thread
/// that needs less does not need a huge page.
inline constexpr std::size_t heap_bytes_before_slabs = std::size_t{1} << 20;

/// Returns a batch of 1 to `most` blocks, and sets `most` to their number. Errors: std::bad_alloc.
[[nodiscard]] frame_cache::free_block* take_batch(std::size_t index, std::size_t& most);

/// Returns a batch to the slabs, and frees its blocks that came from operator new. Returns the
/// number of those.
std::size_t return_batch(frame_cache::free_block* batch) noexcept;

/// Returns the number of slabs with blocks in use, plus at most one that is free; for tests.
[[nodiscard]] std::size_t count();

}  // namespace frame_slabs

}  // namespace LEAT::detail
