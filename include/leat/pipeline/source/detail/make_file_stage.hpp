#pragma once

#include <memory>
#include <utility>

#include "leat/io/reader/csv_reader.hpp"
#include "leat/io/reader/fixed_length_reader.hpp"
#include "leat/io/reader/line_reader.hpp"
#include "leat/io/reader/record_batch.hpp"
#include "leat/io/reader/tfrecord_reader.hpp"
#include "leat/pipeline/metrics/stage_metrics.hpp"
#include "leat/pipeline/source/detail/file_stage.hpp"
#include "leat/pipeline/source/file_source.hpp"
#include "leat/pipeline/stage/detail/stage.hpp"

namespace LEAT::detail {

/// Creates a file_stage. Like the functions of `make_stage.hpp`, it is not inline: the library
/// compiles it for the most common readers.
template <class Reader>
[[nodiscard]] std::unique_ptr<stage<typename Reader::batch_type>> make_file_stage(
    stage_metrics& metrics, file_source<Reader> source) {
  return std::make_unique<file_stage<Reader>>(metrics, std::move(source));
}

extern template std::unique_ptr<stage<record_batch>> make_file_stage(stage_metrics&,
                                                                     file_source<csv_reader>);
extern template std::unique_ptr<stage<line_batch>> make_file_stage(stage_metrics&,
                                                                   file_source<line_reader>);
extern template std::unique_ptr<stage<record_batch>> make_file_stage(
    stage_metrics&, file_source<fixed_length_reader>);
extern template std::unique_ptr<stage<record_batch>> make_file_stage(stage_metrics&,
                                                                     file_source<tfrecord_reader>);

}  // namespace LEAT::detail
