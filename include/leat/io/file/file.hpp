#pragma once

#include <coroutine>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <source_location>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "leat/async/scheduler/scheduler.hpp"
#include "leat/async/task.hpp"
#include "leat/async/wait_operation.hpp"
#include "leat/base/error.hpp"
#include "leat/base/internal/assert.hpp"
#include "leat/files/file_backend.hpp"

namespace LEAT {

/// An awaitable for one file_request. Its result is a number of bytes, a handle or 0, or a negative
/// errno.
///
/// Cancellation: a stop before the request starts ends the operation with the result -ECANCELED,
///               unless the request is a close. After the start, the operation waits until the
///               request ends, because the kernel may use the buffer until then. A read or write
///               of a stream is cancelled so that it ends soon.
class [[nodiscard]] file_operation final : public wait_operation {
 public:
  file_operation(file_backend& backend, const file_request& request, std::string_view path,
                 const std::source_location& where) noexcept;
  ~file_operation() {
    if (is_dying()) finish_abandoned();
  }

  bool await_ready() noexcept;
  bool await_suspend(std::coroutine_handle<> h);
  [[nodiscard]] std::int64_t await_resume() const noexcept { return completion_.result; }

 private:
  bool reject_if_stopped() noexcept;
  [[gnu::cold]] void finish_abandoned() noexcept;

  struct completion : file_request {
    file_operation* owner = nullptr;
  };

  static void cancel(wait_operation& w) noexcept;
  static void describe(const wait_operation& w, std::ostream& out);
  static const kind file_kind;

  file_backend& backend_;
  completion completion_;
  std::string_view path_;
  time_point cancelled_at_;  // if is_cancelled_
  bool ended_ = false;       // without a wait
  bool under_way_ = false;   // in the backend
  bool is_cancelled_ = false;
};

namespace detail {

/// An open file of a backend. The destructor closes it without waiting, in a turn of its scheduler.
class file_handle {
 public:
  /// `home_backend` is the backend of the scheduler. `b` is the backend that opens the path.
  file_handle(const file_backend& home_backend, file_backend& b, int n) noexcept
      : home(home_backend), backend(b), number(n), is_descriptor(b.uses_descriptors()) {}
  file_handle(const file_handle&) = delete;
  file_handle& operator=(const file_handle&) = delete;
  ~file_handle();

  /// Performs a request outside the scheduler, which may no longer exist.
  void run_without_scheduler(file_request& request) const noexcept;

  /// Returns true on the scheduler of the file, and on a thread that runs no scheduler.
  [[nodiscard]] bool is_at_home() const noexcept {
    const scheduler* const here = scheduler::current();
    return !here || here->find_service<file_backend>() == &home;
  }

  /// An operation of the file that is in progress. It keeps the handle alive. Until it ends, the
  /// file must not be closed, because its descriptor could then belong to another file.
  class operation_guard {
   public:
    explicit operation_guard(std::shared_ptr<file_handle> h) noexcept : handle_(std::move(h)) {
      LEAT_ASSERT(handle_->is_at_home(),
                  "file used on another scheduler: use it on the scheduler that opened it");
      ++handle_->under_way_;
    }
    operation_guard(const operation_guard&) = delete;
    operation_guard& operator=(const operation_guard&) = delete;
    ~operation_guard() { --handle_->under_way_; }

    file_handle* operator->() const noexcept { return handle_.get(); }

   private:
    std::shared_ptr<file_handle> handle_;
  };
  [[nodiscard]] bool in_use() const noexcept { return under_way_ > 0; }

  const file_backend& home;
  file_backend& backend;
  int number;  // -1: closed
  const bool is_descriptor;
  // True if a read was answered from the page cache. The file is then not on a file system, such as
  // a network file system, that may be slow to close a file that was only read.
  bool was_read_from_cache = false;
  std::int64_t sync_error = 0;  // of the first failed sync; every later sync fails

 private:
  unsigned under_way_ = 0;  // operations
};

}  // namespace detail

/// The mode in which a file is opened.
enum class open_mode {
  read,        ///< an existing file, for reading
  write,       ///< for writing from the start; creates or empties the file
  write_new,   ///< for writing; the file must not exist
  read_write,  ///< an existing file, for reading and writing
  append,      ///< for writing after existing data, from status().size on; creates a missing file
  /// Like read_write, but creates a missing file and refuses a symbolic link. Use it for a path
  /// that other users know.
  lock,
};

/// An open file that belongs to a scheduler; see open(). The destructor closes it once no read of a
/// reader is in flight; close() closes it and reports errors.
///
/// Errors: failed_precondition for an operation on a file that is not open; invalid_argument for a
///         path with a NUL byte; system errors, each with the path.
/// Precondition: the file is not closed or destroyed while one of its operations is in progress,
///               and each operation runs on the file's scheduler. A violation terminates the
///               process with a diagnostic.
/// Cancellation: after a stop request, an operation other than close() fails with `cancelled` and
///               does not start. An operation that has started is awaited, except for a read or
///               write that waits until a stream has data or free capacity.
/// Thread safety: thread-bound to its scheduler.
/// Cost: no operation blocks the scheduler's thread. Operations that the kernel can answer from its
///       caches (a recently used path, data in the page cache) complete in the call, in a few
///       hundred ns to 3 us. All others go through the io_uring ring, or to worker threads, and
///       suspend the task.
class file {
 public:
  /// Opens a file on the scheduler of the calling task.
  ///
  /// A stream, such as a named pipe or a terminal, is opened without waiting for its other end. A
  /// read at `at_stream_position` waits for data. "/dev/stdin" and "/dev/fd/N" are descriptors of
  /// the process, which are not opened again; see descriptor_path().
  ///
  /// Errors: not_found, permission_denied, failed_precondition for a directory, already_exists, and
  ///         other system errors; each names the path.
  [[nodiscard]] static task<file> open(
      std::string path, open_mode mode = open_mode::read,
      std::source_location where = std::source_location::current());

