#pragma once

#include <string>

#include "leat/async/task.hpp"
#include "leat/io/file/file.hpp"

namespace LEAT {

/// A lock that reserves a directory for one program at a time: the chief, which writes checkpoints
/// and events there.
///
///     auto lock = co_await leat::directory_lock::acquire("train");
///
/// The lock is held until release(), until the object is destroyed, or until the process ends in
/// any way: it is a kernel lock on the file DIRECTORY/checkpoint.lock. This file describes the
/// holder and remains after the release; do not delete it while the lock is held. A child process
/// of fork() also holds the lock until it ends or executes another program.
///
/// The lock is advisory: it affects only programs that acquire it. On a network file system it is
/// only as reliable as the locks of that file system: a holder that was disconnected for a long
/// time may have lost the lock without noticing. Use a new directory for each start of a program
/// that can be suspended in this way; see docs/checkpoints.md.
///
/// Thread safety: thread-bound to the scheduler on which it was acquired.
class directory_lock {
 public:
  /// Acquires the lock, and creates the directory if it is missing. If the disk is full, the lock
  /// file may not describe the holder.
  ///
  /// Errors:       failed_precondition if the lock is already held, by another process or by this
  ///               one. The message names the holder and the time of its acquire().
  ///               failed_precondition also if the lock file is a symbolic link, which another user
  ///               may have created; unimplemented if the file system does not support locks;
  ///               system errors.
  /// Cancellation: total.
  [[nodiscard]] static task<directory_lock> acquire(std::string directory,
                                                    std::string lock_filename = "checkpoint.lock");

  directory_lock(directory_lock&&) noexcept = default;
  directory_lock& operator=(directory_lock&&) noexcept = default;

  /// Acquires the lock again if the lock file was removed or replaced, after which another program
  /// could acquire it too. Returns true if so, or false if the file is unchanged. Call it before a
  /// write that no second program may make.
  ///
  /// Errors:       see acquire(); failed_precondition if another program has acquired the lock.
  /// Cancellation: total.
  /// Cost:         one query of the file's status.
  [[nodiscard]] task<bool> renew();

  /// Releases the lock; a second call does nothing. Errors: system errors.
  [[nodiscard]] task<void> release();

  /// Returns true until release() is called.
  [[nodiscard]] bool is_held() const noexcept { return file_.is_open(); }
  /// Returns the path of the lock file.
  [[nodiscard]] const std::string& path() const noexcept { return file_.path(); }

 private:
  directory_lock(std::string directory, std::string lock_filename, file f) noexcept;
  [[nodiscard]] task<bool> is_there() const;

  std::string directory_;
  std::string lock_filename_;
  file file_;
  std::string content_;  // of the lock file; empty if the disk was full
};

}  // namespace LEAT
