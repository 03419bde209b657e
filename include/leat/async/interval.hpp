#pragma once

#include <coroutine>
#include <iosfwd>
#include <optional>
#include <source_location>
#include <system_error>
#include <tuple>

#include "leat/async/detail/asio_misuse.hpp"
#include "leat/async/detail/select_branches.hpp"
#include "leat/async/detail/select_state.hpp"
#include "leat/async/internal/tick_schedule.hpp"
#include "leat/async/missed_tick_policy.hpp"
#include "leat/async/operation_result.hpp"
#include "leat/async/scheduler/scheduler.hpp"
#include "leat/async/sleep.hpp"
#include "leat/base/clock.hpp"

namespace LEAT {

class interval;

/// The awaitable of interval::tick(). Movable until it is awaited.
class [[nodiscard]] tick_wait {
 public:
  tick_wait(interval& of, const std::source_location& where) noexcept : of_(of), where_(where) {}
  tick_wait(tick_wait&& unstarted) noexcept : tick_wait(unstarted.of_, unstarted.where_) {}
  tick_wait& operator=(tick_wait&&) = delete;
  ~tick_wait() = default;

  /// Returns the source location of the call of tick().
  [[nodiscard]] const std::source_location& where() const noexcept { return where_; }

  /// Explains the error of a `co_await` in a coroutine of Asio.
  template <detail::awaitable_of_operation Asio>
  operator Asio() const noexcept;

  /// Called by a leat coroutine before anything else.
  void bind(detail::promise_base& promise, std::coroutine_handle<>) noexcept {
    promise_ = &promise;
  }
  bool await_ready() const noexcept { return false; }
  bool await_suspend(std::coroutine_handle<> h);
  time_point await_resume();
  operation_result<time_point> await_tuple() noexcept;

 private:
  friend class detail::select_branch<tick_wait>;

  interval& of_;
  std::source_location where_;
  detail::promise_base* promise_ = nullptr;  // null: a coroutine of another library
  time_point due_{};
  std::optional<sleep_wait> sleep_;
};

/// A clock that ticks at fixed times, for a loop that runs at regular intervals.
///
///     leat::interval every(100ms);
///     for (;;) {
///       co_await every.tick();
///       send_heartbeat();
///     }
///
/// The first tick completes immediately, at a time t. The others are at t + period, t + 2 period
/// and so on: the durations of the loop bodies do not add up. The policy decides about ticks that
/// are over when the loop calls tick(): by default, they complete back to back until the loop is on
/// schedule again; with missed_tick_policy::skip, the loop continues at the next scheduled time.
/// An interval uses the clock of the scheduler, which is virtual in a simulation.
///
/// A looper has the same schedule, and also calls functions at its start and end.
///
/// Thread safety: thread-bound to the scheduler on which it has ticked first. Tasks that wait for a
///                tick at the same time receive the same one.
/// Cost: a timer for each tick; no allocation in steady state.
class interval {
 public:
  /// Errors: invalid_argument if the period is 0 or negative.
  explicit interval(time_span period,
                    missed_tick_policy missed_ticks = missed_tick_policy::catch_up);
  interval(const interval&) = delete;
  interval& operator=(const interval&) = delete;

  /// Waits for the next tick, and returns its scheduled time. That is earlier than the present if
  /// the tick was missed. Other tasks run first even then.
  ///
  /// Errors:       cancelled, if the task was asked to stop before or during the wait.
  /// Cancellation: total: the next call waits for the same tick, also after a time limit or
  ///               another operation of a select() has ended the wait.
  [[nodiscard]] tick_wait tick(
      std::source_location where = std::source_location::current()) noexcept {
    return {*this, where};
  }

  /// Returns the time between two ticks.
  [[nodiscard]] duration period() const noexcept { return period_; }

 private:
  friend class tick_wait;
  friend class detail::select_branch<tick_wait>;

  [[nodiscard]] time_point next(time_point now) noexcept;
  void advance(time_point tick) noexcept { schedule_->advance(tick); }

  const duration period_;
  const missed_tick_policy missed_ticks_;
  std::optional<detail::tick_schedule> schedule_;  // from the first tick on
};

namespace detail {

template <>
class select_branch<tick_wait> {
 public:
  select_branch(tick_wait&& operation, select_state& s, int index) noexcept
      : select_branch(operation.of_, s, index) {}
  select_branch(select_branch&& unstarted, select_state& s, int index) noexcept
      : select_branch(unstarted.of_, s, index) {}
  [[nodiscard]] bool try_complete() const noexcept { return false; }
  [[nodiscard]] bool begin();
  void withdraw() noexcept {
    if (sleep_) sleep_->withdraw();
  }
  [[nodiscard]] time_point result() noexcept;
  void describe(std::ostream& out) const;

 private:
  select_branch(interval& of, select_state& s, int index) noexcept
      : of_(of), select_state_(s), index_(index) {}

  interval& of_;
  select_state& select_state_;
  const int index_;
  time_point due_{};
  std::optional<select_branch<sleep_wait>> sleep_;
};

}  // namespace detail
}  // namespace LEAT
