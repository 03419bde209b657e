#pragma once

#include <string>
#include <utility>
#include <vector>

#include "leat/pipeline/plan/pipeline_plan.hpp"

namespace leat_test {

inline leat::pipeline_plan plan_of(leat::plan_source source, std::vector<leat::plan_stage> stages) {
  leat::pipeline_plan plan;
  plan.source = std::move(source);
  plan.stages = std::move(stages);
  return plan;
}

}  // namespace leat_test
