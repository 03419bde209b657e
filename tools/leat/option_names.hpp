#pragma once

#include <string>
#include <string_view>

#include <CLI/App.hpp>

namespace tool {

/// A message of leat, with options called as the command calls them: --max-ratio for
/// inflate_options::max_ratio; max_ratio, as in the file of a pipeline, where it has no such one.
[[nodiscard]] std::string with_option_names(std::string_view message, const CLI::App& command);

}  // namespace tool
