#pragma once

#include <chrono>
#include <concepts>
#include <coroutine>
#include <source_location>
#include <string>
#include <system_error>
#include <tuple>

#include "leat/async/operation_result.hpp"
#include "leat/async/scheduler/timer_heap.hpp"
#include "leat/async/wait_operation.hpp"
#include "leat/base/clock.hpp"
#include "leat/base/error.hpp"

namespace LEAT {
namespace detail {

/// The end of a sleep: a point in time, or a time span that counts from its start.
struct sleep_end {
  time_point at{};
  duration after{-1};  // negative: it ends at `at`

  /// Returns the end of a sleep that starts now.
  [[nodiscard]] time_point from_now(const scheduler& sched) const noexcept {
    return after >= duration::zero() ? deadline_after(sched.now(), after) : at;
  }
};

}  // namespace detail

/// The awaitable of sleep_for() and sleep_until(). Movable until it is awaited.
class [[nodiscard]] sleep_wait final : public wait_operation {
 public:
  sleep_wait(time_point until, const std::source_location& where) noexcept
      : sleep_wait(detail::sleep_end{.at = until}, where) {}
  sleep_wait(duration d, const std::source_location& where) noexcept
      : sleep_wait(detail::sleep_end{.after = d}, where) {}
  sleep_wait(sleep_wait&& unstarted) noexcept : sleep_wait(unstarted.end_, unstarted.where()) {}
  ~sleep_wait();

  bool await_ready() const noexcept { return false; }
  bool await_suspend(std::coroutine_handle<> h);
  void await_resume() {
    if (const auto [ec] = await_tuple(); ec) throw failed(ec);
  }
  operation_result<void> await_tuple() const noexcept;

  [[nodiscard]] const detail::sleep_end& end() const noexcept { return end_; }

 private:
  sleep_wait(const detail::sleep_end& end, const std::source_location& where) noexcept
      : wait_operation(sleep_kind, where), end_(end), alarm_(*this) {}

  [[nodiscard, gnu::cold]] static failure failed(std::error_code ec);
  static void cancel(wait_operation& w) noexcept;
  static void describe(const wait_operation& w, std::ostream& out);
  static const kind sleep_kind;
  friend std::string detail::to_text(const timer& t);

  struct alarm : timer {
    explicit alarm(sleep_wait& w) noexcept;
    static void expired(timer& t) noexcept;
    sleep_wait& owner;
  };

  detail::sleep_end end_;
  bool cancelled_ = false;
  alarm alarm_;
};

/// Waits for a time span on the scheduler's clock, which is virtual in a simulation.
///
/// Errors:       cancelled, if the task was asked to stop before or during the wait.
/// Cancellation: total.
/// Cost:         O(log n) in the number of timers set; no allocation in steady state.
[[nodiscard]] inline sleep_wait sleep_for(
    time_span d, std::source_location where = std::source_location::current()) noexcept {
  return {d < duration::zero() ? duration::zero() : d, where};
}

/// Waits until a point in time; a point in the past adds no delay. See sleep_for().
[[nodiscard]] inline sleep_wait sleep_until(
    time_point t, std::source_location where = std::source_location::current()) noexcept {
  return {t, where};
}
/// Overload for a point in time of another unit.
template <class Duration>
  requires std::convertible_to<Duration, duration>
[[nodiscard]] sleep_wait sleep_until(
    std::chrono::time_point<std::chrono::steady_clock, Duration> t,
    std::source_location where = std::source_location::current()) noexcept {
  return {saturated(t), where};
}

}  // namespace LEAT
