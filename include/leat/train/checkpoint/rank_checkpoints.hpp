#pragma once

#include <cstdint>
#include <exception>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "leat/async/task.hpp"
#include "leat/base/braced.hpp"

namespace LEAT {

/// Checkpoints of one step, which several ranks have saved, each to a directory of its own.
struct rank_checkpoints {
  /// The step at which all ranks saved.
  std::uint64_t step = 0;
  std::vector<std::string> paths = {};  ///< one in each directory, in the order of the directories
};

/// Options of find_rank_checkpoints().
struct rank_checkpoint_options {
  option_string basename = "model.ckpt";  ///< see saver_options
  /// If a step has files with a padded and a plain number, true selects the padded one.
  bool pad_step_number = false;
  /// If true, a corrupt checkpoint of a step that all ranks have is an error. If false, an earlier
  /// step is used.
  bool strict = false;
  /// Called for each skipped checkpoint: a corrupt one, or one of a step that other ranks lack.
  option_function<void(const std::string& path, std::exception_ptr error)> on_skipped = {};
};

/// Finds the newest step of which each directory contains an intact checkpoint. All callers find
/// the same step if no rank saves meanwhile, since each call reads the files of all ranks.
///
/// Returns an empty optional if no step was saved by all ranks yet: some ranks have no checkpoint,
/// and no other rank has more than one.
///
/// Errors: failed_precondition, with the steps of each rank, if the ranks have no intact step in
///         common otherwise, or if a directory does not exist although another one contains a
///         checkpoint. With `strict`, the error of a corrupt checkpoint. unimplemented for a
///         checkpoint of a later version of leat; system errors.
/// Cost:   reads the checkpoints of that step, of all ranks.
[[nodiscard]] task<std::optional<rank_checkpoints>> find_rank_checkpoints(
    option_list<std::string> directories, rank_checkpoint_options options);
[[nodiscard]] task<std::optional<rank_checkpoints>> find_rank_checkpoints(
    option_list<std::string> directories);

/// Returns the bytes that save() of an object returned for a checkpoint. `name` is the name under
/// which the object was registered. Use it to restore the object without a saver, such as with
/// pipeline::restore_ranks(), which accepts the bytes of all ranks.
///
/// Errors: not_found if the file or the entry does not exist; invalid_argument if the file is not a
///         checkpoint or the entry is not an object; data_loss for a corrupt checkpoint; system
///         errors.
[[nodiscard]] task<std::string> read_saved_object(std::string path, std::string name);

}  // namespace LEAT
