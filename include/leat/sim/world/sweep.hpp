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

/// A seed under which a program fails. what() tells the seed, the failure, how to run it again and
/// the shortest schedule found that fails in the same way, of a long one the first and the last
/// thousand lines; or that with the same decisions it does not fail so again.
class seed_failed : public std::runtime_error {
 public:
  seed_failed(std::uint64_t seed, std::vector<std::uint32_t> script, const std::string& text)
      : std::runtime_error(text), seed_(seed), script_(std::move(script)) {}

  [[nodiscard]] std::uint64_t seed() const noexcept { return seed_; }

  /// The decisions of the shortest failing run: `world(e.script(), e.seed(), options)` makes it
  /// again, with the options of the sweep's worlds.
  [[nodiscard]] const std::vector<std::uint32_t>& script() const noexcept { return script_; }

 private:
  std::uint64_t seed_;
  std::vector<std::uint32_t> script_;
};

/// Which seeds a sweep tries.
struct sweep_options {
  std::uint64_t first = 1;
  std::uint64_t count = 1000;
  world_options world = {};
  std::size_t shrink_runs = 2000;  ///< runs to spend on a short schedule; 0: none
  /// Runs each seed again and fails where that is another run: the program depends on what is not
  /// the world's. Twice the time.
  bool check_repeatable = false;
  /// The command line that calls this program, for the message; empty: LEAT_SIM_SEED=n.
  braced<std::string> replay = {};
};

/// What a sweep has seen.
struct sweep_result {
  std::uint64_t seeds = 0;
  std::uint64_t steps = 0;
  duration virtual_time{};
};

/// Runs a program under one seed after the other, each in a world of its own.
///
/// With LEAT_SIM_SEED=n in the environment it runs seed n alone and prints the whole schedule to
/// standard error, each line before its step: of a run that ends the process the last one says
/// where. Under a debugger, too, the same seed is the same run, step for step.
///
/// Errors: seed_failed, for the first seed with a run that throws, or that is not repeatable where
///         that is looked at; std::invalid_argument where LEAT_SIM_SEED is no number.
sweep_result sweep(const world::body& b, const sweep_options& options = {});

/// Returns the shortest list of decisions found with which `b` fails as it does with `script`:
/// decisions that do not matter become plain ones. Two failures are alike if they are exceptions of
/// the same type, and for an invariant_violation also of the same invariant. Returns `script`
/// itself if it does not fail.
/// Cost: at most `max_runs` runs, and none begins behind 20 million steps.
[[nodiscard]] std::vector<std::uint32_t> shrink(const world::body& b, std::uint64_t seed,
                                                std::vector<std::uint32_t> script,
                                                const world_options& options, std::size_t max_runs);

}  // namespace leat::sim
