#pragma once

#include <chrono>
#include <concepts>
#include <stop_token>
#include <utility>

#include "leat/base/clock.hpp"

namespace LEAT {

/// A limit on how long an operation blocks an OS thread: a stop token, a deadline, or both.
///
/// A task uses with_stop(), with_deadline() and with_timeout() instead.
///
///     auto item = leat::block_on(queue.pop(), stop);           // a std::stop_token
///     auto item = leat::block_on(queue.pop(), 10ms);           // from now on
///     auto item = leat::block_on(queue.pop(), {stop, until});  // whichever comes first
///
/// A time span counts from the construction of the limit, on the steady clock. A limit that is used
/// for several operations therefore limits their total time.
class wait_limit {
 public:
  /// No limit.
  wait_limit() = default;
  wait_limit(std::stop_token stop) noexcept : stop_(std::move(stop)) {}
  wait_limit(time_point deadline) noexcept : deadline_(deadline) {}
  wait_limit(std::stop_token stop, time_point deadline) noexcept
      : stop_(std::move(stop)), deadline_(deadline) {}
  template <class Duration>
    requires std::convertible_to<Duration, duration>
  wait_limit(std::chrono::time_point<std::chrono::steady_clock, Duration> deadline) noexcept
      : deadline_(saturated(deadline)) {}
  template <class Duration>
    requires std::convertible_to<Duration, duration>
  wait_limit(std::stop_token stop,
             std::chrono::time_point<std::chrono::steady_clock, Duration> deadline) noexcept
      : stop_(std::move(stop)), deadline_(saturated(deadline)) {}
  /// Limits the time to a span that starts now.
  template <class Rep, class Period>
    requires std::convertible_to<std::chrono::duration<Rep, Period>, duration>
  wait_limit(std::chrono::duration<Rep, Period> limit) noexcept : deadline_(from_now(limit)) {}
  template <class Rep, class Period>
    requires std::convertible_to<std::chrono::duration<Rep, Period>, duration>
  wait_limit(std::stop_token stop, std::chrono::duration<Rep, Period> limit) noexcept
      : stop_(std::move(stop)), deadline_(from_now(limit)) {}

  /// Returns the stop token, which has no state if no stop can be requested.
  [[nodiscard]] const std::stop_token& stop() const noexcept { return stop_; }
  /// Returns the deadline, or no_deadline if there is none.
  [[nodiscard]] time_point deadline() const noexcept { return deadline_; }
  /// Returns true if the limit cannot end an operation.
  [[nodiscard]] bool is_unlimited() const noexcept {
    return deadline_ == no_deadline && !stop_.stop_possible();
  }

 private:
  static time_point from_now(time_span limit) noexcept {
    return deadline_after(std::chrono::steady_clock::now(), limit);
  }

  std::stop_token stop_{};
  time_point deadline_ = no_deadline;
};

}  // namespace LEAT
