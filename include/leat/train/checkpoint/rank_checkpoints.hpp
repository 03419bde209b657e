#pragma once

#include <cstdint>
#include <exception>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "leat/async/task.hpp"
#include "leat/base/braced.hpp"

namespace leat {

/// What several ranks, each of which saves to a directory of its own, have saved of one step.
struct rank_checkpoints {
  std::uint64_t step = 0;
  std::vector<std::string> paths = {};  ///< one in each directory, in the order of these
};

/// How those of ranks are looked for.
struct rank_checkpoint_options {
  braced<std::string> basename = "model.ckpt";  ///< see saver_options
  bool pad_step_number = false;                 ///< the name that counts where a step has both
  /// Fails when a checkpoint of a step that all have is corrupt, instead of taking a step before.
  bool strict = false;
  /// Called for each skipped checkpoint: of a step that other ranks do not have, or corrupt.
  braced<std::function<void(const std::string& path, std::exception_ptr error)>> on_skipped = {};
};

/// Finds the newest step of which each directory has a checkpoint that is whole. All that look find
/// the same, since each reads the files of all, as long as nobody saves. Empty: no step was saved
/// by all yet, as some have none and no other has more than its first.
///
/// Errors: failed_precondition, with what there is, where ranks have nothing in common though some
///         have saved more than once, and for a directory that does not exist where another has a
///         checkpoint; with `strict` that of a corrupt one; unimplemented for a checkpoint of a
///         later leat; of the system.
/// Cost:   reads the checkpoints of that step, of all ranks.
[[nodiscard]] task<std::optional<rank_checkpoints>> find_rank_checkpoints(
    braced<std::vector<std::string>> directories, rank_checkpoint_options options);
[[nodiscard]] task<std::optional<rank_checkpoints>> find_rank_checkpoints(
    braced<std::vector<std::string>> directories);

/// What save() of an object gave for a checkpoint, by the name under which it was registered: for
/// who restores it otherwise, as pipeline::restore_ranks() does, which is given that of all ranks.
///
/// Errors: not_found for no such file or entry; invalid_argument for a file that is no checkpoint,
///         and an entry that is no object; data_loss for a corrupt one; of the system.
[[nodiscard]] task<std::string> read_saved_object(std::string path, std::string name);

}  // namespace leat
