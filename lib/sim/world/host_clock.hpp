#pragma once

#include <chrono>
#include <cstdint>

#include "leat/base/clock.hpp"

namespace LEAT::sim {

/// The steady clock of a host, as a function of the time of the world. It may run faster or slower
/// by some parts per million, and it never goes back.
class host_clock {
 public:
  /// Returns the time of the host at the time `world`.
  [[nodiscard]] time_point at(time_point world) const noexcept {
    return base_ + scaled(world - since_);
  }
  /// Returns the first time of the world at which the host's time is `host`, or no_deadline.
  [[nodiscard]] time_point world_time_of(time_point host) const noexcept {
    if (host == no_deadline || ppm_ == 0)
      return host == no_deadline ? host : since_ + (host - base_);
    const duration left = host - base_;
    time_point t = since_ + std::chrono::duration_cast<duration>(left / (1 + ppm_ * 1e-6));
    while (at(t) < host) t += duration(1);
    return t;
  }
  /// Changes the rate at the time `world`.
  void set_drift(time_point world, double ppm) noexcept {
    base_ = at(world);
    since_ = world;
    ppm_ = ppm;
  }
  /// Restarts the clock at the time `world`, with the value `host`.
  void restart(time_point world, time_point host) noexcept {
    base_ = host;
    since_ = world;
  }

 private:
  [[nodiscard]] duration scaled(duration d) const noexcept {
    if (ppm_ == 0) return d;
    return d + std::chrono::duration_cast<duration>(d * (ppm_ * 1e-6));
  }

  time_point since_{};  // of the world, at which the host's time was `base_`
  time_point base_{};
  double ppm_ = 0;
};

}  // namespace LEAT::sim
