#include "leat/core/detail/frame_allocator.hpp"

#include "leat/core/detail/sanitizers.hpp"

namespace leat::detail {

constinit thread_local frame_cache frame_cache::local{};

namespace {

// Under a sanitizer no list is ever opened, so every call comes here.
constexpr bool sanitized = LEAT_ASAN || LEAT_TSAN;

// Bytes kept for each thread: some 15,000 small tasks at once.
constexpr std::size_t budget = std::size_t{4} << 20;

void close_cache() noexcept {
  frame_cache& cache = frame_cache::local;
  cache.closed = true;
  cache.room = 0;
  for (frame_cache::free_block*& list : cache.lists) {
    while (frame_cache::free_block* block = list) {
      list = block->next;
      ::operator delete(block);
    }
  }
}

struct cache_closer {
  ~cache_closer() { close_cache(); }
};

// Once for each thread, by the first block that it frees.
bool open_cache(bool& opened) {
  if (opened) return false;
  opened = true;
  static thread_local cache_closer closer;
  static_cast<void>(closer);
  frame_cache::local.room = budget;
  return true;
}

constinit thread_local bool opened = false;

}  // namespace

frames_uncached::frames_uncached() noexcept : was_closed_(frame_cache::local.closed) {
  close_cache();
}

frames_uncached::~frames_uncached() {
  frame_cache::local.closed = was_closed_;
  if (opened && !was_closed_) frame_cache::local.room = budget;
}

void* allocate_frame_slowly(std::size_t size) {
  const std::size_t index = frame_cache::class_of(size);
  // The whole block of its class, since it will come back as one.
  if (!sanitized && index < frame_cache::classes) size = frame_cache::size_of(index);
  void* const block = ::operator new(size);
  ++frame_cache::local.live;
  return block;
}

void free_frame_slowly(void* block, std::size_t size) noexcept {
  if (!sanitized && !frame_cache::local.closed && open_cache(opened)) {
    free_frame(block, size);
  } else {
    --frame_cache::local.live;
    ::operator delete(block);
  }
}

}  // namespace leat::detail
