#pragma once

#include <string>
#include <vector>

#include "leat/base/braced.hpp"
#include "leat/io/index/indexed_reader.hpp"
#include "leat/io/index/record_selection.hpp"
#include "leat/pipeline/pipeline.hpp"
#include "leat/pipeline/stage/pipeline_options.hpp"

namespace LEAT {

/// Returns a pipeline that begins with the records of TFRecord files. Each epoch has an order of
/// all records of all files: a global shuffle that needs no buffer. See indexed_reader.
///
///     auto batches = leat::read_indexed({"data/*.tfrecord"}, {.num_epochs = 3, .seed = 1})
///                        .batch({.batch_size = 128});
///
/// `files` has the form of file_source::files, and the index of a file among them is left out. The
/// stage has the name in the reader's options.
///
/// Errors: invalid_argument if there is no file or an option is out of range. When the pipeline
///         runs, including the errors of indexed_reader about the files.
[[nodiscard]] pipeline<record_selection> read_indexed(option_list<std::string> files,
                                                      indexed_reader_options reader = {},
                                                      pipeline_options options = {});

}  // namespace LEAT
