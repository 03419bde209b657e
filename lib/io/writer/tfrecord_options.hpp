#pragma once

#include <optional>
#include <string>

#include "leat/base/bytes.hpp"
#include "leat/io/file/detail/output_buffer.hpp"
#include "leat/io/index/detail/sidecar_index.hpp"
#include "leat/io/writer/tfrecord_writer.hpp"

namespace LEAT::detail {

/// Throws invalid_argument, with `path`, for a buffer of fewer than `least` bytes or of too many.
void check_size(std::size_t value, std::size_t least, const char* option, const std::string& path);

/// Like check_size(), for all options.
void check(const tfrecord_writer_options& options, const std::string& path);

/// Adds a record to the output buffer, and to the index if there is one. Errors: those of
/// sidecar_index::add(); std::bad_alloc. After an error nothing was added.
void append_record(output_buffer& to, std::optional<sidecar_index>& index, byte_view payload);

}  // namespace LEAT::detail
