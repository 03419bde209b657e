#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace tool {

/// The paths that the names stand for: "-" is standard input, and so is no name at all. A name with
/// wildcards that is not a file is a pattern. Indexes of TFRecord files are left out.
/// Errors: leat::failure not_found for a pattern without a match; those of resolve_path().
[[nodiscard]] std::vector<std::string> expand_paths(const std::vector<std::string>& names);

/// The path that a name stands for: "-" is standard input. Errors: std::system_error if that is
/// closed.
[[nodiscard]] std::string resolve_path(std::string name);

/// What stands for standard input as a path.
[[nodiscard]] bool is_standard_input(std::string_view path);

/// The name under which people know a path.
[[nodiscard]] std::string display_path(std::string_view path);

/// A message of leat that begins with a path, with the name under which people know that.
[[nodiscard]] std::string with_display_path(std::string message);

}  // namespace tool
