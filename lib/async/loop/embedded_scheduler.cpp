#include "leat/async/loop/embedded_scheduler.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <ctime>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/timerfd.h>
#include <unistd.h>
#include <utility>

#include "leat/base/internal/assert.hpp"

namespace LEAT {
namespace {

constexpr const char* no_eventfd = "embedded_scheduler: cannot create an eventfd";

// Edge-triggered inside: epoll_wait() consumes the events, so the eventfds are never read.
void watch(int epoll, int descriptor, void* who) {
  epoll_event event{};
  event.events = EPOLLIN | EPOLLET;
  event.data.ptr = who;
  if (::epoll_ctl(epoll, EPOLL_CTL_ADD, descriptor, &event) == 0) return;
  throw failure(std::error_code(errno, std::generic_category()),
                "embedded_scheduler: cannot add a descriptor to epoll");
}

// An absolute time for the timer; 0 or a time before the clock's start would disarm it.
itimerspec to_itimerspec(time_point when) noexcept {
  const auto ns = std::chrono::nanoseconds(when.time_since_epoch()).count();
  const auto at = std::max<std::int64_t>(ns, 1);
  itimerspec spec{};
  spec.it_value.tv_sec = static_cast<std::time_t>(at / 1'000'000'000);
  spec.it_value.tv_nsec = static_cast<long>(at % 1'000'000'000);
  return spec;
}

}  // namespace

// An external eventfd, in the epoll descriptor next to the scheduler's own, until it is closed.
class embedded_scheduler::listener final : public detail::event_listener {
 public:
  listener(scheduler& sched, int epoll)
      : scheduler_(sched), event_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK), no_eventfd) {
    watch(epoll, event_.get(), this);
  }

  [[nodiscard]] int descriptor() const noexcept override { return event_.get(); }

  void listen(work_item& item) noexcept override { item_ = &item; }

  void post_item() noexcept {
    if (work_item* const item = std::exchange(item_, nullptr)) scheduler_.post(*item);
  }

 private:
  scheduler& scheduler_;
  detail::descriptor event_;
  work_item* item_ = nullptr;
};

embedded_scheduler::embedded_scheduler()
    : epoll_(::epoll_create1(EPOLL_CLOEXEC),
             "embedded_scheduler: cannot create an epoll descriptor"),
      event_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK), no_eventfd),
      timer_(::timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK),
             "embedded_scheduler: cannot create a timerfd") {
  watch(epoll_.get(), event_.get(), nullptr);
  watch(epoll_.get(), timer_.get(), nullptr);
}

embedded_scheduler::~embedded_scheduler() {
  LEAT_ASSERT(
      !running_.load(std::memory_order_relaxed),
      "embedded_scheduler destroyed inside run_ready(): destroy it after run_ready() returns");
  end("embedded_scheduler");
  const bool has_tasks = started_tasks() > 0;
  end_pinned_tasks();
  if (has_tasks) on_tasks_ended();
  run_posted_items();  // what a service has posted last
}

embedded_scheduler::turn embedded_scheduler::run_ready(std::size_t max_items,
                                                       time_span max_time) noexcept {
  LEAT_ASSERT(max_items > 0, "run_ready(0) would never make progress: pass 1 item or more");
  LEAT_ASSERT(is_of_this_process(),
              "run_ready() in a child of fork(): create a scheduler in the child");
  LEAT_ASSERT(current() != this, "run_ready() called from a task: call it from the event loop");
  // acquire, and release below: the loop may have moved to another thread.
  LEAT_ASSERT(!running_.exchange(true, std::memory_order_acquire),
              "run_ready() called by two threads at once: call it from one thread at a time");
  // From here on a post needs no wake(). An event that is consumed below belongs to an earlier
  // post, and so to this turn or to one that is signalled. So no event is lost.
  begin_turn();
  handle_events();
  const time_point deadline =
      max_time == duration::max() ? no_deadline : deadline_after(now(), max_time);
  turn end;
  end.more = scheduler_driver::run_ready(max_items, 0, deadline);
  end.next = timers().earliest();
  if (end.more) signal();
  running_.store(false, std::memory_order_release);
  return end;
}

bool embedded_scheduler::idle() const noexcept {
  return is_asleep() && !has_remote_items() && work_.load(std::memory_order_relaxed) == 0;
}

time_point embedded_scheduler::now() const noexcept { return std::chrono::steady_clock::now(); }

std::unique_ptr<detail::event_listener> embedded_scheduler::make_listener() {
  return std::make_unique<listener>(*this, epoll_.get());
}

void embedded_scheduler::wake() noexcept { signal(); }

void embedded_scheduler::arm(time_point when) noexcept {
  const itimerspec spec = when == no_deadline ? itimerspec{} : to_itimerspec(when);
  const int result = ::timerfd_settime(timer_.get(), TFD_TIMER_ABSTIME, &spec, nullptr);
  LEAT_ASSERT(result == 0, "timerfd_settime() failed, so timers would never expire");
}

// The descriptor becomes readable, with a new edge.
void embedded_scheduler::signal() noexcept {
  const std::uint64_t one = 1;
  const bool written = ::write(event_.get(), &one, sizeof one) == sizeof one;
  LEAT_ASSERT(written, "write to an eventfd failed, so a wake-up would be lost");
}

// Consumes the events, so the descriptor is no longer readable. The scheduler's own events need
// nothing else.
void embedded_scheduler::handle_events() noexcept {
  std::array<epoll_event, 8> events;
  const int count = ::epoll_wait(epoll_.get(), events.data(), static_cast<int>(events.size()), 0);
  for (int i = 0; i < count; ++i) {
    if (void* const who = events[static_cast<std::size_t>(i)].data.ptr) {
      static_cast<listener*>(who)->post_item();
    }
  }
}

}  // namespace LEAT
