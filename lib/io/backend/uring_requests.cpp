#if LEAT_HAVE_IO_URING

#include "io/backend/uring_requests.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <fcntl.h>
#include <memory>
#include <new>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <utility>

#include "io/backend/backend_support.hpp"

namespace LEAT::detail {
namespace {

using op = file_request::operation;

constexpr std::size_t max_transfer = std::size_t{1} << 30;  // a request may ask for more

// `backend_data` depends on the operation. For a status request it is the memory for the kernel's
// result, which begin() allocates and finish() frees. For a transfer of a stream it is null during
// the poll, and points to this object during the transfer.
char stream_is_ready;

// IORING_OP_LAST: no operation.
io_uring_op code_of(const file_request& r) noexcept {
  if (named_descriptor(r)) return IORING_OP_LAST;
  switch (r.what) {
    case op::open: return IORING_OP_OPENAT;
    case op::status: return IORING_OP_STATX;
    case op::list: return IORING_OP_LAST;
    case op::read: return IORING_OP_READ;
    case op::write: return IORING_OP_WRITE;
    case op::sync: return r.path ? IORING_OP_LAST : IORING_OP_FSYNC;
    case op::truncate:
    case op::lock: return IORING_OP_LAST;
    case op::rename: return IORING_OP_RENAMEAT;
    case op::remove: return IORING_OP_UNLINKAT;
    case op::make_directory: return IORING_OP_MKDIRAT;
    case op::close: return IORING_OP_CLOSE;
  }
  return IORING_OP_LAST;
}

struct stat to_stat(const struct statx& x) noexcept {
  struct stat s{};
  s.st_dev = ::makedev(x.stx_dev_major, x.stx_dev_minor);
  s.st_ino = x.stx_ino;
  s.st_mode = x.stx_mode;
  s.st_size = static_cast<off_t>(x.stx_size);
  s.st_blocks = static_cast<blkcnt_t>(x.stx_blocks);
  s.st_mtim.tv_sec = x.stx_mtime.tv_sec;
  s.st_mtim.tv_nsec = static_cast<long>(x.stx_mtime.tv_nsec);
  return s;
}

}  // namespace

int uring_requests::probe(io_uring& ring) noexcept {
  constexpr unsigned most = 256;  // the code of an operation is one byte
  constexpr std::size_t size = sizeof(io_uring_probe) + most * sizeof(io_uring_probe_op);
  alignas(io_uring_probe) std::array<std::byte, size> memory{};
  auto* const known = reinterpret_cast<io_uring_probe*>(memory.data());
  const int error = ::io_uring_register_probe(&ring, known, most);
  if (error < 0) return error;
  for (int code = 0; code < IORING_OP_LAST; ++code) {
    known_[static_cast<std::size_t>(code)] = ::io_uring_opcode_supported(known, code) != 0;
  }
  const bool enough = known_[IORING_OP_READ] && known_[IORING_OP_WRITE] &&
                      known_[IORING_OP_FSYNC] && known_[IORING_OP_POLL_ADD] &&
                      known_[IORING_OP_ASYNC_CANCEL];
  return enough ? 0 : -ENOSYS;
}

bool uring_requests::begin(file_request& r) const noexcept {
  const io_uring_op code = code_of(r);
  if (code == IORING_OP_LAST || !known_[code]) return false;
  if (r.what != op::status) return true;
  r.backend_data = new (std::nothrow) struct statx;
  return r.backend_data != nullptr;
}

void uring_requests::prepare(io_uring_sqe& sqe, file_request& r) noexcept {
  const auto size = static_cast<unsigned>(std::min(r.size, max_transfer));
  if (is_stream_transfer(r) && !r.backend_data) {
    ::io_uring_prep_poll_add(&sqe, r.handle, static_cast<unsigned>(poll_events(r)));
    ::io_uring_sqe_set_data(&sqe, &r);
    return;
  }
  switch (r.what) {
    case op::open: ::io_uring_prep_openat(&sqe, AT_FDCWD, r.path, open_flags(r), 0666); break;
    case op::status:
      ::io_uring_prep_statx(&sqe, AT_FDCWD, r.path, 0, STATX_BASIC_STATS,
                            static_cast<struct statx*>(r.backend_data));
      break;
    case op::list:
    case op::truncate:
    case op::lock: break;
    case op::read: ::io_uring_prep_read(&sqe, r.handle, r.data, size, r.offset); break;
    case op::write: ::io_uring_prep_write(&sqe, r.handle, r.data, size, r.offset); break;
    case op::sync: ::io_uring_prep_fsync(&sqe, r.handle, 0); break;
    case op::rename: ::io_uring_prep_rename(&sqe, r.path, r.new_path); break;
    case op::remove: ::io_uring_prep_unlink(&sqe, r.path, 0); break;
    case op::make_directory: ::io_uring_prep_mkdir(&sqe, r.path, 0777); break;
    case op::close: ::io_uring_prep_close(&sqe, r.handle); break;
  }
  ::io_uring_sqe_set_data(&sqe, &r);
}

uring_requests::next_step uring_requests::finish(file_request& r, std::int64_t result) noexcept {
  r.result = result;
  if (is_stream_transfer(r)) return finish_stream_transfer(r);
  if (r.what == op::open) {
    if (result == -EAGAIN) return next_step::workers;  // see execute()
    if (result >= 0) r.result = finish_open(r, static_cast<int>(result));
  } else if (r.what == op::status) {
    const std::unique_ptr<struct statx> known(static_cast<struct statx*>(r.backend_data));
    r.backend_data = nullptr;
    if (result < 0) return next_step::none;
    const struct stat s = to_stat(*known);
    if (may_misreport_size(s)) return next_step::workers;
    *r.status = to_file_status(s);
  }
  return next_step::none;
}

// The stream is polled before it is read: a pipe without a writer so far would be at its end, and
// the kernel would keep a buffer as long as there is no data.
uring_requests::next_step uring_requests::finish_stream_transfer(file_request& r) noexcept {
  const bool was_ready = std::exchange(r.backend_data, nullptr) != nullptr;
  if (!was_ready && r.result >= 0) {
    r.backend_data = &stream_is_ready;
    return next_step::ring;
  }
  return was_ready && r.result == -EAGAIN ? next_step::ring : next_step::none;
}

}  // namespace LEAT::detail

#endif
