#pragma once

#include <array>
#include <cstddef>
#include <new>

#include "leat/base/flavour.hpp"

namespace LEAT::detail {

/// A thread's lists of free blocks, by size. Trivially destructible, so that a block that is freed
/// late, by the destructor of another thread-local object, still finds it.
struct frame_cache {
  // The usable sizes of glibc: a multiple of 16 bytes, less 8 for its own header. It would round up
  // other sizes.
  static constexpr std::size_t classes = 64;  // 8, 24, 40, ..., 1016 bytes
  static constexpr std::size_t class_of(std::size_t size) noexcept { return (size + 7) / 16; }
  static constexpr std::size_t size_of(std::size_t index) noexcept { return 16 * index + 8; }

  struct free_block {
    free_block* next;
  };

  std::array<free_block*, classes> lists;
  std::size_t
      free_space;  // bytes that may still be kept; 0 before first use and after the thread's end
  std::ptrdiff_t live;  // blocks allocated here less those freed here
  bool closed;          // the thread ends

  static constinit thread_local frame_cache local
#if defined(__GNUC__)
      __attribute__((tls_model("initial-exec")))
#endif
      ;
};

[[nodiscard]] void* allocate_frame_slowly(std::size_t size);
void free_frame_slowly(void* block, std::size_t size) noexcept;

/// Like allocate_frame(), but returns null if this thread has no free block of that size.
[[nodiscard]] inline void* take_free_frame(std::size_t size) noexcept {
  const std::size_t index = frame_cache::class_of(size);
  if (index >= frame_cache::classes) return nullptr;
  frame_cache& cache = frame_cache::local;
  frame_cache::free_block* const block = cache.lists[index];
  if (block) {
    ++cache.live;
    cache.lists[index] = block->next;
    cache.free_space += frame_cache::size_of(index);
  }
  return block;
}

/// Memory for coroutine frames and task contexts, recycled per thread: in steady state a task
/// costs no call of the system's allocator.
///
/// Blocks of up to 1016 bytes are kept in lists by size, at most 4 MiB in all for each thread. A
/// block may be freed on another thread than the one that allocated it. After the first MiB of a
/// size, a thread takes batches of blocks from slabs in huge pages that all threads share, and
/// returns excess blocks there. In a library built with a sanitizer every call goes to the system's
/// allocator, so that a use after free is detected.
///
/// Errors: std::bad_alloc. Cost: O(1); while the number of blocks grows, also a lock for each 32nd
/// block and a system call for each 2 MiB.
[[nodiscard]] inline void* allocate_frame(std::size_t size) {
  if (void* const block = take_free_frame(size)) return block;
  return allocate_frame_slowly(size);
}

/// Like free_frame(), but returns false, without effect, if this thread does not keep the block.
[[nodiscard]] inline bool keep_free_frame(void* block, std::size_t size) noexcept {
  const std::size_t index = frame_cache::class_of(size);
  if (index >= frame_cache::classes) return false;
  frame_cache& cache = frame_cache::local;
  const std::size_t rounded = frame_cache::size_of(index);
  if (rounded > cache.free_space) return false;
  --cache.live;
  cache.free_space -= rounded;
  cache.lists[index] = ::new (block) frame_cache::free_block{cache.lists[index]};
  return true;
}

inline void free_frame(void* block, std::size_t size) noexcept {
  if (!keep_free_frame(block, size)) free_frame_slowly(block, size);
}

/// During its lifetime each frame of this thread is allocated with operator new, so that the
/// allocations of a program do not depend on what ran before.
class frame_cache_bypass {
 public:
  frame_cache_bypass() noexcept;
  ~frame_cache_bypass();
  frame_cache_bypass(const frame_cache_bypass&) = delete;
  frame_cache_bypass& operator=(const frame_cache_bypass&) = delete;

 private:
  const bool was_closed_;
};

/// Blocks that this thread has allocated less those that it has freed.
[[nodiscard]] inline std::ptrdiff_t live_frames() noexcept { return frame_cache::local.live; }

/// The frame allocator as an allocator of the standard library.
template <class T = void>
struct standard_frame_allocator {
  using value_type = T;
  standard_frame_allocator() = default;
  template <class U>
  standard_frame_allocator(const standard_frame_allocator<U>&) noexcept {}
  [[nodiscard]] T* allocate(std::size_t n) {
    return static_cast<T*>(allocate_frame(n * sizeof(T)));
  }
  void deallocate(T* p, std::size_t n) noexcept { free_frame(p, n * sizeof(T)); }
  template <class U>
  bool operator==(const standard_frame_allocator<U>&) const noexcept {
    return true;
  }
};

}  // namespace LEAT::detail
