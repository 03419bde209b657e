#pragma once

#include <vector>

#include "leat/pipeline/plan/build_pipeline.hpp"

namespace LEAT::detail {

/// Returns the contradictions between the stages of a plan, and what decoders reject.
[[nodiscard]] std::vector<plan_error> check_stages(const pipeline_plan& plan);

/// Builds the pipeline of a plan whose stages fit. Errors: plan_error for what read_files(),
/// read_indexed() and the functions of pipeline reject.
[[nodiscard]] planned_pipeline join_stages(const pipeline_plan& plan);

}  // namespace LEAT::detail
