#include "leat/async/scheduler/scheduler.hpp"

#include <array>
#include <chrono>
#include <memory>
#include <sched.h>
#include <unistd.h>

#include "leat/async/detail/awaiter_in_foreign_coroutine.hpp"
#include "leat/async/scheduler/process_environment.hpp"
#include "leat/async/wait_operation.hpp"
#include "leat/base/internal/assert.hpp"

namespace LEAT {

constinit thread_local scheduler* scheduler::current_ = nullptr;

const service_key process_environment::key;

namespace {

// The maximum number of wake-ups for other threads that are collected before they are delivered.
constexpr std::size_t max_later = 32;

constinit work_item awake_mark{};

}  // namespace

work_item* scheduler::awake_sentinel() noexcept { return &awake_mark; }

scheduler::~scheduler() {
  detail::wait_of_foreign_coroutine::forget_all(*this);
  publish_counters();
  LEAT_ASSERT(ready_.empty() && !has_remote_items() && later_.empty(),
              "scheduler destroyed with pending work: join its tasks first");
}

std::weak_ptr<const void> scheduler::lifetime() {
  if (!lifetime_) lifetime_ = std::make_shared<char>();
  return lifetime_;
}

void scheduler::add_hold() noexcept {
  holds_.fetch_add(1, std::memory_order_relaxed);  // the task keeps the scheduler meanwhile
  work_started();
}

void scheduler::remove_hold() noexcept {
  work_finished();
  // The last access. release: see answer_dump_queries().
  holds_.fetch_sub(1, std::memory_order_release);
}

wall_time_point scheduler::wall_time() const noexcept {
  const auto* const environment = find_service<process_environment>();
  return environment ? environment->wall_time() : std::chrono::system_clock::now();
}

process_identity scheduler::identity() const {
  if (const auto* const environment = find_service<process_environment>()) {
    return environment->identity();
  }
  std::array<char, 256> host{};  // longer than any name, and so terminated by a zero
  if (::gethostname(host.data(), host.size() - 1) != 0) host = {"localhost"};
  return {host.data(), ::getpid()};
}

// Only the poster that changes remote_ from null calls wake(), so there is one wake-up for each
// burst. It increments wakes_ afterwards: end_tasks() waits until wakes_ has reached due_wakes_,
// because the item itself may already have run and allowed the destruction of the scheduler.
void scheduler::post_remote(work_item& item) noexcept {
  work_item* head = remote_.load(std::memory_order_relaxed);
  do {
    item.next_ = head == awake_sentinel() ? nullptr : head;
    // release: take_remote()'s acquire exchange sees the earlier writes of the poster. acquire: the
    // waking thread passes on to the next turn what the last turn wrote before it went to sleep.
  } while (!remote_.compare_exchange_weak(head, &item, std::memory_order_acq_rel,
                                          std::memory_order_relaxed));
  if (head != nullptr) return;
  waker_cpu_.store(::sched_getcpu(), std::memory_order_relaxed);
  wake();
  // The last access: see end_tasks(). release: its other accesses are over.
  wakes_.fetch_add(1, std::memory_order_release);
}

// Appends the items of other threads to the ready ones, oldest first. Returns false if there were
// none.
bool scheduler::take_remote() noexcept {
  if (!has_remote_items()) return false;
  // The sentinel and not null: a turn runs or wake() has been called for it, so later items need no
  // wake-up.
  work_item* newest = remote_.exchange(awake_sentinel(), std::memory_order_acquire);
  work_item* oldest = nullptr;
  while (newest) {
    work_item* next = newest->next_;
    newest->next_ = oldest;
    oldest = newest;
    newest = next;
  }
  while (oldest) {
    work_item* next = oldest->next_;
    ready_.push_back(*oldest);
    oldest = next;
  }
  return true;
}

void scheduler::add_timer(timer& t, time_point when) {
  LEAT_ASSERT(current_ == this,
              "timer set outside its scheduler: set it in a task of that scheduler");
  timers_.add(t, when);
}

bool scheduler::cancel_timer(timer& t) noexcept { return timers_.remove(t); }

void scheduler::wake_later(wait_operation& w) noexcept {
  later_.push_back(w);
  if (++later_count_ >= max_later) flush_wakeups_now();
}

void scheduler::flush_wakeups_now() noexcept {
  later_count_ = 0;
  while (work_item* item = later_.pop_front()) static_cast<wait_operation*>(item)->wake();
}

}  // namespace LEAT
