#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "leat/base/braced.hpp"
#include "leat/io/index/indexed_reader.hpp"
#include "leat/io/reader/csv_reader.hpp"
#include "leat/io/reader/fixed_length_reader.hpp"
#include "leat/io/reader/line_reader.hpp"
#include "leat/io/reader/tfrecord_reader.hpp"
#include "leat/io/reader/whole_file_reader.hpp"
#include "leat/pipeline/plan/decoder_options.hpp"
#include "leat/pipeline/plan/planned_column.hpp"
#include "leat/pipeline/plan/record_format.hpp"
#include "leat/pipeline/source/file_source.hpp"
#include "leat/pipeline/stage/pipeline_options.hpp"
#include "leat/pipeline/stage/stage_options.hpp"

namespace LEAT {

/// The files of read_indexed(), and how it reads them.
struct indexed_source {
  option_list<std::string> files = {};  ///< see file_source
  indexed_reader_options reader = {};   ///< `name` is the name of the stage
};

/// The source of a pipeline_plan: one alternative for each record_format, in the same order.
using plan_source = std::variant<file_source<tfrecord_reader>, indexed_source,
                                 file_source<line_reader>, file_source<csv_reader>,
                                 file_source<fixed_length_reader>, file_source<whole_file_reader>>;

/// Returns the format of a source.
[[nodiscard]] inline record_format format_of(const plan_source& source) noexcept {
  return static_cast<record_format>(source.index());
}
/// Returns a source of the format with this name, without files.
/// Errors: invalid_argument for another name; std::bad_alloc.
[[nodiscard]] plan_source make_plan_source(std::string_view format);
/// Returns the files of a source.
[[nodiscard]] std::vector<std::string>& files_of(plan_source& source) noexcept;
[[nodiscard]] const std::vector<std::string>& files_of(const plan_source& source) noexcept;

/// A stage of a pipeline_plan.
using plan_stage = std::variant<shuffle_stage_options, batch_stage_options, prefetch_stage_options,
                                csv_stage_options, example_stage_options,
                                sequence_example_stage_options, raw_stage_options>;
/// The kinds of stages, in the order of the alternatives of plan_stage.
inline constexpr std::array<std::string_view, std::variant_size_v<plan_stage>> plan_stage_kinds{
    "shuffle",   "batch", "prefetch", "parse_csv", "parse_example", "parse_sequence_example",
    "decode_raw"};
/// Returns a stage of one of these kinds with default options.
/// Errors: invalid_argument for another name; std::bad_alloc.
[[nodiscard]] plan_stage make_plan_stage(std::string_view kind);

/// The kind of the elements of a pipeline_plan.
enum class plan_element : std::uint8_t {
  records,         ///< single records
  lines,           ///< single lines
  record_batches,  ///< batches of records
  line_batches,    ///< batches of lines
  column_batches,  ///< batches of columns
};
/// Returns a text for messages, such as "batches of lines".
[[nodiscard]] std::string_view to_string(plan_element kind) noexcept;

/// A pipeline as data: its source and its stages, for programs that receive a pipeline from
/// elsewhere, such as a file, another language or another process. build_pipeline() builds it.
///
///     leat::pipeline_plan plan;
///     plan.source = leat::file_source<leat::tfrecord_reader>{.files = {"data/*.tfrecord"}};
///     plan.stages = {leat::shuffle_stage_options{.capacity = 10'000, .seed = 1},
///                    leat::batch_stage_options{.batch_size = 128}};
///     auto p = leat::build_pipeline(plan);
///
/// A value type, which owns all of its data except the schedulers in `options`. Thread safety:
/// thread-compatible.
struct pipeline_plan {
  pipeline_options options = {};        ///< of the whole pipeline
  plan_source source = {};              ///< the files, and how they are read
  option_list<plan_stage> stages = {};  ///< in the order in which elements pass them

  /// Returns the kind of the elements after the first `count` stages. A stage that does not accept
  /// the elements before it counts as if it did. Precondition: count <= stages.size().
  [[nodiscard]] plan_element element_after(std::size_t count) const noexcept;
  /// Returns the columns of the batches; empty if they have none.
  [[nodiscard]] std::vector<planned_column> columns() const;
  /// Returns the number of workers of all stages, and of readers: as many schedulers in
  /// `options.workers` can be busy at the same time.
  [[nodiscard]] std::size_t workers() const noexcept;
};

}  // namespace LEAT
