#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>

#include "leat/base/clock.hpp"

namespace LEAT::sim {

class virtual_scheduler;

/// A part of the environment of a simulated program, such as its file system: it sets services on
/// the simulated threads, and its operations complete in steps that the world chooses.
///
/// The world calls all members on its own thread and outside the program.
class world_part {
 public:
  world_part() = default;
  world_part(const world_part&) = delete;
  world_part& operator=(const world_part&) = delete;

  /// Returns the word for this part in the schedule, such as "files".
  [[nodiscard]] virtual std::string_view part_name() const noexcept = 0;

  /// Sets the services of a simulated thread. Called once for each thread.
  virtual void install(virtual_scheduler& thread) = 0;

  /// Sets the virtual time and the time of day. Called when one of them has changed.
  virtual void set_time(time_point now, wall_time_point wall) noexcept;

  /// Returns when the next operation completes, or no_deadline if none is in flight.
  [[nodiscard]] virtual time_point next_completion() const noexcept { return no_deadline; }

  /// Returns the number of operations that may complete by `now`.
  [[nodiscard]] virtual std::size_t due(time_point now) const noexcept;

  /// Completes one of these operations, counted from the earliest, and returns its description.
  virtual std::string complete(std::size_t index);

  /// Returns the faults, since the last call, of operations that completed immediately, or an empty
  /// string if there were none.
  [[nodiscard]] virtual std::string take_fault_text() noexcept { return {}; }

  /// Returns whether next_completion() and due() may have other results than before, as far as the
  /// part reports that.
  [[nodiscard]] bool take_changed() noexcept {
    return !reports_changes_ || std::exchange(changed_, false);
  }

 protected:
  ~world_part() = default;

  /// For a part in which rarely anything happens: the world asks for next_completion() and due()
  /// only when the time has moved, and after each call of this function.
  void report_change() noexcept { reports_changes_ = changed_ = true; }

 private:
  bool reports_changes_ = false;
  bool changed_ = true;
};

}  // namespace LEAT::sim
