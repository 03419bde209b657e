#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "leat/async/task.hpp"
#include "leat/base/braced.hpp"

namespace LEAT {

/// Options of match_files().
struct match_options {
  bool unique = true;         ///< if true, a path that several patterns match is listed once
  bool regular_only = false;  ///< if true, directories, pipes and other special files are skipped
};

/// Returns the paths that match any of the patterns, in one list sorted bytewise. The list is empty
/// if nothing matches.
///
/// `*` matches any number of characters except "/", `?` matches one of them, `[a-z]` and `[^a-z]`
/// match sets, and `\c` matches the character itself. `*` also matches a leading dot, and `**` is
/// the same as `*`. A pattern is matched level by level, so only directories that the pattern leads
/// into are read. A pattern without wildcards results in its path if that exists. A pattern with
/// wildcards and without a directory, such as "*.txt", results in "./name". Symbolic links are
/// followed, as far as the pattern goes. A link that leads nowhere matches by its name, unless
/// `regular_only` skips it.
///
/// A character is one of UTF-8, regardless of the program's locale: "f?.txt" matches "fü.txt".
/// It is a byte if the name or the pattern is not UTF-8, or if they have more than 128 different
/// characters that are not ASCII.
///
/// An existing name wins: if a directory has a file "run[1].txt", this pattern matches only that
/// file there, and not "run1.txt". Names that come from elsewhere may not exist, or contain
/// backslashes: pass them through escape_pattern().
///
/// Errors:       not_found if the directory before the first wildcard does not exist; other system
///               errors. Entries that are not directories, and directories that must not be read,
///               are skipped.
/// Cancellation: before each directory and each file.
/// TensorFlow: matching_files, tf.io.gfile.glob, which never treat a pattern as a name.
[[nodiscard]] task<std::vector<std::string>> match_files(option_list<std::string> patterns,
                                                         match_options options = {});

/// Returns a pattern that matches only the file with this name or path: each `*`, `?`, `[` and
/// `\` has a backslash before it.
///
///     {.files = {leat::escape_pattern(folder) + "/*.txt"}}
[[nodiscard]] std::string escape_pattern(std::string_view name);

}  // namespace LEAT
