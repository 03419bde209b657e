#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <source_location>
#include <string>
#include <type_traits>
#include <unordered_map>
#include <utility>

#include "leat/async/scheduler/timer_heap.hpp"
#include "leat/async/task.hpp"
#include "leat/base/clock.hpp"
#include "leat/base/internal/thread_mutex.hpp"
#include "leat/sync/detail/delay_queue_base.hpp"
#include "leat/sync/mutex.hpp"

namespace LEAT {

/// The key of a value in a delay_queue. No other value of that queue ever has the same key. Use a
/// key only with its queue.
class delay_key {
 public:
  /// Creates the key of no value.
  constexpr delay_key() = default;

  /// Returns true unless it is the key of no value. It remains true after the value has left.
  [[nodiscard]] constexpr explicit operator bool() const noexcept { return number_ != 0; }
  friend constexpr bool operator==(delay_key, delay_key) = default;

 private:
  template <class T>
  friend class delay_queue;
  constexpr explicit delay_key(std::uint64_t number) noexcept : number_(number) {}

  std::uint64_t number_ = 0;
};

/// A queue whose values can be popped only after their deadlines, the earliest deadline first. For
/// sessions that expire when they are idle, retries at a later time, and caches.
///
///     leat::delay_queue<session_id> idle("idle sessions");
///     const leat::delay_key key = idle.insert(id, 30s);
///     idle.reset(key, 30s);                                  // the session was used
///     idle.remove(key);                                      // the session has ended
///     while (auto expired = co_await idle.pop()) close_session(*expired);
///
/// Values with the same deadline are delivered in the order of their insertions and resets. Any
/// number of tasks may pop: each value goes to one of them.
///
/// The queue has no capacity. If its users are not trusted, limit their number, or hold a permit of
/// a semaphore for each value.
///
/// The queue uses the clock of the caller's scheduler, which is virtual in a simulation, or outside
/// a scheduler the steady clock.
///
/// Lifetime: the queue must outlive its operations. Values that it contains when it is destroyed
/// are destroyed with it.
///
/// Thread safety: thread-safe. A waiting task resumes on its own scheduler.
/// Cost: O(log n) in the number of values. An insertion allocates once. pop() is a task, so it
/// allocates a frame. All pops that wait set one timer together.
template <class T>
class delay_queue final : public detail::delay_queue_base {
  static_assert(std::is_nothrow_move_constructible_v<T>,
                "delay_queue: moving T must not throw; insert a std::unique_ptr<T>");

 public:
  using value_type = T;

  /// Creates an empty queue. `name` appears in messages and dumps.
  explicit delay_queue(std::string name = {}) : delay_queue_base(std::move(name)) {}

  /// Adds a value that expires after `delay`; with a delay of 0 or less, immediately.
  ///
  /// Returns the key of the value. If the queue is closed, the key converts to false, and `value`
  /// has not been moved from.
  ///
  /// Errors: std::bad_alloc, without effect.
  delay_key insert(T&& value, time_span delay) {
    return insert_at(std::move(value), deadline_after(present(), delay));
  }
  /// Overload that adds a copy of `value`.
  delay_key insert(const T& value, time_span delay)
    requires std::copy_constructible<T>
  {
    return insert(T(value), delay);
  }

  /// Adds a value that expires at `deadline`. See insert().
  delay_key insert_at(T&& value, time_point deadline) {
    delay_key key;
    bool wakes = false;
    {
      const detail::thread_lock lock(mutex_);
      if (closed_) return {};
      const time_point before = deadlines_.earliest();
      const std::uint64_t number = last_number_ + 1;
      const auto at = values_.try_emplace(number, number).first;
      try {
        deadlines_.add(at->second, deadline);
      } catch (...) {
        values_.erase(at);
        throw;
      }
      at->second.value.emplace(std::move(value));
      key = delay_key(last_number_ = number);
      wakes = has_news(before);
    }
    if (wakes) notify();
    return key;
  }
  /// Overload that adds a copy of `value`.
  delay_key insert_at(const T& value, time_point deadline)
    requires std::copy_constructible<T>
  {
    return insert_at(T(value), deadline);
  }

  /// Moves the deadline of a value to `delay` from now. Returns false, without effect, if the value
  /// has left the queue. Otherwise no pop returns the value before the new deadline.
  bool reset(delay_key key, time_span delay) noexcept {
    return reset_at(key, deadline_after(present(), delay));
  }
  /// Moves the deadline of a value to `deadline`. See reset().
  bool reset_at(delay_key key, time_point deadline) noexcept {
    bool wakes = false;
    {
      const detail::thread_lock lock(mutex_);
      const auto at = values_.find(key.number_);
      if (at == values_.end()) return false;
      const time_point before = deadlines_.earliest();
      deadlines_.remove(at->second);
      deadlines_.add(at->second, deadline);  // needs no memory: one was just removed
      wakes = has_news(before);
    }
    if (wakes) notify();
    return true;
  }

  /// Removes a value before its deadline. Returns the value, or an empty optional if it has left
  /// the queue.
  std::optional<T> remove(delay_key key) noexcept {
    node removed;
    bool wakes = false;
    {
      const detail::thread_lock lock(mutex_);
      removed = values_.extract(key.number_);
      if (!removed) return std::nullopt;
      const time_point before = deadlines_.earliest();
      deadlines_.remove(removed.mapped());
      wakes = has_news(before);
    }
    if (wakes) notify();
    return std::move(removed.mapped().value);
  }

  /// Removes the value with the earliest deadline, waiting until that deadline. Waits while the
  /// queue is empty. Tasks are served in the order in which they called pop().
  ///
  /// Returns the value, or an empty optional once the queue is closed and all values have left it.
  ///
  /// Errors:       cancelled; std::bad_alloc, without effect.
  /// Cancellation: total: a cancelled pop removes nothing.
  [[nodiscard]] task<std::optional<T>> pop(
      std::source_location where = std::source_location::current()) {
    const mutex::guard turn = co_await turn_.lock(where);
    for (;;) {
      std::optional<T> expired = take_expired();
      if (expired) co_return expired;
      const bool more = co_await wait_for_deadline(where);
      if (!more) co_return std::nullopt;
    }
  }

  /// Removes the value with the earliest deadline without waiting. Returns the value, or an empty
  /// optional if the queue is empty, if no deadline has passed, or if other pops are waiting.
  [[nodiscard]] std::optional<T> try_pop() {
    const mutex::guard turn = turn_.try_lock();
    if (!turn) return std::nullopt;
    return take_expired();
  }

  /// Returns the number of values.
  [[nodiscard]] std::size_t size() const noexcept {
    const detail::thread_lock lock(mutex_);
    return values_.size();
  }

  // ---- close(), is_closed() and name(): see detail::delay_queue_base.

 private:
  struct entry : timer {
    explicit entry(std::uint64_t n) noexcept : timer(nullptr), number(n) {}
    const std::uint64_t number;
    std::optional<T> value;
  };
  using map = std::unordered_map<std::uint64_t, entry>;
  using node = typename map::node_type;

  std::optional<T> take_expired() noexcept {
    node expired;
    {
      const detail::thread_lock lock(mutex_);
      const timer* const due = deadlines_.pop_due(present());
      if (!due) return std::nullopt;
      expired = values_.extract(static_cast<const entry*>(due)->number);
    }
    return std::move(expired.mapped().value);
  }

  map values_ LEAT_GUARDED_BY(mutex_);
  std::uint64_t last_number_ LEAT_GUARDED_BY(mutex_) = 0;
};

}  // namespace LEAT
