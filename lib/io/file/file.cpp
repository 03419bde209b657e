#include "leat/io/file/file.hpp"

#include <algorithm>
#include <cerrno>
#include <fcntl.h>
#include <ostream>
#include <thread>
#include <utility>

#include "base/internal/thread_not_started.hpp"
#include "base/text/text_in_seconds.hpp"
#include "io/backend/backend_support.hpp"
#include "leat/async/this_task.hpp"
#include "leat/base/error.hpp"
#include "leat/base/internal/assert.hpp"
#include "leat/io/backend/get_file_backend.hpp"
#include "leat/io/file/internal/atomic_file.hpp"

namespace LEAT {

// ---------------------------------------------------------------------------------- one request

// A file_operation is two work items: the request in `completion_`, which the backend posts when it
// has ended, and the operation itself, which resumes the task. The run function of the first one
// returns a request that ended with "try again" to the backend, or else posts the second one.
//
// Both are in the frame of the task, and the kernel may use the buffer as long as under_way_ is
// true. So neither a stop nor the end of the scheduler may destroy the frame before the request has
// ended.

const wait_operation::kind file_operation::file_kind{"wait for file", &file_operation::cancel,
                                                     &file_operation::describe};

file_operation::file_operation(file_backend& backend, const file_request& request,
                               std::string_view path, const std::source_location& where) noexcept
    : wait_operation(file_kind, where), backend_(backend), completion_{{request}}, path_(path) {
  completion_.owner = this;
  completion_.run_ = [](work_item& item) noexcept {
    auto& self = static_cast<completion&>(static_cast<file_request&>(item));
    if (self.resubmit(self.owner->backend_)) return;
    self.owner->under_way_ = false;
    self.owner->wake();
  };
}

// The coroutine is destroyed, usually with its scheduler. The kernel may still use the buffer, so
// this waits until the request has ended. Only a transfer of a stream is cancelled: it might never
// end otherwise.
void file_operation::finish_abandoned() noexcept {
  LEAT_ASSERT(!under_way_ || scheduler_->is_ending(),
              "coroutine destroyed while a file operation uses its buffer: let the operation end "
              "first");
  if (under_way_ && completion_.offset == at_stream_position) backend_.cancel(completion_);
  while (under_way_ && scheduler_->run_posted_items()) std::this_thread::yield();
  if (under_way_) return;  // in a child of fork(): it belongs to the parent
  withdraw_wakeup();
  // The task will not receive the descriptor, so no handle will close it.
  if (completion_.what != file_request::operation::open || completion_.result < 0) return;
  file_request close;
  close.what = file_request::operation::close;
  close.handle = static_cast<int>(completion_.result);
  backend_.execute_blocking(close);
}

// A task that was asked to stop starts no new operation, but may close open files.
bool file_operation::reject_if_stopped() noexcept {
  if (!stop_requested() || completion_.what == file_request::operation::close) return false;
  completion_.result = -ECANCELED;
  return true;
}

bool file_operation::await_ready() noexcept {
  ended_ = reject_if_stopped() || backend_.try_complete(completion_);
  return ended_ && (!bound() || context_->get_scheduler().consume_budget());
}

bool file_operation::await_suspend(std::coroutine_handle<> h) {
  if (!bound()) attach(h);
  completion_.completion_scheduler = scheduler_;
  begin_wait();
  if (ended_) {  // but other tasks run first
    wake();
  } else {
    under_way_ = true;
    backend_.submit(completion_);
  }
  return true;
}

void file_operation::cancel(wait_operation& w) noexcept {
  auto& self = static_cast<file_operation&>(w);
  if (self.ended_) return;
  if (!std::exchange(self.is_cancelled_, true)) self.cancelled_at_ = self.scheduler_->now();
  if (self.completion_.offset == at_stream_position) self.backend_.cancel(self.completion_);
}

void file_operation::describe(const wait_operation& w, std::ostream& out) {
  const auto& self = static_cast<const file_operation&>(w);
  out << "'" << self.path_ << "'";
  if (self.completion_.size > 0) {
    out << " (" << self.completion_.size << " bytes" << detail::offset_text(self.completion_.offset)
        << ")";
  }
  if (!self.is_cancelled_) return;
  out << detail::cancelled_text(self.scheduler_->now() - self.cancelled_at_);
}

std::string detail::offset_text(std::uint64_t offset) {
  return offset == at_stream_position ? std::string() : " at offset " + std::to_string(offset);
}

std::exception_ptr detail::file_error(std::int64_t negative_errno, std::string_view path,
                                      std::string_view what) {
  std::string text = std::string(path) + ": " + std::string(what);
  if (negative_errno == no_thread_for_streams) {
    negative_errno = -EAGAIN;
    text += ": " + thread_not_started("the thread that waits for pipes, terminals and sockets");
  }
  const std::error_code ec(static_cast<int>(-negative_errno), std::generic_category());
  return std::make_exception_ptr(failure(ec, text));
}

void detail::throw_file_error(std::int64_t negative_errno, std::string_view path,
                              std::string_view what) {
  std::rethrow_exception(file_error(negative_errno, path, what));
}

void detail::require_capability(const std::string& path, const file_backend& backend,
                                bool file_capabilities::* capability) {
  if (backend.capabilities().*capability) return;
  const char* const what = capability == &file_capabilities::lock     ? "lock"
                           : capability == &file_capabilities::rename ? "rename"
                                                                      : "truncate";
  throw failure(errc::unimplemented, path + ": file backend '" + std::string(backend.name()) +
                                         "' cannot " + what + " files");
}

void detail::check_path(const std::string& path) {
  if (path.find('\0') == std::string::npos) return;
  throw failure(errc::invalid_argument, std::string(path.c_str()) + ": path contains a NUL byte");
}

namespace {

using op = file_request::operation;

file_request make_path_request(op what, const std::string& path) {
  detail::check_path(path);
  file_request r;
  r.what = what;
  r.path = path.c_str();
  return r;
}

file_request make_handle_request(op what, int handle) {
  file_request r;
  r.what = what;
  r.handle = handle;
  return r;
}

task<std::int64_t> execute_request(file_request request, std::string_view path,
                                   std::source_location where) {
  file_backend& backend = get_file_backend(this_task::get_scheduler()).backend_for(request.path);
  co_return co_await file_operation(backend, request, path, where);
}

int to_open_flags(open_mode mode) noexcept {
  switch (mode) {
    case open_mode::read: return O_RDONLY;
    case open_mode::write: return O_WRONLY | O_CREAT | O_TRUNC;
    case open_mode::write_new: return O_WRONLY | O_CREAT | O_EXCL;
    case open_mode::append: return O_WRONLY | O_CREAT;
    case open_mode::read_write: return O_RDWR;
    case open_mode::lock: return O_RDWR | O_CREAT | O_NOFOLLOW;
  }
  return O_RDONLY;
}

}  // namespace

// ------------------------------------------------------------------------------------------ file

void detail::file_handle::run_without_scheduler(file_request& request) const noexcept {
  // A descriptor needs no backend, which its scheduler may already have destroyed.
  if (is_descriptor) {
    execute(request);
  } else {
    backend.execute_blocking(request);
  }
}

detail::file_handle::~file_handle() {
  if (number < 0) return;
  file_request request = make_handle_request(op::close, number);
  scheduler* const sched = scheduler::current();
  // Closing may take long on a network file system, so a close in a turn goes to the backend; see
  // was_read_from_cache.
  // No task waits for it: the request frees itself.
  struct detached_close : file_request {};
  const bool in_turn = sched && is_at_home() && !was_read_from_cache;
  auto* const last = in_turn ? new (std::nothrow) detached_close{request} : nullptr;
  if (!last) {
    run_without_scheduler(request);
    return;
  }
  last->run_ = [](work_item& item) noexcept {
    auto* const self = static_cast<detached_close*>(static_cast<file_request*>(&item));
    scheduler& where = *self->completion_scheduler;
    delete self;
    // Last: the hold keeps the scheduler until this item has run.
    where.remove_hold();
  };
  last->completion_scheduler = sched;
  sched->add_hold();
  backend.submit(*last);
}

detail::file_handle::operation_guard file::begin_operation() const {
  if (!open_) throw failure(errc::failed_precondition, path_ + ": file is not open");
  return detail::file_handle::operation_guard(open_);
}

task<file> file::open(std::string path, open_mode mode, std::source_location where) {
  if (path.empty()) throw failure(errc::not_found, "'': cannot open a file with an empty path");
  file f;
  f.path_ = std::move(path);
  // The object that closes the file exists before the file is opened.
  file_backend& home = get_file_backend(this_task::get_scheduler());
  f.open_ = std::make_shared<detail::file_handle>(home, home.backend_for(f.path_), -1);
  file_request request = make_path_request(op::open, f.path_);
  request.flags = to_open_flags(mode);
  request.status = &f.status_;
  const auto handle = co_await file_operation(f.open_->backend, request, f.path_, where);
  if (handle == -ELOOP && mode == open_mode::lock) {
    throw failure(errc::failed_precondition,
                  f.path_ + ": symbolic link is not followed: use the path of a regular file");
  }
  if (handle < 0) detail::throw_file_error(handle, f.path_, "cannot open");
  f.open_->number = static_cast<int>(handle);
  if (f.status_.is_directory) detail::throw_file_error(-EISDIR, f.path_, "cannot read");
  co_return f;
}

task<std::size_t> file::read_at(std::uint64_t offset, std::span<std::byte> to,
                                std::source_location where) {
  const detail::file_handle::operation_guard open = begin_operation();
  std::size_t done = 0;
  while (done < to.size()) {
    file_request request = make_handle_request(op::read, open->number);
    request.data = to.data() + done;
    request.size = to.size() - done;
    request.offset = offset == at_stream_position ? at_stream_position : offset + done;
    const auto n = co_await file_operation(open->backend, request, path_, where);
    const bool stopped =
        n == -ECANCELED && offset == at_stream_position && done > 0;  // taken bytes are kept
    if (n < 0 && !stopped) {
      detail::throw_file_error(n, path_, "cannot read" + detail::offset_text(request.offset));
    }
    if (n <= 0) break;
    done += static_cast<std::size_t>(n);
  }
  co_return done;
}

task<void> file::write_at(std::uint64_t offset, std::span<const std::byte> from,
                          std::source_location where) {
  const detail::file_handle::operation_guard open = begin_operation();
  std::size_t done = 0;
  while (done < from.size()) {
    file_request request = make_handle_request(op::write, open->number);
    request.data = const_cast<std::byte*>(from.data()) + done;  // a write only reads it
    request.size = from.size() - done;
    request.offset = offset == at_stream_position ? at_stream_position : offset + done;
    const auto n = co_await file_operation(open->backend, request, path_, where);
    if (n < 0) {
      detail::throw_file_error(n, path_, "cannot write" + detail::offset_text(request.offset));
    }
    done += static_cast<std::size_t>(n);
  }
}

task<void> file::truncate(std::uint64_t size, std::source_location where) {
  const detail::file_handle::operation_guard open = begin_operation();
  detail::require_capability(path_, open->backend, &file_capabilities::truncate);
  file_request request = make_handle_request(op::truncate, open->number);
  request.offset = size;
  const auto r = co_await file_operation(open->backend, request, path_, where);
  if (r < 0) {
    detail::throw_file_error(r, path_, "cannot truncate to " + std::to_string(size) + " bytes");
  }
}

task<bool> file::try_lock(std::source_location where) {
  const detail::file_handle::operation_guard open = begin_operation();
  detail::require_capability(path_, open->backend, &file_capabilities::lock);
  const file_request request = make_handle_request(op::lock, open->number);
  const auto r = co_await file_operation(open->backend, request, path_, where);
  if (r < 0 && r != -EBUSY) detail::throw_file_error(r, path_, "cannot lock");
  co_return r == 0;
}

task<void> file::sync(std::source_location where) {
  const detail::file_handle::operation_guard open = begin_operation();
  if (open->sync_error != 0) {
    detail::throw_file_error(
        open->sync_error, path_,
        "cannot sync after an earlier sync failed, data may be lost; write the file again");
  }
  const file_request request = make_handle_request(op::sync, open->number);
  const auto r = co_await file_operation(open->backend, request, path_, where);
  if (r >= 0) co_return;
  // After these errors nothing was written. After any other error, the system may count pages as
  // written that it could not write, and reports this only once.
  const bool untried = r == -ECANCELED || r == -ENOMEM || r == -EINTR || r == -EAGAIN;
  if (!untried) open->sync_error = r;
  detail::throw_file_error(r, path_, "cannot sync");
}

task<void> file::close(std::source_location where) {
  if (!open_) co_return;
  LEAT_ASSERT(open_->is_at_home(),
              "file closed on another scheduler: close it on the scheduler that opened it");
  LEAT_ASSERT(!open_->in_use(), "file closed while a task uses it: join the task first");
  // The number is taken away before the request: even after an error or EINTR it is not closed
  // again, because it may then belong to another file.
  const auto open = std::exchange(open_, nullptr);
  file_request request = make_handle_request(op::close, std::exchange(open->number, -1));
  if (open->was_read_from_cache) {
    open->run_without_scheduler(request);
  } else {
    request.result = co_await file_operation(open->backend, request, path_, where);
  }
  if (request.result < 0) detail::throw_file_error(request.result, path_, "cannot close");
}

// ------------------------------------------------------------------------------------------ paths

task<file_status> get_status(std::string path) {
  file_status status;
  file_request request = make_path_request(op::status, path);
  request.status = &status;
  const auto r = co_await execute_request(request, path, std::source_location::current());
  if (r < 0) detail::throw_file_error(r, path, "cannot get the status");
  co_return status;
}

task<std::vector<std::string>> list_directory(std::string path) {
  std::vector<std::string> names;
  file_request request = make_path_request(op::list, path);
  request.names = &names;
  const auto r = co_await execute_request(request, path, std::source_location::current());
  if (r < 0) detail::throw_file_error(r, path, "cannot list");
  std::sort(names.begin(), names.end());
  co_return names;
}

task<void> rename_file(std::string from, std::string to) {
  file_request request = make_path_request(op::rename, from);
  request.new_path = make_path_request(op::rename, to).path;
  file_backend& home = get_file_backend(this_task::get_scheduler());
  file_backend& backend = home.backend_for(from);
  detail::require_capability(from, backend, &file_capabilities::rename);
  if (file_backend& other = home.backend_for(to); &other != &backend) {
    detail::throw_file_error(-EXDEV, from,
                             "cannot rename to " + to + ", from file backend '" +
                                 std::string(backend.name()) + "' to '" +
                                 std::string(other.name()) + "'");
  }
  const auto r = co_await execute_request(request, from, std::source_location::current());
  if (r < 0) detail::throw_file_error(r, from, "cannot rename to " + to);
}

task<void> remove_file(std::string path) {
  const auto r = co_await execute_request(make_path_request(op::remove, path), path,
                                          std::source_location::current());
  if (r < 0) detail::throw_file_error(r, path, "cannot remove");
}

namespace {

// Another program has created the directory, or another entry has its name.
task<void> require_directory(std::string path) {
  file_status there;
  file_request request = make_path_request(op::status, path);
  request.status = &there;
  const auto r = co_await execute_request(request, path, std::source_location::current());
  if (r == 0 && there.is_directory) co_return;
  detail::throw_file_error(-ENOTDIR, path,
                           "cannot create the directory: a file, or a link that leads nowhere, has "
                           "its name");
}

}  // namespace

task<void> make_directories(std::string path) {
  // Finds the missing directories from the end of the path, then creates them from the top down.
  std::size_t end = path.size();
  std::vector<std::size_t> missing;
  for (; end > 0; end = path.find_last_of('/', end - 1)) {
    const std::string part = path.substr(0, end);
    file_status there;
    file_request request = make_path_request(op::status, part);
    request.status = &there;
    const auto r = co_await execute_request(request, part, std::source_location::current());
    if (r == 0 && !there.is_directory)
      detail::throw_file_error(-ENOTDIR, part, "cannot create a directory in it");
    if (r == 0) break;
    if (r != -ENOENT) detail::throw_file_error(r, part, "cannot get the status");
    missing.push_back(end);
    if (part.find('/') == std::string::npos) break;
  }
  while (!missing.empty()) {
    const std::string part = path.substr(0, missing.back());
    missing.pop_back();
    const auto r = co_await execute_request(make_path_request(op::make_directory, part), part,
                                            std::source_location::current());
    if (r == -EEXIST) {
      co_await require_directory(part);
    } else if (r < 0) {
      detail::throw_file_error(r, part, "cannot create the directory");
    }
    const std::size_t slash = part.find_last_of('/');
    std::string above = slash == std::string::npos ? "." : part.substr(0, slash + 1);
    co_await sync_directory(std::move(above));
  }
}

task<void> sync_directory(std::string path) {
  const auto r = co_await execute_request(make_path_request(op::sync, path), path,
                                          std::source_location::current());
  if (r < 0) detail::throw_file_error(r, path, "cannot sync");
}

}  // namespace LEAT
