#pragma once

#include <string>

#include "leat/io/tfrecord_writer.hpp"

namespace leat::detail {

/// Throws invalid_argument, with `path`, for a buffer of fewer than `least` bytes or of too many.
void check_size(std::size_t value, std::size_t least, const char* option, const std::string& path);

/// The same for any option out of range.
void check(const tfrecord_writer_options& options, const std::string& path);

}  // namespace leat::detail
