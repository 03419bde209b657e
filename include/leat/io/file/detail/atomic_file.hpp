#pragma once

#include <memory>
#include <string>

#include "leat/async/task.hpp"
#include "leat/base/bytes.hpp"
#include "leat/io/file/file.hpp"

namespace leat::detail {

/// A file that is written under a name of its own and gets the wanted one when it is complete.
///
/// Its own name is the wanted one followed by ".partial" (".partial1", ... if that file exists
/// already). A file with the wanted name remains until commit(). If the object is destroyed before
/// release(), the new file is removed.
///
/// finish() and commit() can be called again after an error, and do the rest of their work; after a
/// failed sync, finish() fails again.
/// Thread safety: thread-bound to the scheduler on which it was created.
class atomic_file {
 public:
  /// Errors: invalid_argument where something that is no regular file has the name;
  ///         permission_denied, not_found for a missing directory, ...
  [[nodiscard]] static task<atomic_file> create(std::string path);

  atomic_file(atomic_file&&) noexcept = default;
  atomic_file& operator=(atomic_file&&) = delete;
  ~atomic_file();

  [[nodiscard]] file& contents() noexcept { return file_; }

  /// Waits until everything is on the device, unless nobody counts on that, and closes the file.
  [[nodiscard]] task<void> finish(bool on_device = true);

  /// The name that it has for now.
  [[nodiscard]] const std::string& partial_path() const noexcept { return partial_path_; }

  /// Gives the finished file its name atomically; a file with that name is replaced. To make the
  /// name durable, call sync_parent_directory() as well.
  [[nodiscard]] task<void> commit(std::string path);

  /// Takes the name away again, here and now.
  void roll_back() noexcept;

  /// From now on the file stays.
  void release() noexcept { released_ = true; }

 private:
  atomic_file(file f, std::string path) noexcept;

  file file_;
  std::shared_ptr<file_handle> handle_;  // for what happens when the file is closed
  std::string partial_path_;
  std::string committed_path_;  // empty: has not got its name
  bool finished_ = false;
  bool released_ = false;
};

/// Writes a whole file that appears under its name only when it is on the device; when it is
/// complete where nobody counts on that. On an error what had the name before is untouched and
/// nothing is left. Errors: of the system.
/// Cancellation: before each step; as an error.
[[nodiscard]] task<void> write_new_file(std::string path, byte_view contents,
                                        bool on_device = true);

/// Waits until the entry of a file in its directory is on the device.
[[nodiscard]] task<void> sync_parent_directory(std::string path);

}  // namespace leat::detail
