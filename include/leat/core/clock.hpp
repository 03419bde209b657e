#pragma once

#include <chrono>

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

/// `now + d`, without overflow: a duration too long for the clock gives no_deadline.
[[nodiscard]] constexpr time_point deadline_after(time_point now, duration d) noexcept {
  return d >= no_deadline - now ? no_deadline : now + d;
}

}  // namespace leat
