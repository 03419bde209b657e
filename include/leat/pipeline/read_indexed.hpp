#pragma once

#include <string>
#include <vector>

#include "leat/base/braced.hpp"
#include "leat/io/index/indexed_reader.hpp"
#include "leat/io/index/record_selection.hpp"
#include "leat/pipeline/pipeline.hpp"
#include "leat/pipeline/stage/pipeline_options.hpp"

namespace leat {

/// A pipeline that begins with the records of TFRecord files, each epoch in an order of all of
/// them: a global shuffle, for which no buffer is needed. See indexed_reader.
///
///     auto batches = leat::read_indexed({"data/*.tfrecord"}, {.num_epochs = 3, .seed = 1})
///                        .batch({.batch_size = 128});
///
/// `files`: as file_source::files; the index of another one of them is none. The name of the stage
/// is that of the reader's options.
///
/// Errors: invalid_argument for no file and for options out of range, as of every stage; those of
///         indexed_reader about the files when it runs.
[[nodiscard]] pipeline<record_selection> read_indexed(braced<std::vector<std::string>> files,
                                                      indexed_reader_options reader = {},
                                                      pipeline_options options = {});

}  // namespace leat
