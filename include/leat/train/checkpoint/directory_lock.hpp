#pragma once

#include <string>

#include "leat/async/task.hpp"
#include "leat/io/file/file.hpp"

namespace leat {

/// Keeps a directory for one program at a time: the chief, who writes checkpoints and events there.
///
///     auto lock = co_await leat::directory_lock::acquire("train");
///
/// Held until release() or the end of the object, and no longer than the process lives, however it
/// ends: the lock is the kernel's, on the file DIRECTORY/checkpoint.lock, which tells who holds it
/// and stays behind; nobody should delete it while it is held. A child of fork() holds it as well,
/// as long as it lives and has executed nothing.
///
/// It binds those who ask for it. On a network file system it is as good as that one's locks: a
/// holder that was cut off for long may have lost it without knowing. A program that can be
/// suspended like that should be given a directory of its own for each start; see
/// docs/checkpoints.md.
///
/// Thread safety: thread-bound to the scheduler on which it was acquired.
class directory_lock {
 public:
  /// Takes the lock, and makes the directory if it is missing. On a full disk there may be no
  /// room to say who has it.
  ///
  /// Errors:       failed_precondition when somebody else holds it, in another process or in this
  ///               one; the message says who, and since when; also where a symbolic link, which
  ///               somebody else may have put there, has the lock file's name; unimplemented where
  ///               the file system knows no locks; of the system.
  /// Cancellation: total.
  [[nodiscard]] static task<directory_lock> acquire(std::string directory,
                                                    std::string lock_filename = "checkpoint.lock");

  directory_lock(directory_lock&&) noexcept = default;
  directory_lock& operator=(directory_lock&&) noexcept = default;

  /// Takes it again where somebody has removed or replaced the lock file, by which another could
  /// take it too; true: so it was. Before something is written that no second one may write.
  ///
  /// Errors:       as acquire(); failed_precondition: another has it by now.
  /// Cancellation: total.
  /// Cost:         a look at the status of the file.
  [[nodiscard]] task<bool> renew();

  /// Lets it go; a second release does nothing. Errors: of the system.
  [[nodiscard]] task<void> release();

  [[nodiscard]] bool is_held() const noexcept { return file_.is_open(); }
  /// Of the lock file.
  [[nodiscard]] const std::string& path() const noexcept { return file_.path(); }

 private:
  directory_lock(std::string directory, std::string lock_filename, file f) noexcept;
  [[nodiscard]] task<bool> is_there() const;

  std::string directory_;
  std::string lock_filename_;
  file file_;
  std::string content_;  // what the file says; empty: there was no room for it
};

}  // namespace leat
