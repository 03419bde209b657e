#pragma once

#include <cstddef>
#include <string>
#include <utility>

#include "leat/base/error.hpp"

namespace LEAT {

/// An error of a pipeline_plan. It names the part of the plan and its option, so that a program can
/// print the place where it has read them.
class plan_error : public failure {
 public:
  /// `part` and `option`: see below.
  plan_error(std::size_t part, std::string option, const std::string& message,
             std::error_code code = make_error_code(errc::invalid_argument))
      : failure(code, message), part_(part), option_(std::move(option)) {}

  /// Returns the number of the stage, from 1, or 0 for the source and the options of the pipeline.
  /// If a stage is missing, it is the number of the stage before it.
  [[nodiscard]] std::size_t part() const noexcept { return part_; }
  /// Returns the name of the option of that part; empty if the error is not in a single option.
  [[nodiscard]] const std::string& option() const noexcept { return option_; }

 private:
  std::size_t part_;
  std::string option_;
};

}  // namespace LEAT
