#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "leat/base/clock.hpp"

namespace LEAT {

/// A point in time at which a function is called; usually a member of the operation that waits.
///
/// Set it with scheduler::add_timer(). The scheduler then calls the function once, in a turn at or
/// after that time. Before you destroy a timer that is set, call scheduler::cancel_timer().
struct timer {
  /// The function; it may destroy the timer.
  using expire_function = void (*)(timer&) noexcept;

  /// Creates a timer that is not set.
  explicit timer(expire_function expire) noexcept : expire_(expire) {}
  /// Creates a timer that is not set, but has a time.
  timer(expire_function expire, time_point when) noexcept : expire_(expire), when_(when) {}
  timer(const timer&) = delete;
  timer& operator=(const timer&) = delete;

  /// Returns true until it expires or is cancelled; false in the function that it calls.
  [[nodiscard]] bool is_set() const noexcept { return index_ != unset; }

  static constexpr std::size_t unset = SIZE_MAX;  ///< an index

  expire_function expire_;  ///< called at the end
  time_point when_{};       ///< the time for which it was set last
  std::uint64_t order_;     ///< timers for the same time expire in the order in which they were set
  std::size_t index_ = unset;  ///< its place in the heap
};

namespace detail {

/// Returns a description of a timer that is set, for the schedule of a simulation.
[[nodiscard]] std::string to_text(const timer& t);

/// Returns the whole milliseconds from `now` to `when`; 0 if `when` is in the past.
[[nodiscard]] inline std::int64_t milliseconds_until(time_point when, time_point now) noexcept {
  if (when <= now) return 0;
  return std::chrono::duration_cast<std::chrono::milliseconds>(when - now).count();
}

}  // namespace detail

/// Timers, earliest first: a binary heap of pointers.
/// Thread safety: thread-compatible. Cost: O(log n); allocates only when it grows.
class timer_heap {
 public:
  [[nodiscard]] bool empty() const noexcept { return heap_.empty(); }  ///< no timer is set
  /// Returns the time of the first timer, or no_deadline.
  [[nodiscard]] time_point earliest() const noexcept {
    return heap_.empty() ? no_deadline : heap_.front()->when_;
  }

  /// Returns the timer that expires next. Precondition: the heap is not empty.
  [[nodiscard]] const timer& first() const noexcept { return *heap_.front(); }

  /// Returns a number that is not above the `order_` of the timers that are added from now on.
  [[nodiscard]] std::uint64_t next_order() const noexcept { return next_order_; }

  /// Returns the first of the timers that were added since next_order() returned `order`, if it is
  /// set for the same time as first() and after it; null otherwise.
  /// Cost: O(timers for this time), or O(1) if no timer was added since.
  [[nodiscard]] timer* first_since(std::uint64_t order) const noexcept;

  /// Makes `t` expire before other timers for the same time. The next pop_due() has to remove it.
  void put_first(timer& t) noexcept;

  /// Sets a timer that is not set. Errors: std::bad_alloc.
  void add(timer& t, time_point when);
  /// Unsets a timer. Returns false if it was not set.
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
  void find_since(std::uint64_t order, std::size_t index, timer*& found) const noexcept;

  std::vector<timer*> heap_;
  std::uint64_t next_order_ = 1;  // 0: see put_first()
};

}  // namespace LEAT
