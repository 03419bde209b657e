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

#include "leat/async/scheduler.hpp"
#include "leat/async/task.hpp"
#include "leat/async/wait_operation.hpp"
#include "leat/base/detail/assert.hpp"
#include "leat/base/error.hpp"
#include "leat/io/backend/file_backend.hpp"

namespace leat {

/// Awaits one file_request; gives its result: bytes, a handle or 0, or a negative errno.
///
/// Cancellation: before it begins, with -ECANCELED, except for a close. Once begun it is awaited to
///               its end, since the kernel may use the buffer until then; but a read or write of a
///               stream is cancelled, so that its end comes soon.
class [[nodiscard]] file_operation final : public wait_operation {
 public:
  file_operation(file_backend& backend, const file_request& request, std::string_view path,
                 const std::source_location& where) noexcept;
  ~file_operation() {
    if (is_dying()) finish_abandoned();
  }

  bool await_ready() noexcept;
  bool await_suspend(std::coroutine_handle<> h) noexcept;
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
  bool ended_ = false;      // without a wait
  bool under_way_ = false;  // in the backend
};

namespace detail {

/// An open file of a backend; its destructor closes it, in a turn of its scheduler without waiting.
class file_handle {
 public:
  file_handle(file_backend& b, int n) noexcept
      : backend(b), number(n), is_descriptor(b.uses_descriptors()) {}
  file_handle(const file_handle&) = delete;
  file_handle& operator=(const file_handle&) = delete;
  ~file_handle();

  /// Carries out a request outside of the scheduler, which may be gone.
  void run_without_scheduler(file_request& request) const noexcept;

  /// True on its scheduler, and where none runs.
  [[nodiscard]] bool is_at_home() const noexcept {
    const scheduler* const here = scheduler::current();
    return !here || here->find_service<file_backend>() == &backend;
  }

  /// An operation of the file that is under way. Keeps the handle; until it ends the file must not
  /// be closed, since its descriptor could be another file's by then.
  class operation_guard {
   public:
    explicit operation_guard(std::shared_ptr<file_handle> h) noexcept : handle_(std::move(h)) {
      LEAT_ASSERT(handle_->is_at_home(),
                  "a file is used on another scheduler than the one on which it was opened");
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

  file_backend& backend;
  int number;  // -1: closed
  const bool is_descriptor;
  // A read was answered from the page cache: so the file is on none of those file systems, such as
  // of the network, that may take their time to close one that was only read.
  bool was_read_from_cache = false;
  std::int64_t sync_error = 0;  // of the first sync that failed; no later one is believed

 private:
  unsigned under_way_ = 0;  // operations
};

}  // namespace detail

/// How a file is opened.
enum class open_mode {
  read,        ///< an existing file, for reading
  write,       ///< for writing from the start: made, or emptied
  write_new,   ///< for writing; must not exist
  read_write,  ///< an existing file, for both
  append,      ///< for writing behind what is there, from status().size on; made where missing
  lock,        ///< for both, made where missing, and no symbolic link: of a name that others know
};

/// A file of a scheduler, opened with open(). Closed by the destructor, once no read of a reader is
/// under way any more; or by close(), which says whether that went well.
///
/// Errors: failed_precondition for an operation on a file that is not open; invalid_argument for a
///         path with a NUL byte; those of the system, each with the path.
/// Precondition: a close(), or the end of the file, is not while an operation of it is under way,
///               and each operation is on the file's scheduler: else the process ends with a
///               sentence that says so.
/// Cancellation: no operation but close() begins once the task was asked to stop: it ends as
///               cancelled. One that has begun is awaited, except for a read or write of a stream
///               that has no data or no room.
/// Thread safety: thread-bound to its scheduler.
/// Cost: none of these blocks the scheduler's thread. What the kernel answers from its caches (a
///       path that was walked lately, data in the page cache) is answered in the call, in a few
///       hundred ns to 3 us; the rest goes through the ring, or to worker threads, and suspends.
class file {
 public:
  /// Opens a file on the scheduler of the calling task.
  ///
  /// A stream, such as a named pipe, a terminal or /dev/stdin, is opened without waiting for its
  /// other end; whoever reads it from `at_stream_position` waits for data.
  ///
  /// Errors: not_found, permission_denied, failed_precondition for a directory, already_exists, and
  ///         others of the system; each names the path.
  [[nodiscard]] static task<file> open(
      std::string path, open_mode mode = open_mode::read,
      std::source_location where = std::source_location::current());

