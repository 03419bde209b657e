#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "leat/async/task.hpp"
#include "leat/base/internal/pimpl.hpp"
#include "leat/train/checkpoint/checkpoint_registry.hpp"
#include "leat/train/checkpoint/saver_options.hpp"

namespace LEAT {

/// Writes the values of a registry to checkpoints in a directory, and reads them back.
///
///     auto saver = co_await leat::saver::open("train", registry);
///     co_await saver.restore_latest();  // continues the last run, if there was one
///     while (...) {
///       learn(++step);
///       if (step % 1000 == 0) co_await saver.save(step);
///     }
///
/// A checkpoint is one file, DIRECTORY/model.ckpt-STEP, which appears under this name only when it
/// is complete; see docs/formats/checkpoint.md. The state file DIRECTORY/checkpoint lists the
/// checkpoints. The saver keeps the newest checkpoints and deletes older ones; see saver_options.
/// Acquire the directory_lock of a directory before you write to it: two savers do not see each
/// other's files.
///
/// Thread safety: thread-bound to the scheduler on which it was opened; one operation at a time.
/// TensorFlow: Saver and CheckpointManager. Differs from TensorFlow: a saved checkpoint is durable.
/// Corruption is detected before any value changes; restore_latest() then tries the previous
/// checkpoint.
class saver {
 public:
  /// Opens a saver for a directory and writes nothing. Unless
  /// saver_options::recover_last_checkpoints is false, reads the state file, if there is one, and
  /// looks for checkpoints that a killed program did not list in it. `registry` must outlive the
  /// saver.
  ///
  /// Errors: invalid_argument for an empty path, an empty registry (see saver_options::allow_empty)
  ///         or an option out of range; system errors.
  [[nodiscard]] static task<saver> open(std::string directory, const checkpoint_registry& registry,
                                        saver_options options);
  [[nodiscard]] static task<saver> open(std::string directory, const checkpoint_registry& registry);

  saver(saver&&) noexcept;
  saver& operator=(saver&&) = delete;
  ~saver();

  /// Writes a checkpoint of the current values, deletes the oldest checkpoints, and returns the
  /// path of the new one. Creates the directory if it is missing. The first call also removes files
  /// that a killed program left half written.
  ///
  /// The values are copied before the call first suspends. Copying pauses the program for about 1 s
  /// per 4 GB; afterwards other tasks may change the values. See saver_options::copy_values.
  ///
  /// Errors:       any exception of an object's save(); invalid_argument if the directory cannot be
  ///               created; resource_exhausted if the disk is full; other system errors. After an
  ///               error the older checkpoints are unchanged, and you can call save() again. If an
  ///               old checkpoint cannot be deleted, save() succeeds, calls `on_warning`, and the
  ///               next save() tries again.
  /// Cancellation: has the effect of an error until the checkpoint is listed and both the
  ///               checkpoint and the state file are durable; after that it counts as saved.
  /// Cost:         memory for a copy of the values; two fsyncs for the checkpoint, and two for each
  ///               of two versions of the state file.
  [[nodiscard]] task<std::string> save(std::uint64_t step);

  /// Like save(step), but the checkpoint has the plain name DIRECTORY/BASENAME.
  /// Errors: see save(step); invalid_argument if the state file has this name.
  [[nodiscard]] task<std::string> save();

  /// Restores the newest checkpoint that the state file lists, or a newer one that a killed program
  /// did not list (see docs/checkpoints.md). Returns its path, or an empty optional if there is no
  /// state file.
  ///
  /// If that checkpoint is missing, corrupt (data_loss, EIO) or of another program, calls
  /// `on_skipped` and tries the previous one, and so on. A checkpoint of another program has
  /// another identity, other entries, or bytes that an object cannot interpret. Such a checkpoint
  /// is not deleted when newer ones are saved.
  ///
  /// If the state file is unreadable, also calls `on_skipped`, and tries the files of the
  /// directory, highest step first. If another saver deletes a checkpoint during the call,
  /// restore_latest() reads the list again and tries the checkpoints in it. If the list has not
  /// changed, the deleted checkpoint counts as missing.
  ///
  /// Errors: if no checkpoint can be restored, the error of the newest one; the values are then
  ///         unchanged. Some errors are thrown without trying an older checkpoint:
  ///         - with saver_options::strict, the first error
  ///         - failed_precondition or data_loss if a checkpoint is intact but an object cannot
  ///           resume from it, such as a pipeline whose files have changed (see skip_intact)
  ///         - not_found if a checkpoint lacks a registered entry
  ///         - unimplemented if a later version of leat wrote it
  [[nodiscard]] task<std::optional<std::string>> restore_latest();

  /// Restores the values from a checkpoint. The whole checkpoint is read and verified before the
  /// first value changes. saver_options::may_be_missing, may_be_extra, renamed and left_out permit
  /// differences between the checkpoint and the registry.
  ///
  /// Errors:       After an error the values are unchanged. Objects that were already restored are
  ///               restored to their previous state, as far as their restore() accepts it.
  ///               - invalid_argument if there is no file of this name, if the file is not a
  ///                 checkpoint, or if an entry has another type or size or is not registered (see
  ///                 extra_entries)
  ///               - not_found for a missing entry
  ///               - failed_precondition for another identity
  ///               - data_loss for a corrupt or truncated file
  ///               - unimplemented for a checkpoint of a later version
  ///               - if restore() of an object throws, an error that names the entry: with the code
  ///                 of a std::system_error; with invalid_argument for any other std::exception,
  ///                 which is nested in it. std::bad_alloc is rethrown unchanged.
  ///               - system errors
  /// Cancellation: total, provided that restore() of each object is.
  /// Cost:         memory for a copy of the values.
  [[nodiscard]] task<void> restore(std::string path);

  /// Syncs an existing checkpoint, the state file and the directory to disk, in case the program
  /// that wrote them was killed before it did so.
  ///
  /// Errors:       not_found if the checkpoint does not exist; system errors.
  /// Cancellation: total; you can call it again.
  /// Cost:         three fsyncs, which take no time for data that is already durable.
  [[nodiscard]] task<void> make_durable(std::string path) const;

  /// Returns the listed checkpoints, oldest first; empty if max_to_keep is 0.
  [[nodiscard]] std::vector<std::string> last_checkpoints() const;

  /// Returns the directory that was passed to open().
  [[nodiscard]] const std::string& directory() const noexcept;
  /// Returns the options that were passed to open().
  [[nodiscard]] const saver_options& options() const noexcept;

  /// Returns the path of the checkpoint of a step: DIRECTORY/BASENAME-STEP.
  [[nodiscard]] std::string path_of(std::uint64_t step) const;

 private:
  struct state;
  explicit saver(std::unique_ptr<state> s) noexcept;
  [[nodiscard]] state& get_state() const;

  friend class supervisor;
  // Sets the function that a save awaits between its copy of the values and its first change in the
  // directory.
  void set_before_write(std::function<task<void>()> callback);
  // Returns true if the last restore left out entries, so that the state differs from the
  // checkpoint.
  [[nodiscard]] bool restored_partly() const;

  detail::pimpl<state> state_;
};

}  // namespace LEAT
