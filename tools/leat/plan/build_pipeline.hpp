#pragma once

#include <cstddef>
#include <memory>
#include <variant>
#include <vector>

#include <leat/io/index/record_selection.hpp>
#include <leat/io/reader/record_batch.hpp>
#include <leat/pipeline/element/owned_batch.hpp>
#include <leat/pipeline/pipeline.hpp>

#include "input/corruption_count.hpp"
#include "plan/pipeline_plan.hpp"

namespace tool {

/// A complete pipeline: its elements are batches of records, of lines or of columns.
using batched_pipeline = std::variant<leat::pipeline<std::vector<leat::owned_record_batch>>,
                                      leat::pipeline<std::vector<leat::owned_line_batch>>,
                                      leat::pipeline<std::vector<column_output>>>;

/// Creates the pipeline of a plan.
///
/// `on_report` is called for skipped damage, which is also written to `log` if that is not null.
///
/// Errors: a toml_error if the library rejects a part of the plan.
[[nodiscard]] batched_pipeline build_pipeline(const pipeline_plan& plan,
                                              std::vector<leat::scheduler*> workers,
                                              const report_function& on_report,
                                              const std::shared_ptr<leat::quarantine_log>& log);

}  // namespace tool
