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

/// Where the elements of a pipeline go. What it writes has its name when it is closed, as that of a
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
  /// The files that there are once it is closed.
  [[nodiscard]] virtual std::vector<std::string> paths() const { return {}; }
};

/// Opens what a plan says. Nothing for one that counts.
/// Errors: usage_error for a file that is read too; leat::failure.
[[nodiscard]] leat::task<std::unique_ptr<batch_sink>> open_batch_sink(const pipeline_plan& plan,
                                                                      program& p);

}  // namespace tool
