#pragma once

#include <coroutine>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <source_location>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "leat/core/error.hpp"
#include "leat/core/task.hpp"
#include "leat/core/wait.hpp"
#include "leat/io/file_backend.hpp"

namespace leat {

/// Awaits one file_request; gives its result: bytes, a handle or 0, or a negative errno.
///
/// Cancellation: none. The kernel may use the buffer until the request is complete, so a stop is
///               seen by the next operation.
class [[nodiscard]] file_operation final : public wait {
 public:
  file_operation(file_backend& backend, const file_request& request, std::string_view path,
                 const std::source_location& where) noexcept;

  bool await_ready() noexcept;
  bool await_suspend(std::coroutine_handle<> h) noexcept;
  [[nodiscard]] std::int64_t await_resume() const noexcept { return completion_.result; }

 private:
  struct completion : file_request {
    file_operation* owner = nullptr;
  };

  static void describe(const wait& w, std::ostream& out);
  static const kind file_kind;

  file_backend& backend_;
  completion completion_;
  std::string_view path_;
};

/// How a file is opened.
enum class open_mode {
  read,       ///< an existing file, for reading
  write,      ///< for writing from the start: made, or emptied
  write_new,  ///< for writing; must not exist
};

/// A file of a scheduler, opened with open(). Closed by the destructor, or by close(), which says
/// whether that went well.
///
/// Thread safety: thread-bound to its scheduler.
class file {
 public:
  file() = default;
  file(file&& other) noexcept;
  file& operator=(file&& other) noexcept;
  ~file();

  /// Opens a file on the scheduler of the calling task.
  /// Errors: not_found, permission_denied, failed_precondition for a directory, already_exists, and
  ///         others of the system; each names the path.
  [[nodiscard]] static task<file> open(
      std::string path, open_mode mode = open_mode::read,
      std::source_location where = std::source_location::current());

  [[nodiscard]] bool is_open() const noexcept { return handle_ >= 0; }
  [[nodiscard]] const std::string& path() const noexcept { return path_; }

  /// Size and kind when it was opened.
  [[nodiscard]] const file_status& status() const noexcept { return status_; }

  /// Reads until `to` is full or the file ends; gives the bytes read. From `next_byte` on a file
  /// without positions. Errors: of the system, with path and offset.
  [[nodiscard]] task<std::size_t> read_at(
      std::uint64_t offset, std::span<std::byte> to,
      std::source_location where = std::source_location::current());

  /// Writes all of `from`. Errors: resource_exhausted for a full disk, and others of the system;
  /// then a part may have been written.
  [[nodiscard]] task<void> write_at(std::uint64_t offset, std::span<const std::byte> from,
                                    std::source_location where = std::source_location::current());

  /// Waits until everything written is on the device.
  [[nodiscard]] task<void> sync(std::source_location where = std::source_location::current());

  /// Closes the file; a second close does nothing. Errors: of the system, such as a late write
  /// error.
  [[nodiscard]] task<void> close(std::source_location where = std::source_location::current());

  // For readers that submit requests of their own.
  [[nodiscard]] int handle() const noexcept { return handle_; }
  [[nodiscard]] file_backend& backend() const noexcept { return *backend_; }

 private:
  void close_quietly() noexcept;

  file_backend* backend_ = nullptr;
  int handle_ = -1;
  std::string path_;
  file_status status_;
};

/// Size and kind of what stands at `path`. Errors: not_found, permission_denied, ...
[[nodiscard]] task<file_status> get_status(std::string path);

/// The names in a directory, without "." and "..", sorted bytewise. Errors: not_found, ...
[[nodiscard]] task<std::vector<std::string>> list_directory(std::string path);

/// Gives a file a new name, in one step; what had that name is replaced. Both on one file system.
[[nodiscard]] task<void> rename_file(std::string from, std::string to);

/// Removes a file.
[[nodiscard]] task<void> remove_file(std::string path);

/// Waits until the entries of a directory are on the device: after a rename, before one counts on
/// it.
[[nodiscard]] task<void> sync_directory(std::string path);

namespace detail {

/// The exception for a negative errno: "path: what: reason".
[[nodiscard]] std::exception_ptr file_error(std::int64_t negative_errno, std::string_view path,
                                            std::string_view what);
[[noreturn]] void throw_file_error(std::int64_t negative_errno, std::string_view path,
                                   std::string_view what);

}  // namespace detail
}  // namespace leat
