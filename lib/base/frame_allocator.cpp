#include "leat/base/detail/frame_allocator.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "base/frame_slabs.hpp"
#include "leat/base/detail/sanitizers.hpp"

namespace leat::detail {

constinit thread_local frame_cache frame_cache::local{};

namespace {

// Under a sanitizer no list is ever opened, so every call comes here.
constexpr bool sanitized = LEAT_ASAN || LEAT_TSAN;

// Bytes kept for each thread: some 15,000 small tasks at once.
constexpr std::size_t budget = std::size_t{4} << 20;

// Blocks that go to and fro between a thread and the slabs at a time, at most.
constexpr std::size_t run = 32;

void close_cache() noexcept {
  frame_cache& cache = frame_cache::local;
  cache.closed = true;
  cache.room = 0;
  for (frame_cache::free_block*& list : cache.lists) {
    if (list) frame_slabs::give_back(std::exchange(list, nullptr));
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
  frame_cache::local.room = budget;
}

// Of each class the blocks that this thread has from operator new, less those it gave back there.
constinit thread_local std::array<std::ptrdiff_t, frame_cache::classes> from_new{};

bool has_many(std::size_t index) noexcept {
  const auto size = static_cast<std::ptrdiff_t>(frame_cache::size_of(index));
  return from_new[index] * size >= static_cast<std::ptrdiff_t>(frame_slabs::few);
}

void* allocate_of_run(std::size_t index) {
  open_cache();
  frame_cache& cache = frame_cache::local;
  const std::size_t size = frame_cache::size_of(index);
  std::size_t count = std::min(run, 1 + cache.room / size);
  frame_cache::free_block* const first = frame_slabs::take(index, count);
  cache.room -= (count - 1) * size;
  cache.lists[index] = first->next;
  ++cache.live;
  return first;
}

// Of this class, or if it has none, of another.
void make_room(std::size_t index) noexcept {
  frame_cache& cache = frame_cache::local;
  while (!cache.lists[index]) index = (index + 1) % frame_cache::classes;
  frame_cache::free_block* const first = cache.lists[index];
  frame_cache::free_block* last = first;
  std::size_t count = 1;
  for (; count < run && last->next; ++count) last = last->next;
  cache.lists[index] = std::exchange(last->next, nullptr);
  cache.room += count * frame_cache::size_of(index);
  from_new[index] -= static_cast<std::ptrdiff_t>(frame_slabs::give_back(first));
}

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
  if (!sanitized && index < frame_cache::classes) {
    if (!frame_cache::local.closed) {
      if (has_many(index)) return allocate_of_run(index);
      ++from_new[index];
    }
    // The whole block of its class, since it will come back as one.
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
    frame_slabs::give_back(::new (block) frame_cache::free_block{nullptr});
  } else {
    open_cache();
    while (cache.room < frame_cache::size_of(index)) make_room(index);
    free_frame(block, size);
  }
}

}  // namespace leat::detail
