#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "leat/async/task.hpp"
#include "leat/base/detail/pimpl.hpp"
#include "leat/train/checkpoint/checkpoint_registry.hpp"
#include "leat/train/checkpoint/saver_options.hpp"

namespace leat {

/// Writes the values of a registry to checkpoints in a directory, and reads them back.
///
///     auto saver = co_await leat::saver::open("train", what);
///     co_await saver.restore_latest();  // goes on where the last run was, if there was one
///     while (...) {
///       learn(++step);
///       if (step % 1000 == 0) co_await saver.save(step);
///     }
///
/// A checkpoint is one file, DIRECTORY/model.ckpt-STEP, that appears when it is complete; see
/// docs/formats/checkpoint.md. The state file DIRECTORY/checkpoint says which there are. The newest
/// few stay; see saver_options. Whoever writes to a directory takes its directory_lock first: two
/// savers do not see each other's files.
///
/// Thread safety: thread-bound to the scheduler on which it was opened; one operation at a time.
/// TensorFlow: Saver and CheckpointManager. Unlike there, what was saved is on the device,
/// a corrupt checkpoint is found out before any value has changed, and the one before is taken.
class saver {
 public:
  /// Reads the state file of the directory, if there is one, and looks for checkpoints that a
  /// program had no time to list before it was killed; writes nothing. `registry` must outlive the
  /// saver.
  ///
  /// Errors: invalid_argument for an empty path, an empty registry (see saver_options::allow_empty)
  ///         and an option out of range; of the system.
  [[nodiscard]] static task<saver> open(std::string directory, const checkpoint_registry& registry,
                                        saver_options options);
  [[nodiscard]] static task<saver> open(std::string directory, const checkpoint_registry& registry);

  saver(saver&&) noexcept;
  saver& operator=(saver&&) = delete;
  ~saver();

  /// Writes a checkpoint of the values as they are now, and deletes the oldest ones; gives its
  /// path. The directory is made where it is missing; at the first time what a dead program has
  /// left half written is removed.
  ///
  /// The values are copied before the call suspends for the first time, which is the pause of the
  /// program: about 1 s for 4 GB; then other tasks may change them. See saver_options::copy_values.
  ///
  /// Errors:       what save() of an object throws; invalid_argument when the directory cannot be
  ///               made; resource_exhausted for a full disk, and others
  ///               of the system; then the older checkpoints are as before, and another save() can
  ///               be tried. When an old one cannot be deleted `on_warning` is told, and the next
  ///               save() tries again.
  /// Cancellation: as an error, until the checkpoint is listed and both are on the device; from
  ///               then on it counts as saved.
  /// Cost:         memory for a copy of the values; two fsyncs for the checkpoint and two for each
  ///               of two versions of the state file.
  [[nodiscard]] task<std::string> save(std::uint64_t step);

  /// The same under the plain name DIRECTORY/BASENAME.
  /// Errors: invalid_argument when that is the name of the state file; as above.
  [[nodiscard]] task<std::string> save();

  /// Restores the newest checkpoint that the state file names, or one that is newer than that file
  /// and was not listed any more (see docs/checkpoints.md), and gives its path; when it is missing,
  /// corrupt (data_loss, EIO) or another's (of another identity, with other entries, or with bytes
  /// of which an object can make nothing), the one before it, and so on; `on_skipped` is called for
  /// each. What is another's is not deleted in its turn. One that another saver deletes at this
  /// moment counts as missing only when that saver has listed nothing new. A state file that nobody
  /// can read is refused as well: then the files of the directory are tried, the highest step
  /// first. Empty: the directory has no checkpoint.
  ///
  /// Errors: when none can be restored, the one of the newest; the values are as before then. At
  ///         once with saver_options::strict; with failed_precondition or data_loss for a whole
  ///         checkpoint from which an object cannot go on as things are, such as a pipeline whose
  ///         files have changed (see saver_options::skip_intact); not_found for one without an
  ///         entry that is registered; unimplemented for one of a later leat.
  [[nodiscard]] task<std::optional<std::string>> restore_latest();

  /// Gives the values what a checkpoint holds. All of it is read and found to be right before the
  /// first value changes. saver_options::may_be_missing, may_be_extra, renamed and left_out permit
  /// differences between the checkpoint and the registry.
  ///
  /// Errors:       invalid_argument where there is no checkpoint of this name or the file is none,
  ///               and for an entry of another type or size, or that is not registered (see
  ///               extra_entries); not_found for a missing entry; failed_precondition for another
  ///               identity; data_loss for a corrupt or cut-off file; unimplemented for a later
  ///               version; what restore() of an object throws, with the name of its entry: the
  ///               code of a std::system_error, invalid_argument for another std::exception, which
  ///               is nested in it, but std::bad_alloc as it is; of the system. The values are as
  ///               before then, objects included as far as they take back what they had.
  /// Cancellation: total, as far as restore() of objects is.
  /// Cost:         memory for a copy of the values.
  [[nodiscard]] task<void> restore(std::string path);

  /// Writes a checkpoint that stands in the directory through to the device, with the state file
  /// and the directory itself: a program that was killed may have had no time for it.
  ///
  /// Errors:       not_found for a checkpoint that is not there; of the system.
  /// Cancellation: total; can be called again.
  /// Cost:         three fsyncs, which take no time for what is on the device already.
  [[nodiscard]] task<void> make_durable(std::string path) const;

  /// The checkpoints that are listed, oldest first; none with max_to_keep = 0.
  [[nodiscard]] std::vector<std::string> last_checkpoints() const;

  /// As they were given.
  [[nodiscard]] const std::string& directory() const noexcept;
  [[nodiscard]] const saver_options& options() const noexcept;

  /// Where the checkpoint of a step stands: DIRECTORY/BASENAME-STEP.
  [[nodiscard]] std::string path_of(std::uint64_t step) const;

 private:
  struct state;
  explicit saver(std::unique_ptr<state> s) noexcept;
  [[nodiscard]] state& get_state() const;

  friend class supervisor;
  // What a save awaits between its copy of the values and the first change in the directory.
  void set_before_write(std::function<task<void>()> callback);
  // The last restore left out entries: the state differs from that of the checkpoint.
  [[nodiscard]] bool restored_partly() const;

  detail::pimpl<state> state_;
};

}  // namespace leat
