#pragma once

#include <cstddef>
#include <iterator>
#include <memory>

#include "leat/base/flavour.hpp"

namespace LEAT::detail {

/// Memory in an operation for its own post. The executors of an io_context, of a thread pool and of
/// their strands allocate from the handler's allocator, so a completion needs no other memory. A
/// strand takes two blocks, one for itself and one for its inner executor.
///
/// A context that is destroyed first destroys the handlers in its strands, and then the blocks of
/// their inner executors. So an operation whose handler is not called must stay until the last
/// block is freed.
///
/// Thread safety: like the operation. Each block is allocated once, and freed before the operation
/// is finished.
class post_memory {
 public:
  using end_function = void (*)(void* operation) noexcept;

  post_memory() noexcept {}  // not defaulted: that would fill the bytes with zeros
  post_memory(const post_memory&) = delete;
  post_memory& operator=(const post_memory&) = delete;

  /// Returns null if it is too small or in use.
  [[nodiscard]] void* allocate(std::size_t size) noexcept {
    if (taken_ == std::size(pieces_) || size > sizeof(piece)) return nullptr;
    ++in_use_;
    return pieces_[taken_++].bytes;
  }
  /// Returns false if `block` is not from here; only its address is read. Otherwise the operation
  /// may be destroyed after the call.
  [[nodiscard]] bool deallocate(const void* block) noexcept {
    if (block != pieces_[0].bytes && block != pieces_[1].bytes) return false;
    if (--in_use_ == 0 && end_) end_(operation_);
    return true;
  }
  /// Returns true if `end` will be called for the operation when the last block is freed, or false
  /// if no block is in use.
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

/// An allocator that uses a post_memory first and Allocator after it.
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

}  // namespace LEAT::detail
