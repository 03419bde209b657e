#pragma once

#include <string>
#include <vector>

#include "leat/async/task.hpp"
#include "leat/base/braced.hpp"

namespace leat {

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
/// Errors:       not_found if the directory before the first wildcard does not exist; other system
///               errors. Entries that are not directories, and directories that must not be read,
///               are skipped.
/// Cancellation: before each directory and each file.
/// TensorFlow: matching_files, tf.io.gfile.glob.
[[nodiscard]] task<std::vector<std::string>> match_files(braced<std::vector<std::string>> patterns,
                                                         match_options options = {});

}  // namespace leat
