#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <new>
#include <utility>

#include "leat/base/flavour.hpp"

namespace LEAT::detail {

/// Memory slots for handlers that wait in an io_context, so that waiting does not allocate. The
/// heap is used if all slots are taken or a handler is too large. Thread safety: thread-safe.
template <std::size_t count>
class handler_memory {
 public:
  void* allocate(std::size_t size) {
    if (size <= slot_size) {
      for (slot& p : slots_) {
        // Acquire, paired with the release below: the last user is done with the slot.
        if (!p.taken.exchange(true, std::memory_order_acquire)) return p.bytes;
      }
    }
    return ::operator new(size);
  }

  void deallocate(void* memory) noexcept {
    for (slot& p : slots_) {
      if (p.bytes == memory) return p.taken.store(false, std::memory_order_release);
    }
    ::operator delete(memory);
  }

 private:
  static constexpr std::size_t slot_size = 256;  // Asio's own part is about 100 bytes
  struct slot {
    alignas(std::max_align_t) std::byte bytes[slot_size];
    std::atomic<bool> taken{false};
  };

  std::array<slot, count> slots_{};
};

/// The allocator with which a handler waits in one of these slots. Memory: a pointer, or a shared
/// pointer if the handler may outlive its creator, as a handler that a context destroys does.
template <class T, class Memory>
class handler_allocator {
 public:
  using value_type = T;
  template <class U>
  struct rebind {
    using other = handler_allocator<U, Memory>;
  };

  explicit handler_allocator(Memory memory) noexcept : memory_(std::move(memory)) {}
  template <class U>
  handler_allocator(const handler_allocator<U, Memory>& other) noexcept : memory_(other.memory_) {}

  T* allocate(std::size_t n) { return static_cast<T*>(memory_->allocate(n * sizeof(T))); }
  void deallocate(T* p, std::size_t) noexcept { memory_->deallocate(p); }

  template <class U>
  bool operator==(const handler_allocator<U, Memory>& other) const noexcept {
    return memory_ == other.memory_;
  }

 private:
  template <class, class>
  friend class handler_allocator;
  Memory memory_;
};

}  // namespace LEAT::detail
