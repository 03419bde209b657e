#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <iterator>
#include <memory>
#include <new>
#include <utility>
#include <vector>

#include "leat/base/internal/cache_line_gap.hpp"

namespace leat::detail {

/// First in, first out: a ring of a power of two of slots, grown on reserve() only.
template <class T>
class ring_order {
 public:
  static constexpr bool takes_whole_batches = false;
  /// An item may go directly to a waiting pop, without being stored.
  static constexpr bool allows_direct_handoff = true;
  /// store() and take() use the two ends, and may run at the same time in two threads. A derived
  /// order that replaces them by others must set this to false.
  static constexpr bool has_sides = true;

  ring_order() = default;
  ring_order(const ring_order&) = delete;
  ring_order& operator=(const ring_order&) = delete;
  ~ring_order() {
    while (head_ != tail_) std::destroy_at(slot(head_++));
    free(slots_, mask_ + 1);
  }

  /// Reserves capacity for `count` items in all. Errors: std::bad_alloc; then nothing has changed.
  void reserve(std::size_t count) {
    if (slots_ && count <= mask_ + 1) return;
    if (count > std::allocator_traits<std::allocator<T>>::max_size({})) throw std::bad_alloc();
    const std::size_t wanted = std::bit_ceil(count < 8 ? std::size_t{8} : count);
    T* const fresh = std::allocator<T>().allocate(wanted);
    std::size_t moved = 0;
    for (; head_ != tail_; ++head_, ++moved) {
      std::construct_at(fresh + moved, std::move(*slot(head_)));
      std::destroy_at(slot(head_));
    }
    free(slots_, mask_ + 1);
    slots_ = fresh;
    mask_ = wanted - 1;
    head_ = 0;
    tail_ = moved;
  }

  [[nodiscard]] std::size_t slots() const noexcept { return slots_ ? mask_ + 1 : 0; }
  [[nodiscard]] std::size_t size() const noexcept { return tail_ - head_; }

  void store(T&& value) noexcept { std::construct_at(slot(tail_++), std::move(value)); }

  /// Moves the oldest item to the raw memory at `to`.
  void take(T* to) noexcept {
    T* const from = slot(head_++);
    std::construct_at(to, std::move(*from));
    std::destroy_at(from);
  }

  /// Like store() and take(), but for many items. `to` has the capacity for them.
  void store_range(T* values, std::size_t count) noexcept {
    while (count > 0) {
      const std::size_t run = contiguous(tail_, count);
      std::uninitialized_move_n(values, run, slot(tail_));
      tail_ += run;
      values += run;
      count -= run;
    }
  }
  void take_range(std::vector<T>& to, std::size_t count) noexcept {
    while (count > 0) {
      const std::size_t run = contiguous(head_, count);
      T* const from = slot(head_);
      to.insert(to.end(), std::move_iterator(from), std::move_iterator(from + run));
      std::destroy_n(from, run);
      head_ += run;
      count -= run;
    }
  }

  /// Returns the item that was taken last to the front.
  void put_back(T&& value) noexcept { std::construct_at(slot(--head_), std::move(value)); }

 private:
  T* slot(std::size_t index) const noexcept { return slots_ + (index & mask_); }
  // The number of slots from `index` on, up to `count`, that the end of the ring does not divide.
  [[nodiscard]] std::size_t contiguous(std::size_t index, std::size_t count) const noexcept {
    return std::min(count, mask_ + 1 - (index & mask_));
  }
  static void free(T* slots, std::size_t count) noexcept {
    if (slots) std::allocator<T>().deallocate(slots, count);
  }

  T* slots_ = nullptr;
  std::size_t mask_ = 0;
  // Both only grow, and wrap around together.
  [[maybe_unused]] cache_line_gap before_head_;
  std::size_t head_ = 0;
  [[maybe_unused]] cache_line_gap before_tail_;
  std::size_t tail_ = 0;
  [[maybe_unused]] cache_line_gap after_tail_;
};

}  // namespace leat::detail
