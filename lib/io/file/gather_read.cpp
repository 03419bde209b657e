#include "io/file/gather_read.hpp"

#include <algorithm>
#include <cerrno>
#include <ostream>
#include <thread>

#include "io/file/open_file_cache.hpp"

namespace LEAT::detail {

// The slots are part of the operation, which is in the frame of the waiting task, and the kernel
// writes to the memory of their ranges. So the operation ends only when under_way_ is 0: an error
// or a stop sets result_.error, which keeps further ranges from starting, and the last completion
// wakes the task. `next_` is the first range that no slot has taken.

const wait_operation::kind gather_read::gather_read_kind{"read", &gather_read::cancel,
                                                         &gather_read::describe};

gather_read::gather_read(file& f, std::span<const file_range> ranges, std::size_t depth,
                         const std::source_location& where)
    : wait_operation(gather_read_kind, where),
      file_(f),
      in_use_(f.open_handle()),
      ranges_(ranges),
      slots_(std::min(depth, ranges.size())) {}

gather_read::~gather_read() {
  if (!is_dying()) return;
  // The coroutine is destroyed while it waits here: the requests in flight must end first.
  if (result_.error == 0) result_.error = -ECANCELED;  // starts no further one
  while (under_way_ > 0 && scheduler_->run_posted_items()) std::this_thread::yield();
  if (under_way_ == 0) withdraw_wakeup();
}

bool gather_read::await_ready() noexcept {
  if (stop_requested()) result_.error = -ECANCELED;
  return !may_begin();
}

bool gather_read::await_suspend(std::coroutine_handle<> h) {
  if (!bound()) attach(h);
  begin_wait();
  for (slot& s : slots_) {
    s.owner = this;
    s.completion_scheduler = scheduler_;
    s.handle = file_.open_handle()->number;
    s.run_ = [](work_item& item) noexcept {
      auto& self = static_cast<slot&>(static_cast<file_request&>(item));
      if (!self.resubmit(self.owner->file_.open_handle()->backend)) self.owner->complete(self);
    };
    begin_next(s);
  }
  return true;
}

bool gather_read::begin_next(slot& s) noexcept {
  if (!may_begin()) return false;
  s.range = next_++;
  const file_range& p = ranges_[s.range];
  s.data = p.to;
  s.size = p.size;
  s.offset = p.offset;
  ++under_way_;
  submit(s);
  return true;
}

void gather_read::submit(slot& s) noexcept {
  s.retries = 0;
  s.result = 0;
  file_.open_handle()->backend.submit(s);
}

void gather_read::complete(slot& s) noexcept {
  if (s.result > 0 && static_cast<std::size_t>(s.result) < s.size) {  // the rest of it
    const auto got = static_cast<std::size_t>(s.result);
    s.data += got;
    s.size -= got;
    s.offset += got;
    submit(s);
    return;
  }
  if (s.result <= 0) fail(s.range, s.result == 0 ? -ENODATA : s.result);
  --under_way_;
  if (!begin_next(s) && under_way_ == 0) wake();
}

// The error of the first range counts, in any order of completion.
void gather_read::fail(std::size_t range, std::int64_t error) noexcept {
  if (result_.error != 0 && result_.range < range) return;
  result_ = {error, range};
}

void gather_read::cancel(wait_operation& w) noexcept {
  auto& self = static_cast<gather_read&>(w);
  if (self.result_.error == 0 && self.next_ < self.ranges_.size()) {
    self.result_ = {-ECANCELED, self.next_};
  }
}

void gather_read::describe(const wait_operation& w, std::ostream& out) {
  const auto& self = static_cast<const gather_read&>(w);
  out << "'" << self.file_.path() << "' (" << self.next_ - self.under_way_ << " of "
      << self.ranges_.size() << " ranges read, " << self.under_way_ << " in flight)";
}

cached_ranges gather_cached(std::span<const file_range> ranges, open_file_cache* files) noexcept {
  constexpr std::size_t max_bytes_per_turn = std::size_t{1} << 20;
  constexpr std::size_t price_of_read = 4096;  // costs about as much as to copy these bytes
  cached_ranges done;
  for (std::size_t spent = 0; done.count < ranges.size() && spent < max_bytes_per_turn;
       ++done.count) {
    const file_range& p = ranges[done.count];
    done.missed = files && !files->try_open(p.file);
    if (done.missed) break;
    file_request now;
    now.handle = p.from->number;
    now.data = p.to;
    now.size = p.size;
    now.offset = p.offset;
    done.missed =
        !p.from->backend.try_complete(now) || now.result != static_cast<std::int64_t>(p.size);
    if (done.missed) break;
    spent += p.size + price_of_read;
  }
  return done;
}

}  // namespace LEAT::detail
