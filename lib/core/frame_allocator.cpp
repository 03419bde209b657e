#include "leat/core/detail/frame_allocator.hpp"

#include <array>
#include <new>

#include "leat/core/detail/sanitizers.hpp"

namespace leat::detail {
namespace {

constexpr bool sanitized = LEAT_ASAN || LEAT_TSAN;
constexpr std::size_t granule = 64;
constexpr std::size_t classes = 16;                   // 64, 128, ..., 1024 bytes
constexpr std::size_t budget = std::size_t{1} << 20;  // bytes kept for each thread

struct free_block {
  free_block* next;
};

// Trivially destructible, so it outlives every other thread-local object of its thread: a frame
// that is freed late by a destructor of one still finds `closed`.
struct cache {
  std::array<free_block*, classes> lists;
  std::size_t bytes;
  bool open;
  bool closed;
};
constinit thread_local cache local{};

struct cache_closer {
  ~cache_closer() {
    local.closed = true;
    local.open = false;
    for (free_block*& list : local.lists) {
      while (free_block* block = list) {
        list = block->next;
        ::operator delete(block);
      }
    }
  }
};

void open_cache() {
  static thread_local cache_closer closer;
  static_cast<void>(closer);
  local.open = true;
}

}  // namespace

void* allocate_frame(std::size_t size) {
  if (sanitized || size > granule * classes || size == 0) return ::operator new(size);
  const std::size_t index = (size - 1) / granule;
  if (free_block* block = local.lists[index]) {
    local.lists[index] = block->next;
    local.bytes -= (index + 1) * granule;
    return block;
  }
  return ::operator new((index + 1) * granule);
}

void free_frame(void* block, std::size_t size) noexcept {
  if (sanitized || size > granule * classes || size == 0) return ::operator delete(block);
  const std::size_t index = (size - 1) / granule;
  const std::size_t rounded = (index + 1) * granule;
  if (!local.open) {
    if (local.closed) return ::operator delete(block);
    open_cache();
  }
  if (local.bytes + rounded > budget) return ::operator delete(block);
  local.lists[index] = ::new (block) free_block{local.lists[index]};
  local.bytes += rounded;
}

}  // namespace leat::detail
