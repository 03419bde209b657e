#pragma once

#include <cstddef>
#include <cstdint>
#include <exception>
#include <stdexcept>
#include <string>
#include <vector>

#include "leat/base/braced.hpp"
#include "leat/base/clock.hpp"
#include "leat/sim/world/world.hpp"

namespace leat::sim {

/// The error of a sweep: a seed under which the program fails.
///
/// what() contains the seed, the failure, how to run the seed again, and the shortest schedule
/// found that fails in the same way. Of a long schedule it contains the first and the last thousand
/// lines. If the same decisions do not lead to the same failure, what() reports this.
class seed_failed : public std::runtime_error {
 public:
  seed_failed(std::uint64_t seed, std::vector<std::uint32_t> script, const std::string& text)
      : std::runtime_error(text), seed_(seed), script_(std::move(script)) {}

  /// Returns the seed under which the program fails.
  [[nodiscard]] std::uint64_t seed() const noexcept { return seed_; }

  /// Returns the decisions of the shortest failing run. To repeat that run, create
  /// `world(e.script(), e.seed(), options)` with the options of the sweep's worlds.
  [[nodiscard]] const std::vector<std::uint32_t>& script() const noexcept { return script_; }

 private:
  std::uint64_t seed_;
  std::vector<std::uint32_t> script_;
};

/// Options of a sweep: the seeds that it runs, and its work on a failing seed.
struct sweep_options {
  std::uint64_t first = 1;     ///< the first seed
  std::uint64_t count = 1000;  ///< number of consecutive seeds
  /// Options of the world of each seed.
  world_options world = {};
  std::size_t shrink_runs = 2000;  ///< at most, to shorten a schedule; 0: never shortened
  /// Whether to run each seed twice and to fail if the two runs differ. In that case the program
  /// depends on something outside of the world. A sweep then takes twice the time.
  bool check_repeatable = false;
  /// The command line that runs this program, for the message. If empty, the message contains only
  /// LEAT_SIM_SEED=n.
  braced<std::string> replay = {};
};

/// The totals of a sweep.
struct sweep_result {
  /// Number of seeds that were run.
  std::uint64_t seeds = 0;
  /// Number of steps of all runs together; see world::steps().
  std::uint64_t steps = 0;
  /// Virtual time of all runs together.
  duration virtual_time{};
};

/// Runs a program under one seed after another, each in a world of its own.
///
/// With LEAT_SIM_SEED=n in the environment, it runs only seed n and prints the whole schedule to
/// standard error. Each line is printed before its step, so if the run terminates the process, the
/// last line shows the step. Under a debugger as well, the same seed leads to the same run, step by
/// step.
///
/// Errors: seed_failed for the first seed whose run throws or, with check_repeatable, is not
///         repeatable; std::invalid_argument if LEAT_SIM_SEED is not a number.
sweep_result sweep(const world::body& b, const sweep_options& options = {});

/// Returns the shortest list of decisions found with which `b` fails in the same way as with
/// `script`, or `script` itself if `b` does not fail with it.
///
/// Decisions that do not matter become option 0. Two failures are the same if they are exceptions
/// of the same type and, for an invariant_violation, of the same invariant.
///
/// Cost: at most `max_runs` runs. No run starts after 20 million steps in total.
[[nodiscard]] std::vector<std::uint32_t> shrink(const world::body& b, std::uint64_t seed,
                                                std::vector<std::uint32_t> script,
                                                const world_options& options, std::size_t max_runs);

}  // namespace leat::sim
