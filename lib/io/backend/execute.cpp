// Requests as plain system calls, executed by the worker threads and for operations that the ring
// lacks.

#include <cerrno>
#include <cstdio>
#include <dirent.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <memory>
#include <new>
#include <poll.h>
#include <sys/file.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/internal/standard_descriptors.hpp"
#include "base/internal/system_call.hpp"
#include "io/backend/backend_support.hpp"
#include "leat/io/backend/descriptor_path.hpp"

namespace LEAT::detail {
namespace {

std::int64_t open(const file_request& r) noexcept {
  if (const auto descriptor = named_descriptor(r)) return execute_named(r, *descriptor);
  const auto open_with = [&r](int flags) {
    return retry_on_eintr([&] { return ::open(r.path, flags, 0666); });
  };
  std::int64_t descriptor = open_with(open_flags(r));
  // Another process has a lease on the file and is asked to release it: wait for that. Pipes never
  // report this.
  if (descriptor == -EAGAIN) descriptor = open_with(open_flags(r) & ~O_NONBLOCK);
  return descriptor < 0 ? descriptor : finish_open(r, static_cast<int>(descriptor));
}

std::int64_t status_of(const file_request& r) noexcept {
  if (const auto descriptor = named_descriptor(r)) return execute_named(r, *descriptor);
  struct stat s{};
  if (::stat(r.path, &s) != 0) return -errno;
  *r.status = to_file_status(s);
  if (may_misreport_size(s)) {
    struct statfs on{};
    if (::statfs(r.path, &on) != 0) return -errno;
    if (is_virtual_file_system(on)) r.status->size = 0;
  }
  return 0;
}

std::int64_t list(const file_request& r) noexcept {
  struct closer {
    void operator()(DIR* d) const noexcept { ::closedir(d); }
  };
  const std::unique_ptr<DIR, closer> directory(::opendir(r.path));
  if (!directory) return -errno;
  try {
    errno = 0;
    while (const dirent* entry = ::readdir(directory.get())) {
      const std::string_view name = entry->d_name;
      if (name != "." && name != "..") r.names->emplace_back(name);
      errno = 0;
    }
  } catch (const std::bad_alloc&) {
    return -ENOMEM;
  }
  return -errno;
}

std::int64_t sync(int descriptor) noexcept {
  return retry_on_eintr([=] { return ::fsync(descriptor); });
}

std::int64_t open_and_sync(const char* path) noexcept {
  const std::int64_t opened =
      retry_on_eintr([=] { return ::open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC); });
  if (opened == -EACCES) {
    // A directory may be writable but not readable, so that it cannot be opened. Then all file
    // systems are synced.
    ::sync();
    return 0;
  }
  if (opened < 0) return opened;
  const int descriptor = static_cast<int>(opened);
  const std::int64_t result = sync(descriptor);
  ::close(descriptor);
  return result;
}

// The lock belongs to the open file, not to the process, so that another open() in this process is
// refused too. The last close releases it, also the one of a killed process.
std::int64_t lock(int descriptor) noexcept {
  const std::int64_t result =
      retry_on_eintr([=] { return ::flock(descriptor, LOCK_EX | LOCK_NB); });
  return result == -EWOULDBLOCK ? -EBUSY : result;
}

// The stream was ready. But it may be a blocking one, such as an inherited standard input, and
// another process may have read the data since: the thread must not wait for more.
std::int64_t read_stream(const file_request& r) noexcept {
  if (!is_regular_file(r.handle)) {
    const iovec buffer{r.data, r.size};
    const ssize_t n = ::preadv2(r.handle, &buffer, 1, -1, RWF_NOWAIT);
    const bool unsupported = errno == EOPNOTSUPP || errno == ENOSYS || errno == EPERM;
    if (n >= 0 || !unsupported) return n;
  }
  return ::read(r.handle, r.data, r.size);
}

std::int64_t carry_out(file_request& r) noexcept {
  using op = file_request::operation;
  switch (r.what) {
    case op::open: return open(r);
    case op::status: return status_of(r);
    case op::list: return list(r);
    case op::read:
      return retry_on_eintr([&]() -> std::int64_t {
        if (r.offset == at_stream_position) return read_stream(r);
        return ::pread(r.handle, r.data, r.size, static_cast<off_t>(r.offset));
      });
    case op::write:
      return retry_on_eintr([&]() -> std::int64_t {
        if (r.offset == at_stream_position) return ::write(r.handle, r.data, r.size);
        return ::pwrite(r.handle, r.data, r.size, static_cast<off_t>(r.offset));
      });
    case op::sync: return r.path ? open_and_sync(r.path) : sync(r.handle);
    case op::truncate:
      return retry_on_eintr([&] { return ::ftruncate(r.handle, static_cast<off_t>(r.offset)); });
    case op::lock: return lock(r.handle);
    case op::rename: return to_negative_errno(std::rename(r.path, r.new_path));
    case op::remove: return to_negative_errno(::unlink(r.path));
    case op::make_directory: return to_negative_errno(::mkdir(r.path, 0777));
    case op::close:
      return to_negative_errno(::close(r.handle));  // never again after EINTR: it is closed
  }
  return -ENOSYS;
}

}  // namespace

