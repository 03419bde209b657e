#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <optional>

#include "leat/sim/allocation_faults.hpp"
#include "leat/sim/file_system/file_system.hpp"
#include "leat/sim/network/network_options.hpp"

namespace LEAT::sim {

/// Options for the lines of a schedule: how many are kept, and where they are written.
struct trace_options {
  /// The number of lines that are kept from the beginning. At least as many are kept from the end.
  /// Other lines are only counted.
  std::size_t ends = SIZE_MAX;
  /// The file to which each line is also written before its step runs, so that it is visible
  /// whatever the step does. Facts that are known only after the step, such as a pre-emption, are
  /// written on a line of their own. If null, no file is written.
  std::FILE* to = nullptr;
};

/// Options of a world.
struct world_options {
  std::size_t threads = 1;         ///< simulated threads, each with a scheduler
  file_system_options files = {};  ///< size and faults of the file system
  network_options network = {};    ///< latency and faults of the network
  memory_options memory = {};      ///< allocations of the program that fail
  /// The probability for each step that a simulated thread is pre-empted at a lock, between two
  /// suspension points, while others run. Applies only if there are several threads.
  double preemption = 0.1;
  /// The probability, each time that time moves, that the wall clock is set forward or back by up
  /// to an hour. Timers are not affected.
  double wall_jump = 0;
  /// The number, counted from 1, of one move of time at which the wall clock is set in addition;
  /// see world::time_advances().
  std::optional<std::uint64_t> wall_jump_plan = {};
  std::uint64_t max_steps = 5'000'000;  ///< a longer run throws step_limit_exceeded
};

}  // namespace LEAT::sim