  file() = default;
  file(file&&) noexcept = default;
  file& operator=(file&&) noexcept = default;
  ~file() { LEAT_ASSERT(!open_ || !open_->in_use(), "a file is destroyed while a task uses it"); }

  [[nodiscard]] bool is_open() const noexcept { return open_ != nullptr; }
  [[nodiscard]] const std::string& path() const noexcept { return path_; }

  /// Size and kind when it was opened.
  [[nodiscard]] const file_status& status() const noexcept { return status_; }

  /// Reads until `to` is full or the file ends; gives the bytes read. From `at_stream_position` on
  /// a stream; then a stop gives what was read so far, if there is any. Errors: of the system, with
  /// path and offset.
  [[nodiscard]] task<std::size_t> read_at(
      std::uint64_t offset, std::span<std::byte> to,
      std::source_location where = std::source_location::current());

  /// Writes all of `from`. Errors: resource_exhausted for a full disk, and others of the system;
  /// then a part may have been written.
  [[nodiscard]] task<void> write_at(std::uint64_t offset, std::span<const std::byte> from,
                                    std::source_location where = std::source_location::current());

  /// Cuts the file to `size` bytes, or fills it up with zeros. Errors: of the system.
  [[nodiscard]] task<void> truncate(std::uint64_t size,
                                    std::source_location where = std::source_location::current());

  /// Takes the lock of a file that is open for writing, unless somebody else has it, who has opened
  /// it in another process or in this one: false. Kept until the file is closed or its process has
  /// ended, however it does; a child of fork() keeps it as well. It binds those only who ask for
  /// it. Errors: of the system, such as unimplemented where the file system knows no locks.
  [[nodiscard]] task<bool> try_lock(std::source_location where = std::source_location::current());

  /// Waits until everything written is on the device. Errors: of the system. What was written
  /// before a sync that failed may be lost for good, though it is read back, and though the system
  /// lets another sync go well: so each other one of this file fails here. Write it anew, to
  /// another file.
  [[nodiscard]] task<void> sync(std::source_location where = std::source_location::current());

  /// Closes the file; a second close does nothing. Errors: of the system, such as a late write
  /// error.
  [[nodiscard]] task<void> close(std::source_location where = std::source_location::current());

  // For readers that submit requests of their own, and hold the handle while one is under way.
  [[nodiscard]] const std::shared_ptr<detail::file_handle>& open_handle() const noexcept {
    return open_;
  }

 private:
  [[nodiscard]] detail::file_handle::operation_guard begin_operation() const;

  std::shared_ptr<detail::file_handle> open_;
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

/// Makes a directory, and those above it that are missing, on the device. One that is there is left
/// as it is. Errors: already_exists, failed_precondition where a file stands in the way; ...
[[nodiscard]] task<void> make_directories(std::string path);

/// Waits until the entries of a directory are on the device: after a rename, before one counts on
/// it. A directory that one may write to but not read cannot be synced by itself: then everything
/// on the machine is, as by sync(2), which may take long and tells no error.
[[nodiscard]] task<void> sync_directory(std::string path);

namespace detail {

/// Errors: invalid_argument for a path with a NUL byte.
void check_path(const std::string& path);

/// " at offset 48", or nothing for `at_stream_position`.
[[nodiscard]] std::string offset_text(std::uint64_t offset);

/// The exception for a negative errno: "path: what: reason".
[[nodiscard]] std::exception_ptr file_error(std::int64_t negative_errno, std::string_view path,
                                            std::string_view what);
[[noreturn]] void throw_file_error(std::int64_t negative_errno, std::string_view path,
                                   std::string_view what);

}  // namespace detail
}  // namespace leat
