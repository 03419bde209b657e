#pragma once

#include <memory>
#include <string>

#include "leat/async/task.hpp"
#include "leat/base/bytes.hpp"
#include "leat/io/file/file.hpp"

namespace LEAT::detail {

/// A file that is written under a temporary name and renamed when it is complete.
///
/// The temporary name is the final name followed by ".partial" (".partial1", ... if that file
/// exists). A file with the final name remains until commit(). If the object is destroyed before
/// release(), the new file is removed.
///
/// finish() and commit() can be called again after an error, and then do the remaining steps. After
/// a failed sync, finish() fails again.
/// Thread safety: thread-bound to the scheduler on which it was created.
class atomic_file {
 public:
  /// Errors: invalid_argument if the path exists and is not a regular file; permission_denied,
  ///         not_found for a missing directory, ...
  [[nodiscard]] static task<atomic_file> create(std::string path);

  atomic_file(atomic_file&&) noexcept = default;
  atomic_file& operator=(atomic_file&&) = delete;
  ~atomic_file();

  [[nodiscard]] file& contents() noexcept { return file_; }

  /// Waits until all data is on the device, unless `on_device` is false, and closes the file.
  [[nodiscard]] task<void> finish(bool on_device = true);

  /// Returns the current name of the file.
  [[nodiscard]] const std::string& partial_path() const noexcept { return partial_path_; }

  /// Renames the finished file atomically and replaces a file of that name. Call
  /// sync_parent_directory() as well to make the name durable.
  [[nodiscard]] task<void> commit(std::string path);

  /// Removes the name immediately, without waiting.
  void roll_back() noexcept;

  /// Keeps the file from now on: the destructor does not remove it.
  void release() noexcept { released_ = true; }

 private:
  atomic_file(file f, std::string path) noexcept;

  file file_;
  std::shared_ptr<file_handle> handle_;  // used when the file is closed
  std::string partial_path_;
  std::string committed_path_;  // empty until the file is renamed
  bool finished_ = false;
  bool released_ = false;
};

/// Writes a complete file, which gets its name when it is on the device, or without a sync when it
/// is complete. After an error, an older file of that name is unchanged and nothing is left.
/// Errors: of the system.
/// Cancellation: before each step; as an error.
[[nodiscard]] task<void> write_new_file(std::string path, byte_view contents,
                                        bool on_device = true);

/// Waits until the directory entry of a file is on the device.
[[nodiscard]] task<void> sync_parent_directory(std::string path);

}  // namespace LEAT::detail
