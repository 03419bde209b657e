#include "leat/base/internal/frame_allocator.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "base/internal/frame_slabs.hpp"
#include "leat/base/internal/sanitizers.hpp"

namespace LEAT::detail {

constinit thread_local frame_cache frame_cache::local{};

namespace {

// Under a sanitizer the lists stay unused, so every call arrives here.
constexpr bool sanitized = LEAT_ASAN || LEAT_TSAN;

// Bytes kept for each thread: some 15,000 small tasks at once.
constexpr std::size_t max_cached_bytes = std::size_t{4} << 20;

// The maximum number of blocks that a thread and the slabs exchange at a time.
constexpr std::size_t max_batch = 32;

void close_cache() noexcept {
  frame_cache& cache = frame_cache::local;
  cache.closed = true;
  cache.free_space = 0;
  for (frame_cache::free_block*& list : cache.lists) {
    if (list) frame_slabs::return_batch(std::exchange(list, nullptr));
  }
}

struct cache_closer {
  ~cache_closer() { close_cache(); }
};

constinit thread_local bool opened = false;

// Once for each thread.
void open_cache() {
  if (opened) return;
  opened = true;
  static thread_local cache_closer closer;
  static_cast<void>(closer);
  frame_cache::local.free_space = max_cached_bytes;
}

// For each class, the blocks that this thread has allocated with operator new, less those that it
// freed there.
constinit thread_local std::array<std::ptrdiff_t, frame_cache::classes> heap_blocks{};

bool uses_slabs(std::size_t index) noexcept {
  const auto size = static_cast<std::ptrdiff_t>(frame_cache::size_of(index));
  return heap_blocks[index] * size >=
         static_cast<std::ptrdiff_t>(frame_slabs::heap_bytes_before_slabs);
}

void* allocate_from_batch(std::size_t index) {
  open_cache();
  frame_cache& cache = frame_cache::local;
  const std::size_t size = frame_cache::size_of(index);
  std::size_t count = std::min(max_batch, 1 + cache.free_space / size);
  frame_cache::free_block* const first = frame_slabs::take_batch(index, count);
  // The other blocks count as kept. `count` is what take_batch() has returned, which may be less.
  cache.free_space -= (count - 1) * size;
  cache.lists[index] = first->next;
  ++cache.live;
  return first;
}

// Takes from this class, or from another one if it has none.
void flush_batch(std::size_t index) noexcept {
  frame_cache& cache = frame_cache::local;
  while (!cache.lists[index]) index = (index + 1) % frame_cache::classes;
  frame_cache::free_block* const first = cache.lists[index];
  frame_cache::free_block* last = first;
  std::size_t count = 1;
  for (; count < max_batch && last->next; ++count) last = last->next;
  cache.lists[index] = std::exchange(last->next, nullptr);
  cache.free_space += count * frame_cache::size_of(index);
  heap_blocks[index] -= static_cast<std::ptrdiff_t>(frame_slabs::return_batch(first));
}

}  // namespace

frame_cache_bypass::frame_cache_bypass() noexcept : was_closed_(frame_cache::local.closed) {
  close_cache();
}

frame_cache_bypass::~frame_cache_bypass() {
  frame_cache::local.closed = was_closed_;
  if (opened && !was_closed_) frame_cache::local.free_space = max_cached_bytes;
}

void* allocate_frame_slowly(std::size_t size) {
  const std::size_t index = frame_cache::class_of(size);
  if (!sanitized && index < frame_cache::classes) {
    if (!frame_cache::local.closed) {
      if (uses_slabs(index)) return allocate_from_batch(index);
      ++heap_blocks[index];
    }
    // Allocates the full block of its class, since it will be returned as one.
    size = frame_cache::size_of(index);
  }
  void* const block = ::operator new(size);
  ++frame_cache::local.live;
  return block;
}

void free_frame_slowly(void* block, std::size_t size) noexcept {
  frame_cache& cache = frame_cache::local;
  const std::size_t index = frame_cache::class_of(size);
  if (sanitized || index >= frame_cache::classes) {
    --cache.live;
    ::operator delete(block);
  } else if (cache.closed) {
    --cache.live;
    frame_slabs::return_batch(::new (block) frame_cache::free_block{nullptr});
  } else {
    open_cache();
    while (cache.free_space < frame_cache::size_of(index)) flush_batch(index);
    free_frame(block, size);
  }
}

}  // namespace LEAT::detail
