#pragma once

#include <string>

#include "leat/io/tfrecord_writer.hpp"

namespace leat::detail {

/// Throws invalid_argument, with `path`, for an option out of range.
void check(const tfrecord_writer_options& options, const std::string& path);

}  // namespace leat::detail