void execute(file_request& request) noexcept { request.result = carry_out(request); }

std::optional<int> named_descriptor(const file_request& r) noexcept {
  using op = file_request::operation;
  const bool reads = r.what == op::open && (r.flags & O_ACCMODE) == O_RDONLY;
  return reads || r.what == op::status ? descriptor_of_path(r.path) : std::nullopt;
}

std::int64_t execute_named(const file_request& r, int descriptor) noexcept {
  struct stat s{};
  if (::fstat(descriptor, &s) != 0) return -errno;
  // An eventfd and the like: a scheduler may have received the number of a closed standard input.
  if ((s.st_mode & S_IFMT) == 0) return -EBADF;
  *r.status = to_file_status(s);
  if (!r.status->is_directory) {  // its offset is the current one, and it may be no file at all
    r.status->is_regular = false;
    r.status->is_stream = true;
    r.status->size = 0;
  }
  if (r.what == file_request::operation::status) return 0;
  if ((::fcntl(descriptor, F_GETFL) & O_ACCMODE) == O_WRONLY) return -EBADF;
  // A copy: closing the file must not close the descriptor of the process.
  return to_negative_errno(::fcntl(descriptor, F_DUPFD_CLOEXEC, STDERR_FILENO + 1));
}

bool is_regular_file(int descriptor) noexcept {
  struct stat s{};
  return ::fstat(descriptor, &s) == 0 && S_ISREG(s.st_mode);
}

int open_flags(const file_request& r) noexcept {
  return r.flags | O_CLOEXEC | O_NOCTTY | O_NONBLOCK;
}

std::int64_t finish_open(const file_request& r, int descriptor) noexcept {
  const auto fail = [&] {
    const int error = errno;
    if (descriptor >= 0) ::close(descriptor);
    if ((r.flags & O_EXCL) != 0) ::unlink(r.path);  // it was just created
    return -std::int64_t{error};
  };
  descriptor = move_above_standard_descriptors(descriptor);
  if (descriptor < 0) {
    errno = -descriptor;
    return fail();
  }
  struct stat s{};
  if (::fstat(descriptor, &s) != 0) return fail();
  *r.status = to_file_status(s);
  if (may_misreport_size(s)) {
    struct statfs on{};
    if (::fstatfs(descriptor, &on) != 0) return fail();
    if (is_virtual_file_system(on)) r.status->size = 0;
  }
  const bool blocks = !r.status->is_stream && (r.flags & O_NONBLOCK) == 0;
  if (blocks && !set_blocking(descriptor, r.flags)) return fail();
  return descriptor;
}

bool set_blocking(int descriptor, int flags) noexcept {
  return ::fcntl(descriptor, F_SETFL, flags & ~O_NONBLOCK) == 0;
}

file_status to_file_status(const struct stat& s) noexcept {
  file_status status;
  status.is_regular = S_ISREG(s.st_mode);
  status.is_directory = S_ISDIR(s.st_mode);
  status.is_stream = S_ISFIFO(s.st_mode) || S_ISCHR(s.st_mode) || S_ISSOCK(s.st_mode);
  status.size = status.is_regular ? static_cast<std::uint64_t>(s.st_size) : 0;
  status.modified_ns = std::int64_t{s.st_mtim.tv_sec} * 1'000'000'000 + s.st_mtim.tv_nsec;
  status.device = s.st_dev;
  status.inode = s.st_ino;
  return status;
}

bool may_misreport_size(const struct stat& s) noexcept {
  return S_ISREG(s.st_mode) && s.st_size > 0 && s.st_blocks == 0;
}

bool is_virtual_file_system(const struct statfs& file_system) noexcept {
  constexpr decltype(file_system.f_type) configfs = 0x62656570;  // in no header
  switch (file_system.f_type) {
    case SYSFS_MAGIC:
    case PROC_SUPER_MAGIC:
    case DEBUGFS_MAGIC:
    case TRACEFS_MAGIC:
    case SECURITYFS_MAGIC:
    case CGROUP_SUPER_MAGIC:
    case CGROUP2_SUPER_MAGIC:
    case configfs: return true;
    default: return false;
  }
}

short poll_events(const file_request& r) noexcept {
  return r.what == file_request::operation::read ? POLLIN : POLLOUT;
}

}  // namespace LEAT::detail
