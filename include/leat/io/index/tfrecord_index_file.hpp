#pragma once

#include <source_location>
#include <string>
#include <string_view>
#include <vector>

#include "leat/async/task.hpp"
#include "leat/codec/tfrecord/tfrecord_index.hpp"
#include "leat/io/file/file.hpp"

namespace LEAT {

/// Returns the default path of the index of a TFRecord file: `path` followed by ".index".
[[nodiscard]] std::string tfrecord_index_path(std::string_view path);

/// Returns `paths` without index files. A pattern such as "train-*" may thus match TFRecord files
/// with indexes next to them. The function removes the indexes of other files in the list, which it
/// recognises by name and first bytes, and the indexes that are being saved.
///
/// An index that cannot be read stays in the list.
///
/// Cancellation: total.
/// Cost:         a read of 8 bytes of each file that ends with ".index" and whose TFRecord file is
///               in the list.
[[nodiscard]] task<std::vector<std::string>> exclude_tfrecord_indexes(
    std::vector<std::string> paths);

/// Builds the index of a TFRecord file from the headers of its records. Payloads are not checked,
/// and large ones are not read.
///
/// Errors:       data_loss for a corrupt or truncated record, with path, record and offset;
///               invalid_argument for a compressed file; aborted if the file was changed during the
///               call. Also failed_precondition if the file is not a regular one or does not report
///               its size, such as a file in /proc; system errors.
/// Cancellation: total.
/// Cost:         memory for the index and 2 MiB.
/// TensorFlow:   RecordReader, GetMetadata.
[[nodiscard]] task<tfrecord_index> build_tfrecord_index(
    std::string path, std::source_location where = std::source_location::current());

/// Loads the index of the TFRecord file at `path` from `index_path`; if that is empty, from
/// tfrecord_index_path(path).
///
/// Errors:       not_found if there is no index; failed_precondition if it is the index of another
///               file or the file has changed since; unimplemented for an index of another version.
///               Also data_loss for a corrupt index; invalid_argument for a file that is not an
///               index; system errors. The message names the file.
/// Cancellation: total.
/// Cost:         reads the index and 8 KiB of the file.
[[nodiscard]] task<tfrecord_index> load_tfrecord_index(std::string path,
                                                       std::string index_path = {});

/// Writes the index of the TFRecord file at `path` to `index_path`; if that is empty, to
/// tfrecord_index_path(path). The index appears under this name when it is complete, and replaces
/// an existing file.
///
/// Errors:       system errors.
/// Cancellation: like an error; no partially written file remains.
[[nodiscard]] task<void> save_tfrecord_index(std::string path, const tfrecord_index& index,
                                             std::string index_path = {});

/// Completes the index that was built while the file at `path` was written, and saves it.
///
/// Errors: failed_precondition if the size of the file differs from the size of its records; system
///         errors.
[[nodiscard]] task<void> save_tfrecord_index(std::string path, tfrecord_index_builder builder,
                                             std::string index_path = {});

/// Loads the index of a TFRecord file. If the index is missing, outdated or corrupt, builds and
/// saves it. An index file of a later version of leat is not replaced: the new index is only
/// returned.
///
/// It is not an error if the index cannot be saved because the directory is not writable or the
/// disk is full. The function still returns the index, and the next call builds it again.
///
/// Errors: those of build_tfrecord_index(); invalid_argument if the file at the path of the index
///         is not an index.
[[nodiscard]] task<tfrecord_index> load_or_build_tfrecord_index(std::string path,
                                                                std::string index_path = {});

/// Returns a fingerprint that distinguishes an open file from other files and from its earlier
/// contents.
///
/// Errors: system errors.
/// Cost:   reads 8 KiB.
[[nodiscard]] task<tfrecord_fingerprint> get_tfrecord_fingerprint(file& f);

}  // namespace LEAT
