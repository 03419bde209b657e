#pragma once

#include <cstddef>
#include <iterator>
#include <memory>

namespace leat::detail {

/// Memory in an operation for its own post: where the executor takes it from the handler's
/// allocator, as those of an io_context, of a thread pool and strands of these do, a completion
/// needs no other. A strand takes two pieces, one for itself and one for the executor below it.
///
/// A context that is destroyed destroys what is in its strands first, and what these have asked of
/// the executor below them behind that: so an operation that ends uncalled may have to stay until
/// the last piece is given back.
///
/// Thread safety: as the operation. Each piece is taken once, and given back before the operation
/// is finished.
class post_memory {
 public:
  using end_function = void (*)(void* operation) noexcept;

  post_memory() noexcept {}  // not defaulted: that would fill the bytes with zeros
  post_memory(const post_memory&) = delete;
  post_memory& operator=(const post_memory&) = delete;

  /// Null when it is too small or taken.
  [[nodiscard]] void* allocate(std::size_t size) noexcept {
    if (taken_ == std::size(pieces_) || size > sizeof(piece)) return nullptr;
    ++in_use_;
    return pieces_[taken_++].bytes;
  }
  /// False: `block` is not from here, and no more was looked at. Else the operation may be gone.
  [[nodiscard]] bool deallocate(const void* block) noexcept {
    if (block != pieces_[0].bytes && block != pieces_[1].bytes) return false;
    if (--in_use_ == 0 && end_) end_(operation_);
    return true;
  }
  /// True: `end` is called for the operation when the last piece is given back. False: none is out.
  [[nodiscard]] bool end_after_last(void* operation, end_function end) noexcept {
    if (in_use_ == 0) return false;
    operation_ = operation;
    end_ = end;
    return true;
  }

 private:
  struct piece {
    piece() noexcept {}
    alignas(std::max_align_t) std::byte bytes[96];  // Asio's own parts are about 50 and 70
  };
  piece pieces_[2];
  std::size_t taken_ = 0;
  std::size_t in_use_ = 0;
  void* operation_ = nullptr;
  end_function end_ = nullptr;
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

  post_allocator(post_memory& memory, const Allocator& fallback) noexcept
      : memory_(&memory), fallback_(fallback) {}
  template <class U>
  post_allocator(const post_allocator<U, Allocator>& other) noexcept
      : memory_(other.memory_), fallback_(other.fallback_) {}

  [[nodiscard]] T* allocate(std::size_t count) {
    static_assert(alignof(T) <= alignof(std::max_align_t));
    if (void* const block = memory_->allocate(count * sizeof(T))) return static_cast<T*>(block);
    return fallback_.allocate(count);
  }
  void deallocate(T* block, std::size_t count) noexcept {
    if (!memory_->deallocate(block)) fallback_.deallocate(block, count);
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
  typename std::allocator_traits<Allocator>::template rebind_alloc<T> fallback_;
};

}  // namespace leat::detail
