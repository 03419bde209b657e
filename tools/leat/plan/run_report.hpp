#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include <leat/base/clock.hpp>
#include <leat/pipeline/metrics/stage_metrics.hpp>

#include "input/corruption_count.hpp"
#include "plan/declared_plan.hpp"
#include "program.hpp"

namespace tool {

/// The result of a pipeline run.
struct run_report {
  struct stage {
    std::string name;
    std::uint64_t records = 0;
    std::uint64_t bytes = 0;
    std::uint64_t left_over = 0;  ///< bytes of incomplete records at the ends of files
    std::uint64_t tasks = 0;
    double busy = 0;  ///< shares of the time of its tasks, from 0 to 1
    double waited_for_input = 0;
    double waited_for_room = 0;
  };
  std::uint64_t elements = 0;  ///< batches, or records if there are no batches
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

/// Prints the counts on standard output, or the whole report with --json. Prints a summary on
/// standard error, and with `verbose` also a line for each stage.
void print_report(const run_report& r, const declared_plan& plan, bool verbose, program& p);

/// Prints the stages of a plan and the kind of the output of each stage.
void print_plan(const declared_plan& plan, std::size_t threads, program& p);

}  // namespace tool
