// Requests as plain system calls: what the worker threads do, and what the ring leaves to be done.

#include <cerrno>
#include <cstdio>
#include <dirent.h>
#include <fcntl.h>
#include <memory>
#include <new>
#include <unistd.h>

#include "io/backends.hpp"
#include "io/system_call.hpp"

namespace leat::detail {
namespace {

std::int64_t open(const file_request& r) noexcept {
  const std::int64_t descriptor =
      uninterrupted([&] { return ::open(r.path, r.flags | O_CLOEXEC | O_NOCTTY, 0666); });
  return descriptor < 0 ? descriptor : finish_open(r, static_cast<int>(descriptor));
}

std::int64_t status_of(const file_request& r) noexcept {
  struct stat s{};
  if (::stat(r.path, &s) != 0) return -errno;
  *r.status = to_file_status(s);
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
  return uninterrupted([=] { return ::fsync(descriptor); });
}

std::int64_t sync_directory(const char* path) noexcept {
  const std::int64_t opened =
      uninterrupted([=] { return ::open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC); });
  if (opened == -EACCES) {
    // One may make files in a directory that one must not read, so not open either: then all there
    // is on the machine is synced.
    ::sync();
    return 0;
  }
  if (opened < 0) return opened;
  const int descriptor = static_cast<int>(opened);
  const std::int64_t result = sync(descriptor);
  ::close(descriptor);
  return result;
}

std::int64_t carry_out(file_request& r) noexcept {
  using op = file_request::operation;
  switch (r.what) {
    case op::open: return open(r);
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
    case op::sync: return r.path ? sync_directory(r.path) : sync(r.handle);
    case op::rename: return or_errno(std::rename(r.path, r.new_path));
    case op::remove: return or_errno(::unlink(r.path));
    case op::close: return or_errno(::close(r.handle));  // never again after EINTR: it is closed
  }
  return -ENOSYS;
}

}  // namespace

void execute(file_request& request) noexcept { request.result = carry_out(request); }

std::int64_t finish_open(const file_request& r, int descriptor) noexcept {
  struct stat s{};
  if (::fstat(descriptor, &s) != 0) {
    const int error = errno;
    ::close(descriptor);
    if ((r.flags & O_EXCL) != 0) ::unlink(r.path);  // it was made just now
    return -error;
  }
  *r.status = to_file_status(s);
  return descriptor;
}

file_status to_file_status(const struct stat& s) noexcept {
  file_status status;
  status.is_regular = S_ISREG(s.st_mode);
  status.is_directory = S_ISDIR(s.st_mode);
  status.size = status.is_regular ? static_cast<std::uint64_t>(s.st_size) : 0;
  status.modified_ns = std::int64_t{s.st_mtim.tv_sec} * 1'000'000'000 + s.st_mtim.tv_nsec;
  return status;
}

}  // namespace leat::detail
