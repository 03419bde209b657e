#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace tool {

/// Returns the paths of the names. "-", or an empty list of names, is standard input. A name with
/// wildcards is a pattern unless it is a file. Index files of TFRecord files are omitted.
/// Errors: leat::failure not_found for a pattern without a match; those of resolve_path().
[[nodiscard]] std::vector<std::string> expand_paths(const std::vector<std::string>& names);

/// Returns a pattern for leat::match_files() that matches only the file of this name, if it exists.
/// Otherwise, returns `pattern`. match_files() itself never takes a backslash for a part of a name.
[[nodiscard]] std::string prefer_name(std::string pattern);

/// Returns the path of a name: "-" is standard input. Errors: std::system_error if that is
/// closed.
[[nodiscard]] std::string resolve_path(std::string name);

/// Returns true for the path of standard input.
[[nodiscard]] bool is_standard_input(std::string_view path);

/// Returns the name of a path for messages: "-" for standard input.
[[nodiscard]] std::string display_path(std::string_view path);

/// Replaces the path at the beginning of a message by its display_path().
[[nodiscard]] std::string with_display_path(std::string message);

}  // namespace tool
