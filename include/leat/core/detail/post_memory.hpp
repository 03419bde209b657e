#pragma once

#include <cstddef>
#include <memory>

namespace leat::detail {

/// Memory in an operation for its own post: where the executor takes it from the handler's
/// allocator, as those of an io_context, of a thread pool and strands of these do, a completion
/// needs no other. A strand takes two pieces, one for itself and one for the executor below it.
///
/// Thread safety: as the operation. Each piece is taken once, and given back before the operation
/// is finished.
class post_memory {
 public:
  post_memory() noexcept {}  // not defaulted: that would fill the bytes with zeros
  post_memory(const post_memory&) = delete;
  post_memory& operator=(const post_memory&) = delete;

  /// Null when it is too small or taken.
  [[nodiscard]] void* take(std::size_t size) noexcept {
    piece& p = first_.taken ? second_ : first_;
    if (p.taken || size > sizeof p.bytes) return nullptr;
    p.taken = true;
    return p.bytes;
  }
  /// False: `place` is not from here.
  [[nodiscard]] bool owns(const void* place) const noexcept {
    return place == first_.bytes || place == second_.bytes;
  }

 private:
  struct piece {
    piece() noexcept {}
    alignas(std::max_align_t) std::byte bytes[96];  // Asio's own parts are about 50 and 70
    bool taken = false;
  };
  piece first_;
  piece second_;
};

/// The allocator that takes from there first, and then from Allocator.
template <class T, class Allocator>
class post_allocator {
 public:
  using value_type = T;
  template <class U>
  struct rebind {
    using other = post_allocator<U, Allocator>;
  };

  post_allocator(post_memory& memory, const Allocator& further) noexcept
      : memory_(&memory), further_(further) {}
  template <class U>
  post_allocator(const post_allocator<U, Allocator>& other) noexcept
      : memory_(other.memory_), further_(other.further_) {}

  [[nodiscard]] T* allocate(std::size_t count) {
    static_assert(alignof(T) <= alignof(std::max_align_t));
    if (void* const place = memory_->take(count * sizeof(T))) return static_cast<T*>(place);
    return further_.allocate(count);
  }
  void deallocate(T* place, std::size_t count) noexcept {
    if (!memory_->owns(place)) further_.deallocate(place, count);
  }

  template <class U>
  bool operator==(const post_allocator<U, Allocator>& other) const noexcept {
    return memory_ == other.memory_;
  }

 private:
  template <class, class>
  friend class post_allocator;

  post_memory* memory_;
  [[no_unique_address]]
  typename std::allocator_traits<Allocator>::template rebind_alloc<T> further_;
};

}  // namespace leat::detail
