#pragma once

#include <chrono>
#include <cstddef>
#include <exception>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "leat/base/braced.hpp"
#include "leat/base/clock.hpp"

namespace LEAT {

/// The treatment of checkpoint entries that the program has not registered.
enum class extra_entries {
  reject,  ///< another program wrote them, or this one no longer registers them: an error
  ignore,
};

/// An entry that a checkpoint may contain under an earlier name.
struct renamed_entry {
  option_string from = {};  ///< name in the checkpoint; not registered
  option_string to = {};    ///< registered name
};

/// Options for writing, naming, keeping and reading checkpoints.
struct saver_options {
  /// Number of newest checkpoints to keep. If 0, the saver deletes no checkpoint and lists only the
  /// newest one in the state file. If not set, it keeps and lists all checkpoints.
  std::optional<std::size_t> max_to_keep = 5;
  /// Interval (wall clock) at which one checkpoint that exceeds max_to_keep is kept permanently
  /// instead of being deleted. If 0, none is. TensorFlow: keep_checkpoint_every_n_hours.
  time_span keep_every = std::chrono::hours(10'000);
  /// First part of a checkpoint's path, DIRECTORY/BASENAME-STEP.
  option_string basename = "model.ckpt";
  /// Name of the state file. It must not be the name of a checkpoint.
  option_string latest_filename = "checkpoint";
  bool pad_step_number = false;  ///< pad the step in the name with zeros to eight digits
  /// If true, a saved checkpoint is durable: it survives a crash of the machine. If false, it
  /// survives only the end of the program, and saving is faster.
  bool durable = true;
  /// If true, save() copies the values before it suspends, so that the program can continue and
  /// change the values. If false, save() makes no copy, and the program must not change the values
  /// until save() completes.
  bool copy_values = true;
  /// If true, the saver also manages the checkpoints that the state file lists, and those that a
  /// killed program did not list: they count towards max_to_keep, and the oldest ones are deleted.
  /// If false, the saver never deletes checkpoints that it did not write.
  bool recover_last_checkpoints = true;
  /// If true, an empty registry is not an error: save() returns an empty path, and a restore
  /// changes nothing.
  bool allow_empty = false;
  /// Handling of entries that are not registered: `reject` fails the restore, `ignore` skips them.
  extra_entries extra = extra_entries::reject;
  // ---- Deliberate differences between a checkpoint and the program, so that a model can outlive a
  // change of its input or its code. Each list names entries; every difference that is not listed
  // is rejected. A restore reports through on_warning each registered entry that it did not
  // restore.
  /// Registered entries that a checkpoint may lack. They keep their current values.
  option_list<std::string> may_be_missing = {};
  /// Entries that a checkpoint may contain although they are not registered. They are ignored.
  option_list<std::string> may_be_extra = {};
  /// Entries whose names have changed. A checkpoint that contains the current name is read as it
  /// is, so you may keep the option after new checkpoints have been saved.
  option_list<renamed_entry> renamed = {};
  /// Registered entries that are never restored, whatever a checkpoint contains under their names:
  /// `left_out = {"input"}` keeps the weights and restarts the input. The entries keep their
  /// current values and are saved as usual. Remove the option after the first save, because each
  /// restore leaves the entries out: a program that is killed and started again would restart its
  /// input each time.
  option_list<std::string> left_out = {};
  /// If true, restore_latest() fails if the checkpoint to restore is corrupt or rejected, instead
  /// of trying the previous one.
  bool strict = false;
  /// If true, restore_latest() also skips an intact checkpoint from which an object cannot resume
  /// (failed_precondition, data_loss), such as a pipeline whose input files have changed. The
  /// program then repeats the steps after the older checkpoint, in the worst case all steps. The
  /// skipped checkpoints count towards max_to_keep and are deleted like others. If false,
  /// restore_latest() fails.
  bool skip_intact = false;
  /// Directories of the savers of all ranks, including this one, that save at the same steps.
  /// Checkpoints of one step belong together. If set, restore_latest() restores the newest step of
  /// which all ranks have an intact checkpoint, whatever the state file lists. It deletes newer
  /// checkpoints of this saver and lists the restored one as the newest. Call it while you hold the
  /// directory lock and no rank saves. If other ranks keep saving, it fails with
  /// failed_precondition, and the values may have changed. Its other errors are those of
  /// find_rank_checkpoints(). max_to_keep must not be 1 or 2. See docs/ranks.md.
  option_list<std::string> rank_directories = {};

  /// Called for each checkpoint or state file that restore_latest() skips. A supervisor prints one
  /// warning for all checkpoints with the same error.
  option_function<void(const std::string& path, std::exception_ptr error)> on_skipped = {};
  /// Called with a warning about a problem that does not make the call fail, such as a checkpoint
  /// that could not be deleted, or a clock that was set back.
  option_function<void(const std::string& sentence)> on_warning = {};
};

}  // namespace LEAT
