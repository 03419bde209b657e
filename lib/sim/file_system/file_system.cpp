#include "leat/sim/file_system/file_system.hpp"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <fcntl.h>
#include <new>
#include <utility>

#include "files/internal/buffer_ownership.hpp"
#include "leat/sim/allocation_faults.hpp"
#include "leat/sim/virtual_scheduler.hpp"
#include "sim/file_system/operation_names.hpp"
#include "sim/file_system/path_names.hpp"

namespace LEAT::sim {
namespace {

using op = file_request::operation;

bool transfers_bytes(const file_request& r) noexcept {
  return r.what == op::read || r.what == op::write;
}

// Crash points are the operations that change the contents of the device.
bool changes_something(const file_request& r) noexcept {
  switch (r.what) {
    case op::write:
    case op::sync:
    case op::truncate:
    case op::rename:
    case op::remove:
    case op::make_directory: return true;
    case op::open: return (r.flags & (O_CREAT | O_TRUNC)) != 0;
    default: return false;
  }
}

// Faults that need a device: the page cache does not cause them.
bool needs_device(fault f) noexcept {
  switch (f) {
    case fault::interrupted:
    case fault::again:
    case fault::cancelled_late:
    case fault::io_error:
    case fault::slow: return true;
    default: return false;
  }
}

}  // namespace

file_system::file_system(decision_source& c, const file_system_options& options,
                         std::function<void(std::string)> violation)
    : decisions_(c), options_(options), violation_(std::move(violation)) {
  report_change();
}

std::uint64_t file_system::bytes_used() const noexcept {
  std::uint64_t sum = 0;
  for (const auto& [path, n] : names_) sum += n->data.size();
  return sum;
}

// ------------------------------------------------------------------------------------- operations

bool file_system::applies(fault f, const file_request& r) noexcept {
  switch (f) {
    case fault::none: return true;
    case fault::slow: return r.what != op::close;
    case fault::short_transfer: return transfers_bytes(r) && r.size > 1;
    case fault::cancelled_late:
      return (transfers_bytes(r) && r.offset != at_stream_position) || r.what == op::sync;
    case fault::bit_flip: return r.what == op::read && r.size > 0;
    case fault::truncated: return r.what == op::read && r.offset != at_stream_position;
    case fault::replaced:
      return (r.what == op::read && r.offset != at_stream_position) || r.what == op::open;
    case fault::no_space:
      return r.what == op::write || r.what == op::make_directory ||
             (r.what == op::open && (r.flags & O_CREAT) != 0);
    case fault::crash_before:
    case fault::crash_after: return changes_something(r);
    case fault::interrupted:
    case fault::again:
    case fault::io_error: return r.what != op::close;
  }
  return false;
}

bool file_system::is_planned(std::uint64_t call) const noexcept {
  return options_.plan && options_.plan->call == call;
}

// Chooses the fault of a counted call.
fault file_system::decide(const file_request& r) {
  ++calls_;
  if (deferred_fault_ != fault::none && !is_planned(calls_) && applies(deferred_fault_, r)) {
    return std::exchange(deferred_fault_, fault::none);
  }
  return draw(r, calls_);
}

fault file_system::draw(const file_request& r, std::uint64_t call) {
  if (is_planned(call)) return applies(options_.plan->what, r) ? options_.plan->what : fault::none;
  const fault_rates& rate = options_.faults;
  const std::pair<double, fault> all[] = {
      {rate.short_transfer, fault::short_transfer},
      {rate.interrupted, fault::interrupted},
      {rate.again, fault::again},
      {rate.cancelled_late, fault::cancelled_late},
      {rate.io_error, fault::io_error},
      {rate.no_space, fault::no_space},
      {rate.bit_flip, fault::bit_flip},
      {rate.truncated, fault::truncated},
      {rate.replaced, fault::replaced},
  };
  for (const auto& [probability, f] : all) {
    if (applies(f, r) && decisions_.chance(probability, "fault")) return f;
  }
  if (changes_something(r) && decisions_.chance(rate.crash, "crash")) {
    return decisions_.choose(2, "before or after it") == 0 ? fault::crash_before
                                                           : fault::crash_after;
  }
  return fault::none;
}

duration file_system::latency(pending& p) {
  using namespace std::chrono_literals;
  p.slow = p.what == fault::slow || decisions_.chance(options_.faults.slow, "slow operation");
  if (p.slow) {
    return std::chrono::minutes(1 + decisions_.choose(10, "minutes"));
  }
  constexpr duration times[] = {0us, 10us, 100us, 1ms, 10ms};
  return times[decisions_.choose(std::size(times), "latency")];
}

void file_system::submit(file_request& request) noexcept {
  const allocation_faults::without_faults own;
  if (is_ended_) {
    request.result = -ECANCELED;
    request.completion_scheduler->post(request);
    return;
  }
  try {
    pending p{&request, {}, order_++, decide(request)};
    p.due = waits_for_data(request) ? no_deadline : now_ + latency(p);
    if (transfers_bytes(request)) hash_buffer(p);
    enqueue(std::move(p));
    leat::detail::mark_kernel_owned(request);
  } catch (const std::bad_alloc&) {
    request.result = -ENOMEM;
    request.completion_scheduler->post(request);
  }
}

void file_system::enqueue(pending p) {
  const auto position = std::upper_bound(pending_.begin(), pending_.end(), p.due,
                                         [](time_point t, const pending& q) { return t < q.due; });
  pending_.insert(position, std::move(p));
  report_change();
}

// Whether a read is served from the page cache.
bool file_system::try_complete(file_request& request) noexcept {
  const allocation_faults::without_faults own;
  const bool may_be_cached = (request.what == op::read && request.offset != at_stream_position) ||
                             request.what == op::status ||
                             (request.what == op::open && !changes_something(request));
  if (!may_be_cached || crashed_ || is_ended_) return false;
  try {
    if (deferred_fault_ != fault::none || decisions_.choose(2, "in the cache?") == 1) return false;
    const fault f = draw(request, calls_ + 1);
    if (needs_device(f)) {  // it is not in the cache, and the next call counts
      if (!is_planned(calls_ + 1)) deferred_fault_ = f;
      return false;
    }
    ++calls_;
    if (f != fault::none) {
      fault_text_.append(", ")
          .append(describe(request))
          .append(" from the cache")
          .append(name_of(f));
    }
    request.result = perform(request, f);
    return true;
  } catch (const std::bad_alloc&) {
    return false;
  }
}

void file_system::execute_blocking(file_request& request) noexcept {
  const allocation_faults::without_faults own;
  try {
    request.result = perform(request, fault::none);
  } catch (const std::bad_alloc&) {
    request.result = -ENOMEM;
  }
}

void file_system::install(virtual_scheduler& thread) { thread.set_service<file_backend>(this); }

void file_system::set_time(time_point now, wall_time_point wall) noexcept {
  now_ = now;
  wall_ns_ = std::chrono::nanoseconds(wall.time_since_epoch()).count();
}

time_point file_system::next_completion() const noexcept {
  return pending_.empty() ? no_deadline : pending_.front().due;
}

std::size_t file_system::due(time_point now) const noexcept {
  const auto later = std::upper_bound(pending_.begin(), pending_.end(), now,
                                      [](time_point t, const pending& q) { return t < q.due; });
  return static_cast<std::size_t>(later - pending_.begin());
}

// The text of an operation in a schedule: "read '/a' at 512".
std::string file_system::describe(const file_request& r) const {
  std::string text = name_of(r.what);
  if (r.path) return text.append(" '").append(r.path).append("'");
  const auto f = open_.find(r.handle);
  if (f == open_.end()) return text;
  text.append(" '").append(f->second.path).append("'");
  if (transfers_bytes(r) && r.offset != at_stream_position)
    text += " at " + std::to_string(r.offset);
  return text;
}

std::string file_system::complete(std::size_t index) {
  const auto at = pending_.begin() + static_cast<std::ptrdiff_t>(index);
  file_request& r = *at->request;
  std::string text = describe(r);
  if (at->slow) text += name_of(fault::slow);
  if (at->what != fault::slow && !at->cancelled && !crashed_) text += name_of(at->what);
  // From here on the operation completes, even without memory.
  const pending p = std::move(*at);
  pending_.erase(at);
  report_change();
  leat::detail::mark_user_owned(r);
  try {
    if (transfers_bytes(r)) check_buffer(p);
    r.result = p.cancelled ? -ECANCELED : perform(r, p.what);
  } catch (const std::bad_alloc&) {
    r.result = -ENOMEM;
  }
  r.completion_scheduler->post(r);
  if (r.result < 0) text.append(": ").append(std::strerror(static_cast<int>(-r.result)));
  return text;
}

std::int64_t file_system::perform(file_request& r, fault f) {
  if (f == fault::crash_before) crashed_ = true;
  if (crashed_) return r.what == op::close ? 0 : -EIO;
  switch (f) {
    case fault::interrupted: return -EINTR;
    case fault::again: return -EAGAIN;
    case fault::io_error: lose_sectors(r); return -EIO;
    case fault::no_space: return -ENOSPC;
    case fault::truncated:
    case fault::replaced: apply_fault(r, f); break;
    default: break;
  }
  const std::int64_t result = execute(r, f == fault::short_transfer, f == fault::bit_flip);
  if (f == fault::cancelled_late) return -ECANCELED;
  if (f == fault::crash_after) {
    crashed_ = true;
    return -EIO;
  }
  return result;
}

std::int64_t file_system::execute(file_request& r, bool shortened, bool flipped) {
  switch (r.what) {
    case op::open: return open(r);
    case op::status: return status(r);
    case op::list: return list(r);
    case op::read: return read(r, shortened, flipped);
    case op::write: return write(r, shortened);
    case op::sync: return sync(r);
    case op::truncate: return truncate(r);
    case op::lock: return lock(r);
    case op::rename: {
      const std::string from = canonical(r.path);
      const std::string to = canonical(r.new_path);
      if (!names_.contains(from) || !directories_.contains(parent_of(to))) return -ENOENT;
      if (directories_.contains(to)) return -EISDIR;
      rename(from, to);
      return 0;
    }
    case op::remove: {
      const std::string path = canonical(r.path);
      if (directories_.contains(path)) return -EISDIR;
      if (!names_.contains(path)) return -ENOENT;
      apply_change({{{path, nullptr}}});
      return 0;
    }
    case op::make_directory: return new_directory(canonical(r.path));
    case op::close: return open_.erase(r.handle) == 1 ? 0 : -EBADF;
  }
  return -ENOSYS;
}

std::int64_t file_system::open(const file_request& r) {
  const std::string path = canonical(r.path);
  if (open_.size() >= options_.max_open_files) return -EMFILE;
  const int access = r.flags & O_ACCMODE;
  open_file f;
  f.path = path;
  f.reads = access != O_WRONLY;
  f.writes = access != O_RDONLY;
  if (directories_.contains(path)) {
    if (f.writes) return -EISDIR;
  } else {
    const auto found = names_.find(path);
    if (found == names_.end()) {
      if ((r.flags & O_CREAT) == 0 || !directories_.contains(parent_of(path))) return -ENOENT;
      f.target = make_node();
      f.target->modified_ns = wall_ns_;
      apply_change({{{path, f.target}}});
    } else {
      if ((r.flags & O_CREAT) != 0 && (r.flags & O_EXCL) != 0) return -EEXIST;
      f.target = found->second;
      if ((r.flags & O_TRUNC) != 0) {
        resize(*f.target, 0);
      }
    }
  }
  int handle = first_handle_;  // the lowest free number, as in a system
  while (open_.contains(handle)) ++handle;
  highest_handle_ = std::max(highest_handle_, handle);
  *r.status = make_status(f.target.get());
  open_.emplace(handle, std::move(f));
  return handle;
}

std::int64_t file_system::read(file_request& r, bool shortened, bool flipped) {
  const auto found = open_.find(r.handle);
  if (found == open_.end()) return -EBADF;
  open_file& f = found->second;
  if (!f.target) return -EISDIR;
  if (!f.reads) return -EBADF;
  const auto& data = f.target->data;
  if (violates_alignment(r, f)) return -EINVAL;
  if (waits_for_data(r)) return -EAGAIN;  // another reader was faster
  std::uint64_t& position = f.target->is_pipe ? f.target->taken : f.position;
  const std::uint64_t from = r.offset == at_stream_position ? position : r.offset;
  if (from >= data.size() || r.size == 0) return 0;
  std::size_t count = std::min<std::size_t>(r.size, data.size() - from);
  if (shortened && count > 1) count = 1 + decisions_.choose(count - 1, "bytes of a short read");
  std::memcpy(r.data, data.data() + from, count);
  if (flipped) {
    const std::uint32_t bit = decisions_.choose(count * 8, "bit");
    r.data[bit / 8] ^= static_cast<std::byte>(1U << (bit % 8));
  }
  if (r.offset == at_stream_position) position += count;
  return static_cast<std::int64_t>(count);
}

std::int64_t file_system::write(file_request& r, bool shortened) {
  const auto found = open_.find(r.handle);
  if (found == open_.end()) return -EBADF;
  open_file& f = found->second;
  if (!f.target || !f.writes) return -EBADF;
  node& n = *f.target;
  const std::uint64_t from = r.offset == at_stream_position ? f.position : r.offset;
  std::size_t count = r.size;
  if (shortened && count > 1) count = 1 + decisions_.choose(count - 1, "bytes of a short write");
  if (from + count > n.data.size()) {
    const std::uint64_t used = bytes_used();
    const std::uint64_t max_size =
        n.data.size() + (options_.size > used ? options_.size - used : 0);
    if (max_size <= from && count > 0) return -ENOSPC;
    count = std::min<std::size_t>(count, max_size - from);
    n.data.resize(std::max<std::size_t>(n.data.size(), from + count));
  }
  std::memcpy(n.data.data() + from, r.data, count);
  for (std::size_t s = from / sector_size; s * sector_size < from + count; ++s) {
    n.dirty.insert(s);
    n.lost.erase(s);
  }
  n.modified_ns = wall_ns_;
  if (r.offset == at_stream_position) f.position += count;
  return static_cast<std::int64_t>(count);
}

std::int64_t file_system::truncate(const file_request& r) {
  const auto found = open_.find(r.handle);
  if (found == open_.end()) return -EBADF;
  if (!found->second.target || !found->second.writes) return -EINVAL;
  resize(*found->second.target, r.offset);
  return 0;
}

// Locks the open file until it is closed, like flock(2).
std::int64_t file_system::lock(const file_request& r) {
  const auto found = open_.find(r.handle);
  if (found == open_.end()) return -EBADF;
  for (const auto& [handle, other] : open_) {
    if (other.is_locked && other.target == found->second.target && handle != r.handle) {
      return -EBUSY;
    }
  }
  found->second.is_locked = true;
  return 0;
}

std::shared_ptr<file_system::node> file_system::make_node() {
  auto n = std::make_shared<node>();
  n->inode = ++nodes_;
  return n;
}

// Returns null for a directory.
file_status file_system::make_status(const node* n) {
  file_status status;
  status.is_directory = n == nullptr;
  status.is_stream = n && n->is_pipe;
  status.is_regular = n && !n->is_pipe;
  if (n) {
    if (status.is_regular) status.size = n->data.size();
    status.modified_ns = n->modified_ns;
    status.device = 1;
    status.inode = n->inode;
  }
  return status;
}

std::int64_t file_system::status(const file_request& r) const {
  const std::string path = canonical(r.path);
  const auto found = names_.find(path);
  const node* const n = found == names_.end() ? nullptr : found->second.get();
  if (!n && !directories_.contains(path)) return -ENOENT;
  *r.status = make_status(n);
  return 0;
}

// Applies the changes that another program makes to the file before an operation.
void file_system::apply_fault(const file_request& r, fault f) {
  const auto opened = r.path ? open_.end() : open_.find(r.handle);
  const std::string path = r.path                  ? canonical(r.path)
                           : opened == open_.end() ? ""
                                                   : opened->second.path;
  if (f == fault::truncated) {
    if (opened == open_.end() || !opened->second.target) return;
    node& n = *opened->second.target;
    resize(n, decisions_.choose(n.data.size() + 1, "size of a file that is cut"));
    return;
  }
  const auto found = names_.find(path);
  if (found == names_.end() || found->second->is_pipe) return;
  auto fresh = make_node();
  fresh->data = found->second->data;
  resize(*fresh, decisions_.choose(fresh->data.size() + 1, "size of a file that replaces another"));
  fresh->on_device = fresh->data;
  apply_change({{{path, fresh}}});
}

}  // namespace LEAT::sim
