#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "leat/async/task.hpp"
#include "leat/base/braced.hpp"
#include "leat/base/clock.hpp"
#include "leat/codec/checkpoint/checkpoint_state.hpp"

namespace LEAT {

/// Options for writing the state file of a directory.
struct checkpoint_state_options {
  option_string latest_filename = "checkpoint";  ///< name of the state file
  /// If true, absolute paths of files in the directory are stored relative to it, so that the
  /// directory can be moved or copied.
  bool save_relative_paths = false;
  /// If true, the state file is durable when the call returns.
  bool durable = true;
};

/// Reads the state file, which lists the checkpoints of a directory. Returns an empty optional if
/// there is no state file, or if its text is malformed. In the latter case, also calls `on_warning`
/// with a diagnostic. Relative paths are returned with the directory prepended.
///
/// Errors:       invalid_argument for a state file without model_checkpoint_path, such as an empty
///               one; system errors.
/// Cancellation: total.
/// TensorFlow:   get_checkpoint_state.
[[nodiscard]] task<std::optional<checkpoint_state>> get_checkpoint_state(
    std::string directory, std::string latest_filename = "checkpoint",
    option_function<void(const std::string&)> on_warning = {});

/// Replaces the state file of a directory atomically. Appends the newest path to the list if it is
/// not the last one there. If the directory is relative, relative paths are stored relative to it.
///
/// Errors:       invalid_argument if the name of the state file contains a slash, if the checkpoint
///               has the same name, or if there are timestamps but not one for each path; system
///               errors.
/// Cancellation: has the effect of an error: the old state file remains.
/// TensorFlow:   update_checkpoint_state.
[[nodiscard]] task<void> update_checkpoint_state(std::string directory, checkpoint_state state,
                                                 checkpoint_state_options options);
[[nodiscard]] task<void> update_checkpoint_state(std::string directory, checkpoint_state state);

/// Returns the newest checkpoint of a directory that exists: the one that the state file names, or
/// the nearest existing one before it in the list. Returns an empty optional if none exists.
/// Errors: see get_checkpoint_state().
[[nodiscard]] task<std::optional<std::string>> latest_checkpoint(
    std::string directory, std::string latest_filename = "checkpoint");

/// Returns the paths of a state in the order in which they are tried: the newest one, and then the
/// paths that precede it in the list, last one first.
[[nodiscard]] std::vector<std::string> restore_order(const checkpoint_state& state);

/// Returns true if a checkpoint file of this name exists. Does not check whether it is intact.
[[nodiscard]] task<bool> checkpoint_exists(std::string path);

/// Returns the modification times of those checkpoints that exist.
[[nodiscard]] task<std::vector<wall_time_point>> get_checkpoint_mtimes(
    std::vector<std::string> paths);

/// Deletes a checkpoint. The state file may still list it. Errors: not_found; system errors.
[[nodiscard]] task<void> remove_checkpoint(std::string path);

}  // namespace LEAT
