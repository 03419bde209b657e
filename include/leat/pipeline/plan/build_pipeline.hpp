#pragma once

#include <vector>

#include "leat/async/task.hpp"
#include "leat/pipeline/pipeline.hpp"
#include "leat/pipeline/plan/pipeline_plan.hpp"
#include "leat/pipeline/plan/plan_error.hpp"
#include "leat/pipeline/plan/planned_batch.hpp"

namespace LEAT {

/// The type of all pipelines that are built from plans. A state of such a pipeline equals the state
/// of the same pipeline that is declared in C++.
using planned_pipeline = pipeline<std::vector<planned_batch>>;

/// Builds the pipeline of a plan. Its elements must be batches, so a plan needs a batch stage. If a
/// stage has has_header_in_files, call read_headers() first.
///
/// The pipeline fails with data_loss if a record cannot be decoded. The message names the stage,
/// the file and the position.
///
/// Errors: plan_error, for the first part that is wrong; see find_plan_errors().
[[nodiscard]] planned_pipeline build_pipeline(const pipeline_plan& plan);

/// Returns the errors of a plan in the order of its parts, without opening a file: stages that do
/// not fit the source or each other, and options that a decoder rejects. If there are none, also
/// the first option that read_files(), read_indexed() or a function of pipeline rejects.
///
/// Errors: std::bad_alloc.
[[nodiscard]] std::vector<plan_error> find_plan_errors(const pipeline_plan& plan);

/// Reads the header of the files for each stage with has_header_in_files, sets its `header` and
/// clears has_header_in_files. All files must have the same header. Files that end before it do not
/// count; if all do, `header` remains unset.
///
/// Errors:       plan_error if the header lacks a column, or if a file can be read only once;
///               data_loss if two files have different headers; the errors of match_files() and of
///               the reader.
/// Cancellation: fails with `cancelled`; the stage keeps has_header_in_files.
[[nodiscard]] task<void> read_headers(pipeline_plan& plan);

}  // namespace LEAT