  file() = default;
  file(file&&) noexcept = default;
  file& operator=(file&&) noexcept = default;
  ~file() {
    LEAT_ASSERT(!open_ || !open_->in_use(),
                "file destroyed while a task uses it: join the task first");
  }

  /// Returns true from open() until close().
  [[nodiscard]] bool is_open() const noexcept { return open_ != nullptr; }
  /// Returns the path that was passed to open().
  [[nodiscard]] const std::string& path() const noexcept { return path_; }

  /// Returns the size and kind of the file when it was opened.
  [[nodiscard]] const file_status& status() const noexcept { return status_; }

  /// Reads until `to` is full or the file ends. Returns the number of bytes read. Pass
  /// `at_stream_position` for a stream; then a stopped read returns the bytes read so far, if there
  /// are any. Errors: system errors, with path and offset.
  [[nodiscard]] task<std::size_t> read_at(
      std::uint64_t offset, std::span<std::byte> to,
      std::source_location where = std::source_location::current());

  /// Writes all of `from`. Errors: resource_exhausted for a full disk, and other system errors.
  /// After an error, a part of `from` may have been written.
  [[nodiscard]] task<void> write_at(std::uint64_t offset, std::span<const std::byte> from,
                                    std::source_location where = std::source_location::current());

  /// Cuts the file to `size` bytes, or extends it with zeros. Errors: unimplemented if the backend
  /// cannot truncate; other system errors.
  [[nodiscard]] task<void> truncate(std::uint64_t size,
                                    std::source_location where = std::source_location::current());

  /// Tries to lock a file that is open for writing. Returns true, or false if another open of the
  /// same file, in this process or another one, holds the lock. The lock is held until the file is
  /// closed or its process has ended for any reason; a child of fork() holds it as well. The lock
  /// affects only programs that also try to take it. Errors: system errors, such as unimplemented
  /// if the file system does not support locks.
  [[nodiscard]] task<bool> try_lock(std::source_location where = std::source_location::current());

  /// Waits until everything written is on the device. Errors: system errors.
  ///
  /// After a failed sync, the data written before it may be lost permanently, even if it can be
  /// read back and the system would let another sync succeed. So every later sync of this file
  /// fails: write the data again, to another file. A sync that failed before it started, such as
  /// with `cancelled`, does not count.
  [[nodiscard]] task<void> sync(std::source_location where = std::source_location::current());

  /// Closes the file; a second close does nothing. Errors: system errors, such as a late write
  /// error.
  [[nodiscard]] task<void> close(std::source_location where = std::source_location::current());

  /// Returns the handle of the open file, or null. For the readers of the library, which submit
  /// requests of their own and hold the handle while a request is in flight.
  [[nodiscard]] const std::shared_ptr<detail::file_handle>& open_handle() const noexcept {
    return open_;
  }

 private:
  [[nodiscard]] detail::file_handle::operation_guard begin_operation() const;

  std::shared_ptr<detail::file_handle> open_;
  std::string path_;
  file_status status_;
};

/// Returns the size and kind of the file at `path`. Errors: not_found, permission_denied, and other
/// system errors.
[[nodiscard]] task<file_status> get_status(std::string path);

/// Returns the names in a directory, without "." and "..", sorted bytewise. Errors: not_found, and
/// other system errors.
[[nodiscard]] task<std::vector<std::string>> list_directory(std::string path);

/// Renames a file atomically. If another file has the new name, it is replaced. Both names must be
/// on one file system and in one backend. Errors: unimplemented if the backend cannot rename; other
/// system errors.
[[nodiscard]] task<void> rename_file(std::string from, std::string to);

/// Removes a file.
[[nodiscard]] task<void> remove_file(std::string path);

/// Creates a directory and its missing parents, and waits until they are on the device. An existing
/// directory is left as it is. Errors: failed_precondition if a file, or a symbolic link that leads
/// nowhere, is in the way; other system errors.
[[nodiscard]] task<void> make_directories(std::string path);

/// Waits until the entries of a directory are on the device. Call it after a rename, before you
/// rely on the new name. A directory that the process may write to but not read cannot be synced by
/// itself. In this case all file systems of the machine are synced, as by sync(2), which may take
/// long and reports no error.
[[nodiscard]] task<void> sync_directory(std::string path);

namespace detail {

/// Checks a path. Errors: invalid_argument for a path with a NUL byte.
void check_path(const std::string& path);

/// Checks a capability of the backend for a path. Errors: unimplemented, with the path, the backend
/// and the capability.
void require_capability(const std::string& path, const file_backend& backend,
                        bool file_capabilities::* capability);

/// Returns " at offset 48", or an empty string for `at_stream_position`.
[[nodiscard]] std::string offset_text(std::uint64_t offset);

/// Returns the exception for a negative errno. Its message consists of the path, `what` and the
/// reason, separated by colons.
[[nodiscard]] std::exception_ptr file_error(std::int64_t negative_errno, std::string_view path,
                                            std::string_view what);
[[noreturn]] void throw_file_error(std::int64_t negative_errno, std::string_view path,
                                   std::string_view what);

}  // namespace detail
}  // namespace LEAT
