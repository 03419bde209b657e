#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "leat/core/runtime.hpp"
#include "leat/core/scheduler.hpp"

namespace leat {

/// The order in which a pipeline gives out what several workers have made.
enum class ordering {
  /// That of the input, whatever the number of workers. What is ready waits for what comes before.
  deterministic,
  /// As it gets ready: nobody waits for the slowest.
  free
};

/// How a pipeline runs.
struct pipeline_options {
  std::string name = "pipeline";  ///< for messages, reports and dumps
  ordering order = ordering::deterministic;
  /// Where the workers of its stages run, one after the other; none: on the consumer's scheduler.
  /// They outlive the pipeline.
  std::vector<scheduler*> workers = {};
};

/// All schedulers of a runtime, for pipeline_options::workers.
[[nodiscard]] std::vector<scheduler*> schedulers_of(const runtime& rt);

}  // namespace leat
