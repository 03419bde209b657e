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

namespace leat {

/// What to do with a checkpoint that holds more than the program has registered.
enum class extra_entries {
  reject,  ///< it is of another program, or of one that has forgotten to register something
  ignore,
};

/// An entry that a checkpoint may contain under an earlier name.
struct renamed_entry {
  braced<std::string> from = {};  ///< in the checkpoint; not registered
  braced<std::string> to = {};    ///< as it is registered
};

/// How checkpoints are written, named, kept and read.
struct saver_options {
  /// The newest so many stay. 0: none is ever deleted, and only the newest is listed in the state
  /// file. Empty: all stay, and all are listed.
  std::optional<std::size_t> max_to_keep = 5;
  /// Of those that leave the window one is kept for ever each time so much time has gone by, by the
  /// wall clock. 0: none is. TensorFlow's keep_checkpoint_every_n_hours.
  time_span keep_every = std::chrono::hours(10'000);
  /// A checkpoint is called DIRECTORY/BASENAME-STEP.
  braced<std::string> basename = "model.ckpt";
  /// Of the state file; not of a checkpoint.
  braced<std::string> latest_filename = "checkpoint";
  bool pad_step_number = false;  ///< with zeros, to eight digits
  /// A checkpoint that was saved is on the device: it survives when the machine stops. False: it
  /// survives the end of the program only, and saving is faster.
  bool durable = true;
  /// save() copies the values before it suspends, so that the program can go on and change them.
  /// False: it takes no memory for them, and they must stay as they are until it has ended.
  bool copy_values = true;
  /// The saver goes on with the checkpoints that the state file lists, and those that a killed
  /// program had no time to list: they count, and are deleted in turn. False: it leaves those alone
  /// that it has not written.
  bool recover_last_checkpoints = true;
  /// An empty registry is no error: save() gives an empty path, and nothing is restored.
  bool allow_empty = false;
  extra_entries extra = extra_entries::reject;
  // ---- Deliberate differences between a checkpoint and the program, so that a model can outlive a
  // change of its input or its code. Each list names entries; every difference that is not listed
  // is refused. A restore reports through on_warning each registered entry that it did not restore.
  /// Registered entries that a checkpoint may lack. They keep their present values.
  braced<std::vector<std::string>> may_be_missing = {};
  /// Entries that a checkpoint may contain although they are not registered. They are ignored.
  braced<std::vector<std::string>> may_be_extra = {};
  /// Entries that have changed their names. A checkpoint that contains the present name is read as
  /// it is, so the option may stay when new checkpoints have been saved.
  braced<std::vector<renamed_entry>> renamed = {};
  /// Registered entries that are never restored, whatever a checkpoint contains under their names:
  /// `left_out = {"input"}` keeps the weights and restarts the input. They keep their present
  /// values and are saved as usual. Each restore leaves them out: remove the option after the first
  /// save, or a program that is killed and started again restarts its input each time.
  braced<std::vector<std::string>> left_out = {};
  /// restore_latest() fails when the checkpoint to restore is corrupt or refused, instead of taking
  /// the one before.
  bool strict = false;
  /// If true, restore_latest() also skips an intact checkpoint from which an object cannot resume
  /// (failed_precondition, data_loss), such as a pipeline whose input files have changed since. The
  /// steps after the older checkpoint are then done again, in the worst case all of them, and the
  /// skipped checkpoints are deleted in turn. If false, it fails.
  bool skip_intact = false;
  /// Directories of the savers of all ranks that save at the same steps, of which this is one: what
  /// was saved of one step belongs together. restore_latest() takes the newest step of which all
  /// have a checkpoint that is whole, whatever the state file says, deletes those of this saver
  /// that are newer, and lists the one that it took as the newest; so it is for who holds the
  /// directory's lock, while no rank saves: where others go on it fails with failed_precondition,
  /// and the values may have changed by then. See find_rank_checkpoints(), whose errors it has, and
  /// docs/supervisor.md. max_to_keep must not be 1 or 2.
  braced<std::vector<std::string>> rank_directories = {};

  /// Called for each checkpoint, or state file, that restore_latest() skips. A supervisor prints
  /// one warning for all checkpoints with the same error.
  braced<std::function<void(const std::string& path, std::exception_ptr error)>> on_skipped = {};
  /// Called with a sentence about what is no failure of the call: a checkpoint could not be
  /// deleted, the clock was set back.
  braced<std::function<void(const std::string& sentence)>> on_warning = {};
};

}  // namespace leat
