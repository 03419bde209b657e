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

namespace LEAT::sim {

/// The error of a sweep: a seed under which the program fails.
///
/// what() contains the seed, the failure, how to run the seed again, and the shortest schedule
/// found that fails in the same way, with its message if that differs. Of a long schedule it
/// contains the first and the last thousand lines. If the same decisions do not lead to the same
/// failure, what() reports this.
class seed_failed : public std::runtime_error {
 public:
  seed_failed(std::uint64_t seed, std::vector<std::uint32_t> script, const std::string& text,
              std::uint64_t failures = 1)
      : std::runtime_error(text), seed_(seed), script_(std::move(script)), failures_(failures) {}

  /// Returns the first seed under which the program fails.
  [[nodiscard]] std::uint64_t seed() const noexcept { return seed_; }

  /// Returns the decisions of the shortest failing run. To repeat that run, create
  /// `world(e.script(), e.seed(), options)` with the options of the sweep's worlds.
  [[nodiscard]] const std::vector<std::uint32_t>& script() const noexcept { return script_; }

  /// Returns the number of runs that failed: 1 unless sweep_options::count_failures is set.
  [[nodiscard]] std::uint64_t failures() const noexcept { return failures_; }

 private:
  std::uint64_t seed_;
  std::vector<std::uint32_t> script_;
  std::uint64_t failures_;
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
  /// Whether to run all seeds even if some fail. The message of the error then begins with the
  /// number of failures, by message.
  bool count_failures = false;
  /// The command line that runs this program, for the message. If empty, the message contains only
  /// LEAT_SIM_SEED=n.
  option_string replay = {};
};

/// The totals of a sweep.
struct sweep_result {
  /// Number of seeds that were run. The default schedule does not count.
  std::uint64_t seeds = 0;
  /// Number of steps of all runs together; see world::steps().
  std::uint64_t steps = 0;
  /// Virtual time of all runs together.
  duration virtual_time{};
};

/// Runs a program with the default schedule, in which every decision is option 0, and then under
/// one seed after another. Each run has a world of its own. The default schedule uses the random
/// numbers of the first seed.
///
/// Two variables of the environment replay one run instead:
///
/// - LEAT_SIM_SEED=n runs seed n.
/// - LEAT_SIM_DECISIONS runs the decisions that a report shows: `default`, or `17:1,40:3` for
///   option 1 at decision 17 and option 3 at decision 40, counted from 0. LEAT_SIM_SEED, or else
///   the first seed, determines the random numbers of the program.
///
/// The whole schedule of this run is printed to standard error. Each line is printed before its
/// step, so if the run terminates the process, the last line shows the step. Under a debugger as
/// well, the run is the same, step by step.
///
/// Errors: seed_failed for the first run that throws or, with check_repeatable, is not repeatable;
///         std::invalid_argument if one of the variables has another form.
sweep_result sweep(const world::body& b, const sweep_options& options = {});

/// Returns the shortest list of decisions found with which `b` fails in the same way as with
/// `script`, or `script` itself if `b` does not fail with it.
///
/// Decisions that do not matter become option 0. A failure is the same if it is an exception of
/// the same type whose message has only lines of the original message, digits aside. Exceptions:
///
/// - Of a deadlock, only the lines that name a source location are compared, so a deadlock of fewer
///   tasks is the same.
/// - Of a step_limit_exceeded, only the type is compared.
///
/// Cost: at most `max_runs` runs. No run starts after 20 million steps in total.
[[nodiscard]] std::vector<std::uint32_t> shrink(const world::body& b, std::uint64_t seed,
                                                std::vector<std::uint32_t> script,
                                                const world_options& options, std::size_t max_runs);

}  // namespace LEAT::sim
