#pragma once

#include <string>
#include <string_view>

#include <CLI/App.hpp>

namespace tool {

/// Replaces names of C++ options in a message by options of the command: --max-ratio for
/// decompression_options::max_ratio, or max_ratio, as in pipeline files, if there is no such
/// option.
[[nodiscard]] std::string with_option_names(std::string_view message, const CLI::App& command);

}  // namespace tool
