#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include <leat/base/clock.hpp>
#include <leat/pipeline/metrics/stage_metrics.hpp>

#include "input/corruption_count.hpp"
#include "plan/pipeline_plan.hpp"
#include "program.hpp"

namespace tool {

/// The result of a pipeline run.
struct run_report {
  struct stage {
    std::string name;
    std::uint64_t records = 0;
    std::uint64_t bytes = 0;
    std::uint64_t left_over = 0;  ///< bytes at the ends of files that are no whole record
    std::uint64_t tasks = 0;
    double busy = 0;  ///< shares of the time of its tasks, from 0 to 1
    double waited_for_input = 0;
    double waited_for_room = 0;
  };
  std::uint64_t elements = 0;  ///< batches, or records where there are none
  std::uint64_t records = 0;
  std::uint64_t dropped = 0;
  corruption_count lost;
  std::vector<std::string> outputs;
  double seconds = 0;
  std::vector<stage> stages;
  std::string verdict;

  /// Adds the metrics of the stages and the description of the bottleneck.
  void add_stages(std::span<const leat::stage_metrics* const> of, leat::duration elapsed);
};

/// The counts on standard output, or all of it with --json; and on standard error one line that
/// says how it went, with `verbose` another one for each stage.
void print_report(const run_report& r, const pipeline_plan& plan, bool verbose, program& p);

/// What a plan comes to: its stages and what each of them gives.
void print_plan(const pipeline_plan& plan, std::size_t threads, program& p);

}  // namespace tool
