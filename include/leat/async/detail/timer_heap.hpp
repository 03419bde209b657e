#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "leat/base/clock.hpp"

namespace leat::detail {

/// A point in time at which a function is called; a member of the operation that waits.
struct timer {
  using expire_function = void (*)(timer&) noexcept;

  explicit timer(expire_function expire) noexcept : expire_(expire) {}
  /// Creates a timer that remembers a time; timer_heap::add() sets it.
  timer(expire_function expire, time_point when) noexcept : expire_(expire), when_(when) {}
  timer(const timer&) = delete;
  timer& operator=(const timer&) = delete;

  [[nodiscard]] bool is_set() const noexcept { return index_ != unset; }

  static constexpr std::size_t unset = SIZE_MAX;

  expire_function expire_;
  time_point when_{};
  std::uint64_t order_;  // timers for the same time expire in the order in which they were set
  std::size_t index_ = unset;
};

/// Timers, earliest first: a binary heap of pointers.
/// Thread safety: thread-compatible. Cost: O(log n); allocates only when it grows.
class timer_heap {
 public:
  [[nodiscard]] bool empty() const noexcept { return heap_.empty(); }
  [[nodiscard]] time_point earliest() const noexcept {
    return heap_.empty() ? no_deadline : heap_.front()->when_;
  }

  void add(timer& t, time_point when);
  bool remove(timer& t) noexcept;

  /// Removes and returns the earliest timer if it is due at `now`; null otherwise.
  timer* pop_due(time_point now) noexcept;

  /// Unsets all timers.
  void clear() noexcept {
    for (timer* t : heap_) t->index_ = timer::unset;
    heap_.clear();
  }

 private:
  static bool before(const timer& a, const timer& b) noexcept {
    return a.when_ != b.when_ ? a.when_ < b.when_ : a.order_ < b.order_;
  }
  void place(std::size_t index, timer& t) noexcept;
  void sift_up(std::size_t index, timer& t) noexcept;
  void sift_down(std::size_t index, timer& t) noexcept;

  std::vector<timer*> heap_;
  std::uint64_t next_order_ = 0;
};

}  // namespace leat::detail
