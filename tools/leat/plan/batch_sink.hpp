#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include <leat/async/task.hpp>
#include <leat/base/bytes.hpp>

#include "plan/pipeline_plan.hpp"
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

  [[nodiscard]] virtual leat::task<> take(std::span<const leat::byte_view> records) = 0;
  [[nodiscard]] virtual leat::task<> take(const column_output& batch) = 0;
  [[nodiscard]] virtual leat::task<> close() = 0;
  /// Returns the files that exist after close().
  [[nodiscard]] virtual std::vector<std::string> paths() const { return {}; }
};

/// Opens the sink of a plan. Returns null for a plan that only counts.
/// Errors: usage_error for an output path that is also an input; leat::failure.
[[nodiscard]] leat::task<std::unique_ptr<batch_sink>> open_batch_sink(const pipeline_plan& plan,
                                                                      program& p);

}  // namespace tool
