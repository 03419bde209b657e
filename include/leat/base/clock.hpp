#pragma once

#include <chrono>
#include <concepts>
#include <ratio>

#include "leat/base/flavour.hpp"

namespace LEAT {

/// A point in time of a scheduler's clock, which is monotonic, and virtual in a simulation.
///
/// There is no static now(): the library reads clocks only through a scheduler, so that a program
/// can run as a pure function of a seed.
using time_point = std::chrono::steady_clock::time_point;
/// A length of time, in the unit of time_point.
using duration = std::chrono::steady_clock::duration;

/// A time of day for people and other programs, such as the time of a checkpoint. It jumps when the
/// system clock is set, so the library never measures time with it.
using wall_time_point = std::chrono::system_clock::time_point;

/// The deadline that never passes: "without limit".
inline constexpr time_point no_deadline = time_point::max();

/// Returns `d` in nanoseconds. If `d` is out of range, as seconds::max() is, returns
/// duration::max() or duration::min().
template <class Rep, class Period>
  requires std::convertible_to<std::chrono::duration<Rep, Period>, duration>
[[nodiscard]] constexpr duration saturated(std::chrono::duration<Rep, Period> d) noexcept {
  const std::chrono::duration<double, std::nano> wide = d;
  if (wide >= duration::max()) return duration::max();
  return wide <= duration::min() ? duration::min() : duration(d);
}

/// Returns `t` in nanoseconds. If `t` is out of range, returns no_deadline or time_point::min().
template <class Duration>
  requires std::convertible_to<Duration, duration>
[[nodiscard]] constexpr time_point saturated(
    std::chrono::time_point<std::chrono::steady_clock, Duration> t) noexcept {
  return time_point(saturated(t.time_since_epoch()));
}

/// A duration that converts from any unit and saturates if it is out of range in nanoseconds.
///
/// It is the type of every limit and interval in the API. Calculations with it return a `duration`.
struct time_span : duration {
  constexpr time_span() noexcept : duration(duration::zero()) {}
  template <class Rep, class Period>
    requires std::convertible_to<std::chrono::duration<Rep, Period>, leat::duration>
  constexpr time_span(std::chrono::duration<Rep, Period> d) noexcept : duration(saturated(d)) {}
};

/// Returns `now + d`, or no_deadline if the sum would exceed the range of the clock.
[[nodiscard]] constexpr time_point deadline_after(time_point now, duration d) noexcept {
  return d >= no_deadline - now ? no_deadline : now + d;
}

}  // namespace LEAT
