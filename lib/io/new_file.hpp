#pragma once

#include <string>

#include "leat/codec/bytes.hpp"
#include "leat/core/task.hpp"

namespace leat::detail {

/// Writes a whole file that appears under its name only when it is on the device. On an error what
/// had the name before is untouched and nothing is left. Errors: of the system.
/// Cancellation: before each step; as an error.
[[nodiscard]] task<void> write_new_file(std::string path, byte_view content);

}  // namespace leat::detail
