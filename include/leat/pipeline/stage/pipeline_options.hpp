#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "leat/async/loop/runtime.hpp"
#include "leat/async/scheduler/scheduler.hpp"
#include "leat/base/braced.hpp"
#include "leat/base/clock.hpp"

namespace LEAT {

/// The order in which a pipeline delivers the elements of several workers.
enum class ordering {
  /// Input order, for any number of workers. A finished element waits for all earlier ones.
  deterministic,
  /// The order in which elements are finished. No element waits for a slower one.
  free
};

/// Options of a pipeline.
struct pipeline_options {
  option_string name = "pipeline";  ///< the name in messages, reports and dumps
  /// Order of the elements: the input order (`deterministic`), or as they are finished (`free`).
  ordering order = ordering::deterministic;
  /// Schedulers on which the workers of all stages run, assigned in turn. If empty, the workers run
  /// on the consumer's scheduler. The schedulers must outlive the pipeline.
  option_list<scheduler*> workers = {};
  /// The time that the consumer waits for an element before next() fails with deadline_exceeded.
  /// The message names the stage for which all others wait, because nothing feeds it or its input
  /// does not arrive. The error may come after up to twice this time. A function that does not
  /// return cannot be stopped: the pipeline still waits for it, and dump() shows it. If not set,
  /// there is no limit, except for a producer that was never started; see read_queue().
  ///
  /// A pipeline with a limit has a hidden prefetch stage at its end: a task of the pipeline calls
  /// the last stage, and reads one block ahead, so that next() can fail while that task still
  /// waits. No report or metric contains this stage.
  std::optional<time_span> patience = {};
  /// The number of bytes that all stages together may hold: readers, shuffle buffers, and blocks of
  /// elements on their way to the consumer. Stages run ahead only as far as the budget allows, but
  /// at least by one block each. The budget does not change the order. A result of a function is
  /// expected to be as large as the largest one before it. If results grow suddenly, the stages
  /// exceed the budget once, by the growth for each worker. Elements that the consumer has received
  /// do not count. If not set, the other options determine the memory.
  ///
  /// If the budget is too small, the pipeline fails with resource_exhausted and the required sum:
  /// when it is declared, or as soon as the sizes of its records are known.
  std::optional<std::size_t> memory_budget = {};
};

/// Returns all schedulers of a runtime, for pipeline_options::workers.
[[nodiscard]] std::vector<scheduler*> schedulers_of(const runtime& rt);

}  // namespace LEAT
