#pragma once

#include <cstdint>
#include <memory>
#include <sys/stat.h>
#include <sys/vfs.h>

#include "leat/async/loop/detail/event_loop_scheduler.hpp"
#include "leat/io/backend/file_backend.hpp"

namespace leat::detail {

/// Used instead of a negative errno: the thread that waits for streams cannot be started.
/// Its error code is that of EAGAIN.
inline constexpr std::int64_t no_thread_for_streams = -4096;  // no errno is as large

/// Carries out a request with plain system calls; sets its result.
void execute(file_request& request) noexcept;

/// The same for a request that is answered from the kernel's caches; false for any other.
[[nodiscard]] bool execute_cached(file_request& request) noexcept;

/// With which a file is opened: nonblocking, so that to open a pipe waits for no other end.
[[nodiscard]] int open_flags(const file_request& request) noexcept;

/// What is left to do for an open whose descriptor is there: tells the status, and lets what is no
/// stream block again, unless the flags of the request have O_NONBLOCK. Gives the result of the
/// request; after an error the descriptor is closed.
[[nodiscard]] std::int64_t finish_open(const file_request& request, int descriptor) noexcept;

/// Lets a file that was opened with these flags block, which some file systems rely on, and the
/// ring: before any read of it but one that is answered from the page cache. False on an error.
[[nodiscard]] bool set_blocking(int descriptor, int flags) noexcept;

/// The result of a status request; but see may_misreport_size().
[[nodiscard]] file_status to_file_status(const struct stat& s) noexcept;

/// Returns true for a file that occupies no space. It may have a hole, or its contents may be
/// generated on a read: all files in /sys claim to have 4096 bytes. Only the file system can tell
/// the two apart.
[[nodiscard]] bool may_misreport_size(const struct stat& s) noexcept;
[[nodiscard]] bool is_virtual_file_system(const struct statfs& file_system) noexcept;

/// True for a read or write that has to wait until its stream has data or room.
[[nodiscard]] inline bool is_stream_transfer(const file_request& r) noexcept {
  return r.offset == at_stream_position &&
         (r.what == file_request::operation::read || r.what == file_request::operation::write);
}

/// For what poll(2) has to wait then.
[[nodiscard]] short poll_events(const file_request& r) noexcept;

/// Has the worker threads do everything. Errors: std::bad_alloc.
[[nodiscard]] std::unique_ptr<file_backend> make_thread_backend();

/// A ring of the scheduler's own; null, with an errno in `refusal`, where the system refuses it.
[[nodiscard]] std::unique_ptr<file_backend> make_uring_backend(event_loop_scheduler& sched,
                                                               int& refusal);

}  // namespace leat::detail
