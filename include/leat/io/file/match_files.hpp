#pragma once

#include <string>
#include <vector>

#include "leat/async/task.hpp"
#include "leat/base/braced.hpp"

namespace leat {

/// How match_files() answers.
struct match_options {
  bool unique = true;         ///< a path that several patterns match is listed once
  bool regular_only = false;  ///< directories, pipes and other special files are left out
};

/// The paths that match any of the patterns, in one list sorted bytewise.
///
/// `*` any run of characters but "/", `?` one of them, `[a-z]` and `[^a-z]` sets, `\c` the
/// character itself. `*` matches a leading dot; `**` is no more than `*`. A pattern is matched
/// level by level: no directory is read that the pattern does not lead into. A pattern without
/// wildcards gives its path if that exists. No match is an empty list. A pattern with wildcards and
/// without a directory, such as "*.txt", gives "./name". Symbolic links are followed, as far as the
/// pattern goes; one that leads nowhere matches by its name, unless `regular_only` leaves it out.
///
/// Errors:       not_found when the directory before the first wildcard does not exist; others of
///               the system. What is no directory, or must not be read, is left out.
/// Cancellation: before each directory and each file.
/// TensorFlow: matching_files, tf.io.gfile.glob.
[[nodiscard]] task<std::vector<std::string>> match_files(braced<std::vector<std::string>> patterns,
                                                         match_options options = {});

}  // namespace leat
