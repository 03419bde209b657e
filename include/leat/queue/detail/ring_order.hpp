#pragma once

#include <cstddef>
#include <utility>
#include <vector>

#include "leat/base/internal/cache_line_gap.hpp"
#include "leat/queue/detail/numbered_ring.hpp"

namespace LEAT::detail {

/// First in, first out, with counts of its own: the base of an order that changes how items leave.
/// A fifo_queue uses the numbered_ring itself, with the counts of the queue.
template <class T>
class ring_order {
 public:
  static constexpr bool takes_whole_batches = false;
  static constexpr bool allows_direct_handoff = true;
  /// store() and take() use the two ends, and may run at the same time in two threads. A derived
  /// order that replaces them by others must set this to false.
  static constexpr bool has_sides = true;

  ring_order() = default;
  ring_order(const ring_order&) = delete;
  ring_order& operator=(const ring_order&) = delete;
  ~ring_order() { ring_.clear(head_, tail_); }

  /// Reserves capacity for `count` items in all. Errors: std::bad_alloc; then nothing has changed.
  void reserve(std::size_t count) { ring_.reserve(count, head_, tail_); }

  [[nodiscard]] std::size_t slots() const noexcept { return ring_.slots(); }
  [[nodiscard]] std::size_t size() const noexcept { return tail_ - head_; }

  void store(T&& value) noexcept { ring_.store(std::move(value), tail_++); }

  /// Moves the oldest item to the raw memory at `to`.
  void take(T* to) noexcept { ring_.take(to, head_++); }

  /// Like store() and take(), but for many items. `to` has the capacity for them.
  void store_range(T* values, std::size_t count) noexcept {
    ring_.store_range(values, count, tail_);
    tail_ += count;
  }
  void take_range(std::vector<T>& to, std::size_t count) noexcept {
    ring_.take_range(to, count, head_);
    head_ += count;
  }

  /// Returns the item that was taken last to the front.
  void put_back(T&& value) noexcept { ring_.put_back(std::move(value), --head_); }

 private:
  numbered_ring<T> ring_;
  // Both only grow, and wrap around together.
  [[maybe_unused]] cache_line_gap before_head_;
  std::size_t head_ = 0;
  [[maybe_unused]] cache_line_gap before_tail_;
  std::size_t tail_ = 0;
  [[maybe_unused]] cache_line_gap after_tail_;
};

}  // namespace LEAT::detail
