// Requests as plain system calls: what the worker threads do, and what the ring leaves to be done.

#include <cerrno>
#include <cstdio>
#include <dirent.h>
#include <fcntl.h>
#include <memory>
#include <new>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include "io/backends.hpp"

namespace leat::detail {
namespace {

std::int64_t or_errno(std::int64_t result) noexcept { return result < 0 ? -errno : result; }

template <class Call>
std::int64_t uninterrupted(Call call) noexcept {
  for (;;) {
    const std::int64_t result = or_errno(call());
    if (result != -EINTR) return result;
  }
}

std::int64_t status_of(const file_request& r) noexcept {
  struct stat s{};
  if ((r.path ? ::stat(r.path, &s) : ::fstat(r.handle, &s)) != 0) return -errno;
  r.status->is_regular = S_ISREG(s.st_mode);
  r.status->is_directory = S_ISDIR(s.st_mode);
  r.status->size = r.status->is_regular ? static_cast<std::uint64_t>(s.st_size) : 0;
  r.status->modified_ns = std::int64_t{s.st_mtim.tv_sec} * 1'000'000'000 + s.st_mtim.tv_nsec;
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

std::int64_t carry_out(file_request& r) noexcept {
  using op = file_request::operation;
  switch (r.what) {
    case op::open: return uninterrupted([&] { return ::open(r.path, r.flags | O_CLOEXEC, 0666); });
    case op::status: return status_of(r);
    case op::list: return list(r);
    case op::read:
      return uninterrupted([&]() -> std::int64_t {
        if (r.offset == next_byte) return ::read(r.handle, r.data, r.size);
        return ::pread(r.handle, r.data, r.size, static_cast<off_t>(r.offset));
      });
    case op::write:
      return uninterrupted([&]() -> std::int64_t {
        if (r.offset == next_byte) return ::write(r.handle, r.data, r.size);
        return ::pwrite(r.handle, r.data, r.size, static_cast<off_t>(r.offset));
      });
    case op::sync: return uninterrupted([&] { return ::fsync(r.handle); });
    case op::rename: return or_errno(std::rename(r.path, r.new_path));
    case op::remove: return or_errno(::unlink(r.path));
    case op::close: return or_errno(::close(r.handle));  // never again after EINTR: it is closed
  }
  return -ENOSYS;
}

}  // namespace

void execute(file_request& request) noexcept { request.result = carry_out(request); }

bool read_cached(file_request& r) noexcept {
  if (r.what != file_request::operation::read || r.offset == next_byte) return false;
  iovec buffer{r.data, r.size};
  const ssize_t n = ::preadv2(r.handle, &buffer, 1, static_cast<off_t>(r.offset), RWF_NOWAIT);
  if (n < 0) return false;  // not cached, or not known here: the slower way tells
  r.result = n;
  return true;
}

}  // namespace leat::detail
