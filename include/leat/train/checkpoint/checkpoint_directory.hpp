#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "leat/async/task.hpp"
#include "leat/base/braced.hpp"
#include "leat/base/clock.hpp"
#include "leat/codec/checkpoint/checkpoint_state.hpp"

namespace leat {

/// How the state file of a directory is written.
struct checkpoint_state_options {
  braced<std::string> latest_filename = "checkpoint";  ///< of the state file
  /// Absolute paths of files in the directory are written relative to it, so that it can be moved
  /// or copied.
  bool save_relative_paths = false;
  /// It is on the device then.
  bool durable = true;
};

/// Reads which checkpoints a directory has; relative paths come with the directory in front. Empty:
/// there is no state file, or its text is none, of which `on_warning` is told with a sentence.
///
/// Errors: invalid_argument for a state file without model_checkpoint_path, such as an empty one;
///         of the system. Cancellation: total.
/// TensorFlow: get_checkpoint_state.
[[nodiscard]] task<std::optional<checkpoint_state>> get_checkpoint_state(
    std::string directory, std::string latest_filename = "checkpoint",
    braced<std::function<void(const std::string&)>> on_warning = {});

/// Writes which checkpoints a directory has, in one step. The newest path is added to the list if
/// it is not the last of it. Of a relative directory, paths within it are stored relative to it.
///
/// Errors: invalid_argument for a file name with a slash in it, for a checkpoint of the same name,
///         and for another number of timestamps than paths; of the system.
/// Cancellation: as an error; what stood there stays.
/// TensorFlow: update_checkpoint_state.
[[nodiscard]] task<void> update_checkpoint_state(std::string directory, checkpoint_state state,
                                                 checkpoint_state_options options);
[[nodiscard]] task<void> update_checkpoint_state(std::string directory, checkpoint_state state);

/// The newest checkpoint of a directory that exists: the one that its state file names, else the
/// one listed before it. Empty: there is none. Errors: as get_checkpoint_state().
[[nodiscard]] task<std::optional<std::string>> latest_checkpoint(
    std::string directory, std::string latest_filename = "checkpoint");

/// The paths that a state names, in the order in which they are tried: the newest, and then those
/// before it in the list.
[[nodiscard]] std::vector<std::string> restore_order(const checkpoint_state& state);

/// True when there is a checkpoint file of this name; whether it is in order is not looked at.
[[nodiscard]] task<bool> checkpoint_exists(std::string path);

/// When the checkpoints were written, of those that there are.
[[nodiscard]] task<std::vector<wall_time_point>> get_checkpoint_mtimes(
    std::vector<std::string> paths);

/// Deletes a checkpoint. The state file may still name it. Errors: not_found; of the system.
[[nodiscard]] task<void> remove_checkpoint(std::string path);

}  // namespace leat
