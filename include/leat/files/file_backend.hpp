#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "leat/async/scheduler/scheduler.hpp"
#include "leat/async/scheduler/work_item.hpp"

namespace LEAT {

class file_backend;

/// The status of a file, as reported by a backend.
struct file_status {
  /// In bytes; 0 for a file that has no size, such as a pipe, or an unreliable one, such as a file
  /// that the kernel generates in /sys.
  std::uint64_t size = 0;
  std::int64_t modified_ns = 0;  ///< time of the last change, in nanoseconds since 1970
  /// `device` and `inode` identify the file regardless of its name: until it is removed, no other
  /// file has both numbers. A copy on another machine has different numbers.
  std::uint64_t device = 0;
  std::uint64_t inode = 0;
  /// True for a regular file.
  bool is_regular = false;
  /// True for a directory.
  bool is_directory = false;
  /// True if it can only be read in sequence: a pipe, a terminal, a socket, a descriptor_path().
  bool is_stream = false;
};

/// One operation on a file, which a file_backend performs.
///
/// The submitter keeps the request and its buffer alive until the request has completed, even if no
/// task waits for it any more, because the kernel may still write to the buffer. A completed
/// request is posted to `completion_scheduler`, which runs it as a work item.
struct file_request : work_item {
  /// The kinds of operations.
  enum class operation : std::uint8_t {
    open,
    status,
    list,
    read,
    write,
    sync,
    truncate,
    lock,
    rename,
    remove,
    make_directory,
    close,
  };

  /// The operation to perform.
  operation what = operation::read;
  int handle = -1;            ///< read, write, truncate, lock, close; sync if `path` is null
  int flags = 0;              ///< open: as for open(2), with mode 0666; never waits for a pipe
  std::byte* data = nullptr;  ///< read, write
  std::size_t size = 0;       ///< read, write: bytes
  /// For read and write, bytes from the start of the file, or at_stream_position. For truncate, the
  /// new size.
  std::uint64_t offset = 0;
  /// For open, status, list, rename, remove and make_directory. For sync, the directory whose
  /// entries are synced.
  const char* path = nullptr;
  const char* new_path = nullptr;             ///< rename
  file_status* status = nullptr;              ///< status; open: the status of the opened file
  std::vector<std::string>* names = nullptr;  ///< list: entries without "." and ".."
  scheduler* completion_scheduler = nullptr;  ///< where the completion runs
  /// The number of bytes transferred, the opened handle or 0; or a negative errno. A lock that is
  /// held elsewhere results in -EBUSY.
  std::int64_t result = 0;
  unsigned retries = 0;          ///< number of times it was submitted again
  bool cancelled = false;        ///< set by cancel(): not submitted again, for any result
  void* backend_data = nullptr;  ///< used by the backend while the request is in flight

  /// Submits the request again if its result means "try again": EINTR, EAGAIN, or ECANCELED if the
  /// request may be done twice and was not cancelled by cancel(). Does so at most a thousand times
  /// for a request. Returns true if it was submitted. A request that was cancelled gets the result
  /// -ECANCELED instead. Call this in the completion of a request whose submitter needs the result.
  [[nodiscard]] bool resubmit(file_backend& backend) noexcept;
};

/// The offset for a pipe, terminal or other stream: reads and writes continue at its current
/// position, and wait until it has data or free capacity.
inline constexpr std::uint64_t at_stream_position = UINT64_MAX;

/// The operations of a file_backend that its storage supports. All backends read, write and list
/// files.
struct file_capabilities {
  bool lock = true;      ///< file::try_lock(), as directory_lock needs
  bool rename = true;    ///< rename_file(), as files need that get their name when complete
  bool truncate = true;  ///< file::truncate(), as tfrecord_appender needs
  bool direct = true;    ///< set_direct(); without it, read_options::direct has no effect
};

/// The interface to the file system: leat performs all file operations through a file_backend.
///
/// Like system calls, reads and writes may transfer fewer bytes than requested; the submitter then
/// handles the rest.
/// Thread safety: depends on the implementation; a scheduler's backend is thread-bound to it.
class file_backend {
 public:
  static const service_key key;  ///< See scheduler::find_service().

  file_backend() = default;
  file_backend(const file_backend&) = delete;
  file_backend& operator=(const file_backend&) = delete;
  virtual ~file_backend() = default;

  /// Returns the name of the backend for messages and reports, such as "io_uring" or "threads".
  [[nodiscard]] virtual std::string_view name() const noexcept = 0;

  /// Returns what the storage supports. Operations that need more fail with unimplemented before
  /// they change anything; the message names the path and the capability.
  [[nodiscard]] virtual file_capabilities capabilities() const noexcept { return {}; }

  /// Returns the backend for the requests with this path and for files opened by it: this one,
  /// unless it is a routing_backend.
  [[nodiscard]] virtual file_backend& backend_for(std::string_view path) noexcept;

  /// Performs a request and then posts it to its scheduler. The submitter keeps the scheduler alive
  /// until then: a waiting task does this; otherwise call scheduler::add_hold().
  virtual void submit(file_request& request) noexcept = 0;

  /// Performs a request if this requires no waiting. Returns true if it did: `result` is set and
  /// nothing will be posted. Returns false, without any effect, if the request would have to wait
  /// or if it is not known whether it would. It performs requests that the kernel can answer from
  /// its caches: reads of cached data, and opening and status of recently used paths.
  virtual bool try_complete(file_request& request) noexcept = 0;

  /// Requests an early end of a read, or of a write to a stream, that is in flight and no longer
  /// needed. The request is still posted, and its buffer is in use until then. It ends with
  /// -ECANCELED if it has transferred nothing; a read of a stream without data does so immediately.
  /// Otherwise it ends with the result of what was done.
  virtual void cancel(file_request& request) noexcept = 0;

  /// Cancels the requests of a scheduler that wait for a stream, and posts those that have ended.
  /// For a scheduler that is being destroyed and whose event loop no longer runs. Never waits; is
  /// called repeatedly until no request is in flight.
  virtual void complete_without_loop(scheduler& sched) noexcept;

  /// Performs a request in the call, even if it has to wait: for a destructor outside a scheduler.
  virtual void execute_blocking(file_request& request) noexcept = 0;

  /// Turns direct I/O, which bypasses the page cache, on or off for reads of an open file. With
  /// direct I/O, the offset, size and memory of a read must be aligned as the file system requires;
  /// otherwise the read ends with -EINVAL. Returns 0, or a negative errno if direct I/O is not
  /// possible. Never waits.
  virtual int set_direct(int handle, bool direct) noexcept;

  /// Returns a description of this process for others, such as "process 4711 on host worker-3".
  [[nodiscard]] virtual std::string owner_text() const;

  /// Returns true if handles are file descriptors of the process and paths are paths of the system.
  [[nodiscard]] virtual bool uses_descriptors() const noexcept { return true; }
};

}  // namespace LEAT
