#pragma once

#include <cstddef>
#include <memory>

namespace leat::detail {

/// Memory in an operation for its own post: where the executor takes it from the handler's
/// allocator, as those of an io_context and of a thread pool do, a completion needs no other.
///
/// Thread safety: as the operation; all that is taken is given back before it is finished.
class post_memory {
 public:
  post_memory() noexcept {}  // not defaulted: that would fill the bytes with zeros
  post_memory(const post_memory&) = delete;
  post_memory& operator=(const post_memory&) = delete;

  /// Null when it is too small or taken.
  [[nodiscard]] void* take(std::size_t size) noexcept {
    if (taken_ || size > sizeof bytes_) return nullptr;
    taken_ = true;
    return bytes_;
  }
  /// False: `place` is not from here.
  [[nodiscard]] bool give_back(void* place) noexcept {
    if (place != bytes_) return false;
    taken_ = false;
    return true;
  }

 private:
  alignas(std::max_align_t) std::byte bytes_[128];  // Asio's own part is about 50
  bool taken_ = false;
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
    if (!memory_->give_back(place)) further_.deallocate(place, count);
  }

  template <class U>
  bool operator==(const post_allocator<U, Allocator>& other) const noexcept {
    return memory_ == other.memory_;
  }

 private:
  template <class, class>
  friend class post_allocator;

  post_memory* memory_;
  typename std::allocator_traits<Allocator>::template rebind_alloc<T> further_;
};

}  // namespace leat::detail
