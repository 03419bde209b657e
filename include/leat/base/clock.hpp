#pragma once

#include <chrono>
#include <concepts>
#include <ratio>

namespace leat {

/// Time as schedulers tell it: monotonic, and virtual in a simulation.
///
/// There is no static now(): nothing in the library reads a clock except through its scheduler, so
/// that a program can run as a pure function of a seed.
using time_point = std::chrono::steady_clock::time_point;
using duration = std::chrono::steady_clock::duration;

/// The time of day, for what people and other programs read, such as the time of a checkpoint. It
/// jumps when somebody sets the clock: nothing is timed by it.
using wall_time_point = std::chrono::system_clock::time_point;

/// A point in time that never comes: "without limit".
inline constexpr time_point no_deadline = time_point::max();

/// A time span in nanoseconds. One that they cannot tell, such as seconds::max(), becomes the
/// longest that they can, or the shortest.
template <class Rep, class Period>
  requires std::convertible_to<std::chrono::duration<Rep, Period>, duration>
[[nodiscard]] constexpr duration saturated(std::chrono::duration<Rep, Period> d) noexcept {
  const std::chrono::duration<double, std::nano> wide = d;
  if (wide >= duration::max()) return duration::max();
  return wide <= duration::min() ? duration::min() : duration(d);
}

/// The same of a point in time: one beyond the clock becomes no_deadline, or the first there is.
template <class Duration>
  requires std::convertible_to<Duration, duration>
[[nodiscard]] constexpr time_point saturated(
    std::chrono::time_point<std::chrono::steady_clock, Duration> t) noexcept {
  return time_point(saturated(t.time_since_epoch()));
}

/// A time span as one gives it: in any unit, and without end where nanoseconds cannot tell it.
///
/// The type of every limit and interval that is taken from outside: what is computed with it is a
/// `duration`.
struct time_span : duration {
  constexpr time_span() noexcept : duration(duration::zero()) {}
  template <class Rep, class Period>
    requires std::convertible_to<std::chrono::duration<Rep, Period>, leat::duration>
  constexpr time_span(std::chrono::duration<Rep, Period> d) noexcept : duration(saturated(d)) {}
};

/// `now + d`, without overflow: a duration too long for the clock gives no_deadline.
[[nodiscard]] constexpr time_point deadline_after(time_point now, duration d) noexcept {
  return d >= no_deadline - now ? no_deadline : now + d;
}

}  // namespace leat
