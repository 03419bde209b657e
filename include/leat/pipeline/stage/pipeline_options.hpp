#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "leat/async/loop/runtime.hpp"
#include "leat/async/scheduler.hpp"
#include "leat/base/braced.hpp"
#include "leat/base/clock.hpp"

namespace leat {

/// The order in which a pipeline delivers the elements of several workers.
enum class ordering {
  /// Input order, for any number of workers. A finished element waits for all earlier ones.
  deterministic,
  /// The order in which elements are finished: none waits for a slower one.
  free
};

/// How a pipeline runs.
struct pipeline_options {
  braced<std::string> name = "pipeline";  ///< for messages, reports and dumps
  ordering order = ordering::deterministic;
  /// Where the workers of its stages run, dealt out in turn over all stages; none: on the
  /// consumer's scheduler. They outlive the pipeline.
  braced<std::vector<scheduler*>> workers = {};
  /// How long the consumer waits for an element before next() fails with deadline_exceeded, and
  /// names the stage for which all wait: one that nobody feeds, or whose input does not come. It
  /// may take twice as long until that is noticed. A function that does not return cannot be ended,
  /// and the pipeline still waits for it; dump() shows it. None: no limit, except 60 s for a
  /// producer that was never started; see read_queue().
  ///
  /// A pipeline with a limit has a hidden prefetch stage at its end: a task of the pipeline calls
  /// the last stage, and reads one block ahead, so that next() can fail while that task still
  /// waits. The stage is in no report or metric.
  std::optional<time_span> patience = {};
  /// Bytes that the stages may hold together: readers, shuffle buffers, and all blocks of elements
  /// on their way to the consumer. Stages run ahead only as far as the budget allows, by at least
  /// one block each, which does not change the order. What a function makes is taken to be as large
  /// as the largest that it has made before: who grows suddenly is above it for once, by as much
  /// for each worker. A pipeline that cannot do with it is refused, when it is declared or as soon
  /// as the sizes of its records tell, with resource_exhausted and the sum. What the consumer has
  /// got is its own. None: as much as follows from the other options.
  std::optional<std::size_t> memory_budget = {};
};

/// All schedulers of a runtime, for pipeline_options::workers.
[[nodiscard]] std::vector<scheduler*> schedulers_of(const runtime& rt);

}  // namespace leat
