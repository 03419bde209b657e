#pragma once

#include <algorithm>
#include <cstddef>
#include <utility>
#include <vector>

#include "leat/base/flavour.hpp"

namespace LEAT::detail {

/// A first-in first-out buffer with access by index: a ring of slots, a power of two of them, that
/// grows when it is full. Once it is large enough it allocates nothing, and a new element reuses
/// the memory of the old one in its slot. References are valid until the next push.
template <class T>
class ring_buffer {
 public:
  [[nodiscard]] std::size_t size() const noexcept { return size_; }
  [[nodiscard]] bool empty() const noexcept { return size_ == 0; }

  /// Returns the i-th element; 0 is the oldest.
  [[nodiscard]] T& operator[](std::size_t i) noexcept { return slots_[slot(i)]; }
  [[nodiscard]] const T& operator[](std::size_t i) const noexcept { return slots_[slot(i)]; }
  [[nodiscard]] T& back() noexcept { return (*this)[size_ - 1]; }

  /// Adds an element, which still has the earlier value of its slot.
  /// Errors: std::bad_alloc, without a change.
  T& push() {
    if (size_ == slots_.size()) grow();
    ++size_;
    return back();
  }
  void push(const T& value) { push() = value; }

  /// Removes the oldest element. Precondition: the buffer is not empty.
  void pop() noexcept {
    head_ = (head_ + 1) & (slots_.size() - 1);
    --size_;
  }
  void clear() noexcept { head_ = size_ = 0; }

 private:
  [[nodiscard]] std::size_t slot(std::size_t i) const noexcept {
    return (head_ + i) & (slots_.size() - 1);
  }
  void grow() {
    std::vector<T> larger(std::max<std::size_t>(8, 2 * slots_.size()));
    for (std::size_t i = 0; i < size_; ++i) larger[i] = std::move((*this)[i]);
    slots_ = std::move(larger);
    head_ = 0;
  }

  std::vector<T> slots_;
  std::size_t head_ = 0;
  std::size_t size_ = 0;
};

}  // namespace LEAT::detail
