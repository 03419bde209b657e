#include "io/backend/stream_poller.hpp"

#include <cerrno>
#include <cstdint>
#include <new>
#include <sys/eventfd.h>
#include <unistd.h>
#include <utility>

#include "files/internal/buffer_ownership.hpp"
#include "io/backend/backend_support.hpp"
#include "io/backend/worker_pool.hpp"
#include "leat/base/internal/assert.hpp"

namespace LEAT::detail {
namespace {

// `mutex_` protects waiting_, count_ and the `cancelled` flags of the requests that wait here.
// polled_ and next_polled_ belong to the thread.
//
// polled_[0] is the eventfd, and polled_[i] is the i-th request of waiting_ at the time of the
// poll. New requests are added at the end of waiting_ and only the thread removes any, so the
// positions still match after the poll.

constexpr std::size_t usual_count = 16;

void complete_request(file_request& request, std::int64_t result) noexcept {
  request.result = result;
  mark_user_owned(request);
  request.completion_scheduler->post(request);  // the last access: the request may be gone now
}

}  // namespace

stream_poller::stream_poller(worker_pool& workers)
    : workers_(workers),
      event_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK), "streams: cannot create an eventfd") {
  polled_.reserve(usual_count);
  next_polled_.reserve(usual_count);
  thread_ = std::thread([this] { work(); });
}

void stream_poller::add(file_request& request) noexcept {
  {
    const std::lock_guard lock(mutex_);
    waiting_.push_back(request);
    ++count_;
  }
  signal();
}

void stream_poller::cancel(file_request& request) noexcept {
  {
    const std::lock_guard lock(mutex_);
    request.cancelled = true;
  }
  signal();
}

void stream_poller::cancel_all(const scheduler& sched) noexcept {
  bool any = false;
  {
    const std::lock_guard lock(mutex_);
    for (work_item* item = waiting_.front(); item; item = item->next_) {
      auto& request = static_cast<file_request&>(*item);
      if (request.completion_scheduler == &sched && !std::exchange(request.cancelled, true))
        any = true;
    }
  }
  if (any) signal();
}

void stream_poller::signal() noexcept {
  const std::uint64_t one = 1;
  const bool written = ::write(event_.get(), &one, sizeof one) == sizeof one;
  LEAT_ASSERT(written, "write to an eventfd failed: a stream would wait forever");
}

// Ends cancelled requests, passes on ready ones and keeps the rest, in order, for the next poll.
// Requests that arrived since the last poll are at the end and were not polled yet.
work_list stream_poller::take_ready() noexcept {
  work_list ready, rest;
  std::size_t index = 1;
  const std::lock_guard lock(mutex_);
  next_polled_.clear();
  try {
    next_polled_.reserve(count_ + 1);
  } catch (const std::bad_alloc&) {  // requests for which there is no memory end
  }
  next_polled_.push_back({event_.get(), POLLIN, 0});
  for (; work_item* const item = waiting_.pop_front(); ++index) {
    auto& request = static_cast<file_request&>(*item);
    if (request.cancelled) {
      complete_request(request, -ECANCELED);
    } else if (index < polled_.size() && polled_[index].revents != 0) {
      ready.push_back(request);
    } else if (next_polled_.size() == next_polled_.capacity()) {
      complete_request(request, -ENOMEM);
    } else {
      next_polled_.push_back({request.handle, poll_events(request), 0});
      rest.push_back(request);
    }
  }
  waiting_ = std::move(rest);
  count_ = next_polled_.size() - 1;
  polled_.swap(next_polled_);
  return ready;
}

void stream_poller::work() {
  for (;;) {
    work_list ready = take_ready();
    // Without the lock: enqueue() may execute the request on this thread, and if its stream is not
    // ready after all, that calls add().
    while (work_item* const item = ready.pop_front())
      workers_.enqueue(static_cast<file_request&>(*item));
    ::poll(polled_.data(), polled_.size(), -1);
    std::uint64_t count = 0;
    static_cast<void>(!::read(event_.get(), &count, sizeof count));
  }
}

}  // namespace LEAT::detail
