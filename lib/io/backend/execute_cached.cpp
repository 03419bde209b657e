// Requests that the kernel answers from its caches or not at all. None of them waits for a device.

#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include "io/backend/backend_support.hpp"

namespace LEAT::detail {
namespace {

// Opens a path if all of its parts are in the cache. Returns a negative value for other paths, or
// if the kernel cannot tell.
int open_cached(const char* path, int flags) noexcept {
  open_how how{};
  how.flags = static_cast<decltype(how.flags)>(flags);
  how.resolve = RESOLVE_CACHED;
  return static_cast<int>(::syscall(SYS_openat2, AT_FDCWD, path, &how, sizeof how));
}

bool open(file_request& r) noexcept {
  const int descriptor = open_cached(r.path, open_flags(r));
  if (descriptor < 0) return false;  // also for an error: the slower path reports it
  r.result = finish_open(r, descriptor);
  return true;
}

bool status_of(file_request& r) noexcept {
  const int place = open_cached(r.path, O_PATH | O_CLOEXEC);
  if (place < 0) return false;
  struct stat s{};
  const bool known = ::fstat(place, &s) == 0 && !may_misreport_size(s);
  ::close(place);
  if (!known) return false;
  *r.status = to_file_status(s);
  r.result = 0;
  return true;
}

bool read(file_request& r) noexcept {
  const bool in_sequence = r.offset == at_stream_position;
  if (in_sequence && !is_regular_file(r.handle)) return false;
  const iovec buffer{r.data, r.size};
  const off_t from = in_sequence ? -1 : static_cast<off_t>(r.offset);
  const ssize_t n = ::preadv2(r.handle, &buffer, 1, from, RWF_NOWAIT);
  if (n < 0) return false;  // not cached, or not supported here: the slower path decides
  r.result = n;
  return true;
}

}  // namespace

bool execute_cached(file_request& request) noexcept {
  using op = file_request::operation;
  if (const auto descriptor = named_descriptor(request)) {
    request.result = execute_named(request, *descriptor);
    return true;
  }
  switch (request.what) {
    case op::open: return open(request);
    case op::status: return status_of(request);
    case op::read: return read(request);
    default: return false;
  }
}

}  // namespace LEAT::detail
