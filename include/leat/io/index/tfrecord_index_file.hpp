#pragma once

#include <source_location>
#include <string>
#include <string_view>
#include <vector>

#include "leat/async/task.hpp"
#include "leat/codec/tfrecord/tfrecord_index.hpp"
#include "leat/io/file/file.hpp"

namespace leat {

/// Where the index of a TFRecord file stands unless one is told otherwise: ".index" behind its
/// name.
[[nodiscard]] std::string tfrecord_index_path(std::string_view path);

/// `paths` without those that are the index of another one of them, by name and first bytes, or one
/// that is being saved: so that "train-*" may name TFRecord files beside which indexes stand.
///
/// What cannot be read stays. Cancellation: total.
/// Cost: a read of 8 bytes of each that ends with ".index" and has its file among them.
[[nodiscard]] task<std::vector<std::string>> exclude_tfrecord_indexes(
    std::vector<std::string> paths);

/// Makes the index of a TFRecord file, by the headers of its records: payloads are not looked at,
/// and large ones not even read.
///
/// Errors:       data_loss for a corrupt or cut-off record, with path, record and offset;
///               invalid_argument for a compressed file; aborted when the file was changed
///               meanwhile; failed_precondition for what is no regular file, or does not tell its
///               size, as one in /proc; those of the system.
/// Cancellation: total.
/// Cost:         see docs/benchmarks.md; memory for the index and 2 MiB.
/// TensorFlow:   RecordReader, GetMetadata.
[[nodiscard]] task<tfrecord_index> build_tfrecord_index(
    std::string path, std::source_location where = std::source_location::current());

/// Reads the index of the TFRecord file at `path` from `index_path`; empty:
/// tfrecord_index_path(path).
///
/// Errors: not_found without an index; failed_precondition when it is the index of another file or
///         the file was changed since; unimplemented for an index of another version; data_loss for
///         a corrupt one; invalid_argument for a file that is none; those of the system. Each names
///         the file.
/// Cancellation: total. Cost: reads the index and 8 KiB of the file.
[[nodiscard]] task<tfrecord_index> load_tfrecord_index(std::string path,
                                                       std::string index_path = {});

/// Writes the index of the TFRecord file at `path` to `index_path`; empty:
/// tfrecord_index_path(path). It appears there when it is complete; what stood there is replaced.
///
/// Errors: of the system. Cancellation: as an error; nothing half written is left.
[[nodiscard]] task<void> save_tfrecord_index(std::string path, const tfrecord_index& index,
                                             std::string index_path = {});

/// Finishes the index that was made while the file at `path` was written, and saves it.
/// Errors: failed_precondition when the file has another size than its records; as above.
[[nodiscard]] task<void> save_tfrecord_index(std::string path, tfrecord_index_builder builder,
                                             std::string index_path = {});

/// Reads the index of a TFRecord file; where there is none, or an old or corrupt one, it is made
/// and saved. One of a later version of leat is left as it is.
///
/// Where it cannot be saved since the directory must not be written to or the disk is full, that is
/// no error: the index serves, and will be made again.
///
/// Errors: as build_tfrecord_index(); invalid_argument where a file stands that is no index.
[[nodiscard]] task<tfrecord_index> load_or_build_tfrecord_index(std::string path,
                                                                std::string index_path = {});

/// What tells an open file from others and from what it was before.
/// Errors: of the system. Cost: reads 8 KiB.
[[nodiscard]] task<tfrecord_fingerprint> get_tfrecord_fingerprint(file& f);

}  // namespace leat
