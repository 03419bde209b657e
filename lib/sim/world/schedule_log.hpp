#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "leat/base/clock.hpp"
#include "leat/sim/world/world_options.hpp"

namespace LEAT::sim {

/// The lines of the schedule of a world.
///
/// Thread safety: none.
class schedule_log {
 public:
  void start(const trace_options& options);
  [[nodiscard]] bool is_started() const noexcept { return started_; }
  [[nodiscard]] const std::vector<std::string>& lines() const noexcept { return lines_; }
  /// Returns the number of lines so far, also of those that were left out.
  [[nodiscard]] std::uint64_t count() const noexcept { return count_; }

  void add(std::uint64_t step, time_point now, const std::string& where, const std::string& what);
  /// Adds text that is known only after a step: to the line of the step, if that is the last one.
  /// `line`: count() after the line of the step.
  void append(std::uint64_t step, time_point now, const std::string& where, const std::string& what,
              std::uint64_t line);

 private:
  bool started_ = false;
  trace_options options_;
  std::vector<std::string> lines_;
  std::uint64_t count_ = 0;
  std::uint64_t left_out_ = 0;  // lines between the ends of the schedule
};

}  // namespace LEAT::sim
