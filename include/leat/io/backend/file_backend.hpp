#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "leat/async/scheduler.hpp"
#include "leat/async/work_item.hpp"

namespace leat {

class file_backend;

/// What a backend tells of a file.
struct file_status {
  /// Bytes; 0 for what has no size, such as a pipe, or none that it keeps to, such as a file that
  /// the kernel makes up in /sys.
  std::uint64_t size = 0;
  std::int64_t modified_ns = 0;  ///< time of the last change, nanoseconds since 1970
  /// Which file it is, whatever its name: until it is removed no other has both numbers. Another
  /// machine knows a copy by others.
  std::uint64_t device = 0;
  std::uint64_t inode = 0;
  bool is_regular = false;
  bool is_directory = false;
  bool is_stream = false;  ///< can only be read in sequence: a pipe, a terminal, a socket
};

/// One operation on a file, for a file_backend to carry out.
///
/// Lives with who submitted it, together with the buffer, until it has been completed: also when
/// nobody waits for it any more, since the kernel may still write to the buffer. A completed
/// request is posted to `completion_scheduler`, which runs it as a work item.
struct file_request : work_item {
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

  operation what = operation::read;
  int handle = -1;            ///< read, write, lock, close; sync: where there is no path
  int flags = 0;              ///< open: as for open(2), with `mode` 0666; a pipe's does not wait
  std::byte* data = nullptr;  ///< read, write
  std::size_t size = 0;       ///< read, write: bytes
  /// read, write: bytes from the start of the file, or at_stream_position; truncate: the new size
  std::uint64_t offset = 0;
  /// open, status, list, rename, remove, make_directory; sync: of the entries of this directory
  const char* path = nullptr;
  const char* new_path = nullptr;             ///< rename
  file_status* status = nullptr;              ///< status; open: of what was opened
  std::vector<std::string>* names = nullptr;  ///< list: entries without "." and ".."
  scheduler* completion_scheduler = nullptr;  ///< where the completion runs
  /// Bytes moved, handle opened or 0; or a negative errno. lock: -EBUSY when somebody else has it.
  std::int64_t result = 0;
  unsigned retries = 0;    ///< how often it was submitted again
  bool cancelled = false;  ///< set by cancel(): it is not submitted again, whatever it ends with
  void* backend_data = nullptr;  ///< the backend's own while it is under way

  /// True, and submitted again, when it has come back with what means "once more": EINTR, EAGAIN,
  /// or ECANCELED for what may be done twice although nobody has cancelled it. A thousand times at
  /// most. For the completion of a request whose submitter does not do without it. One that was
  /// cancelled ends as -ECANCELED instead.
  [[nodiscard]] bool resubmit(file_backend& backend) noexcept;
};

/// The offset for a pipe, terminal or other stream: reads and writes continue at its current
/// position, and wait until it has data or free capacity.
inline constexpr std::uint64_t at_stream_position = UINT64_MAX;

/// The seam to the file system: everything that leat does with files goes through one of these.
///
/// Reads and writes may be short, as the system's are; what follows is the submitter's business.
/// Thread safety: as its implementations say; the ones of a scheduler are thread-bound to it.
class file_backend {
 public:
  static constexpr service_slot slot = service_slot::files;

  file_backend() = default;
  file_backend(const file_backend&) = delete;
  file_backend& operator=(const file_backend&) = delete;
  virtual ~file_backend() = default;

  /// "io_uring", "threads"; for messages and reports.
  [[nodiscard]] virtual std::string_view name() const noexcept = 0;

  /// Carries out a request and then posts it to its scheduler. The submitter sees to it that the
  /// scheduler lives until then: a task that waits does, else scheduler::add_hold().
  virtual void submit(file_request& request) noexcept = 0;

  /// Carries out a request if that needs no waiting: true, `result` is set and nothing will be
  /// posted. False: it would have to wait, or is one of which that is not known; nothing has
  /// happened. Answered at once is what the kernel's caches hold: reads of cached data, opening and
  /// status of paths that were walked lately.
  virtual bool try_complete(file_request& request) noexcept = 0;

  /// Asks that a read under way ends soon, or a write of a stream: nobody wants it any more. It is
  /// posted all the same, and its buffer in use until then: with -ECANCELED when it has taken
  /// nothing, which for a stream that has nothing to read is at once, else with what it has done.
  virtual void cancel(file_request& request) noexcept = 0;

  /// For a scheduler that is being destroyed, whose event loop runs no more: cancels its requests
  /// that wait for a stream, and posts those that have ended. Never waits; called again and again
  /// until none is under way.
  virtual void complete_without_loop(scheduler& sched) noexcept;

  /// Carries out a request here and now, whatever it takes: for a destructor outside a scheduler.
  virtual void execute_blocking(file_request& request) noexcept = 0;

  /// Has reads of an open file go past the page cache, straight from the device, or no more: then
  /// offset, size and memory of a read must be aligned, as the file system wants it, or it ends as
  /// -EINVAL. 0, or a negative errno where there is no way past it. Never waits.
  virtual int set_direct(int handle, bool direct) noexcept;

  /// Who it is that asks, for others to read: "process 4711 on host worker-3".
  [[nodiscard]] virtual std::string owner_text() const;

  /// True: handles are descriptors of the process, and paths those of the system.
  [[nodiscard]] virtual bool uses_descriptors() const noexcept { return true; }
};

/// Which backend real schedulers use.
enum class file_backend_choice {
  automatic,  ///< io_uring where the system allows it, else threads
  io_uring,
  threads,  ///< worker threads with preadv2
};

/// The backend of a scheduler, made on first use. A simulated scheduler brings its own.
///
/// The environment variable LEAT_IO=uring|threads decides in place of `automatic`. Thread-bound to
/// the scheduler. Errors: failed_precondition for a scheduler that is in no real event loop and has
/// no backend of its own; unavailable when io_uring was asked for by name and is refused;
/// invalid_argument for another value of LEAT_IO.
[[nodiscard]] file_backend& get_file_backend(
    scheduler& s, file_backend_choice choice = file_backend_choice::automatic);

/// Why `automatic` chose as it did, in one sentence: "io_uring", or "threads: io_uring is refused:
/// Operation not permitted"; where only some schedulers of the process were refused a ring, as for
/// want of descriptors, how many. Thread safety: thread-safe.
[[nodiscard]] std::string file_backend_reason();

}  // namespace leat
