#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include <leat/async/task.hpp>
#include <leat/pipeline/plan/planned_batch.hpp>

#include "plan/declared_plan.hpp"
#include "program.hpp"

namespace tool {

/// Writes the elements of a pipeline. Its files appear under their names after close(), as for a
/// record_sink.
class batch_sink {
 public:
  batch_sink() = default;
  batch_sink(const batch_sink&) = delete;
  batch_sink& operator=(const batch_sink&) = delete;
  virtual ~batch_sink() = default;

  /// Writes the first `count` records of a batch, or all columns.
  [[nodiscard]] virtual leat::task<> take(const leat::planned_batch& batch, std::size_t count) = 0;
  /// Shows the elements so far, if standard output is a terminal. A pipe receives them in large
  /// pieces.
  [[nodiscard]] virtual leat::task<> show() { co_return; }
  [[nodiscard]] virtual leat::task<> close() = 0;
  /// Returns the files that exist after close().
  [[nodiscard]] virtual std::vector<std::string> paths() const { return {}; }
};

/// Rejects an output path that is also an input, and a quarantine file that is also an input or an
/// output. `declaration`: the path of the file that declares the plan, which is an input too.
/// Errors: usage_error; those of match_files().
[[nodiscard]] leat::task<> reject_own_input(const declared_plan& plan, std::string declaration);

/// Opens the sink of a plan. Returns null for a plan that only counts.
/// Errors: usage_error for options that contradict each other; leat::failure.
[[nodiscard]] leat::task<std::unique_ptr<batch_sink>> open_batch_sink(const declared_plan& plan,
                                                                      program& p);

}  // namespace tool
