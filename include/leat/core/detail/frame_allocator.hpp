#pragma once

#include <cstddef>

namespace leat::detail {

/// Memory for coroutine frames and task contexts, recycled per thread: in steady state a task
/// costs no call of the system's allocator.
///
/// Blocks of up to 1 KiB are kept in lists by size, at most 1 MiB in all for each thread; a block
/// may be freed on another thread than the one that allocated it. Under a sanitizer every call goes
/// to the system's allocator, so that a use after free is seen.
///
/// Errors: std::bad_alloc. Cost: O(1).
[[nodiscard]] void* allocate_frame(std::size_t size);
void free_frame(void* block, std::size_t size) noexcept;

}  // namespace leat::detail
