#include "leat/async/scheduler/scheduler_driver.hpp"

#include <memory>
#include <sched.h>
#include <utility>

#include "async/dump_query.hpp"
#include "leat/async/task_context.hpp"
#include "leat/base/internal/assert.hpp"

namespace LEAT {
namespace {

// The number of operations that a task may complete without waiting before it lets others run.
constexpr unsigned task_budget = 256;

// The maximum number of items between two checks for items of other threads.
constexpr std::size_t remote_interval = 64;

// The number of items between two reads of the clock in a turn with a deadline; a read costs as
// much as a short item.
constexpr std::size_t clock_interval = 4;

// Moves the items that `wanted` chooses out of `items`; both keep their order.
template <class Predicate>
work_list take_if(work_list& items, Predicate wanted) noexcept {
  work_list taken;
  work_list others;
  while (work_item* const item = items.pop_front()) {
    (wanted(*item) ? taken : others).push_back(*item);
  }
  items = std::move(others);
  return taken;
}

}  // namespace

// After a second thread, or if no thread can own a lock, thread_ stays `this`, which is not a
// thread: from then on, scopes are created without an owner of their lock. See find_owner() in
// task_scope.cpp.
inline void scheduler_driver::note_thread() noexcept {
  if (is_run_by_one_thread()) [[likely]]
    return;
  const bool first = thread_ == nullptr && detail::biased_mutex::can_own();
  thread_ = first ? detail::biased_mutex::this_thread() : this;
}

void scheduler_driver::answer_dump_queries() noexcept {
  // acquire: pairs with the release of the last hold, so that its accesses are over.
  while (holds_.load(std::memory_order_acquire) != 0) {
    take_remote();
    work_list queries = take_if(ready_, &detail::is_dump_query);
    while (work_item* const item = queries.pop_front()) item->run_(*item);
    ::sched_yield();  // a dump may be about to post its query
  }
}

// Returns false if the scheduler is awake: a turn runs, or wake() was called or is about to be.
inline bool scheduler_driver::wake_up() noexcept {
  work_item* asleep = nullptr;
  // acquire: a short turn, which no wake() precedes, sees what the last turn has written.
  return remote_.compare_exchange_strong(asleep, awake_sentinel(), std::memory_order_acquire,
                                         std::memory_order_relaxed);
}

// If the scheduler sleeps and the list is not empty, exactly one poster has changed it from null,
// and has called wake() or is about to: due_wakes_ counts these calls for end_tasks().
bool scheduler_driver::begin_turn() noexcept {
  const bool posted = !wake_up();
  if (posted && asleep_) ++due_wakes_;
  asleep_ = false;
  return posted;
}

// Returns true if there is more to run.
[[gnu::always_inline]] inline bool scheduler_driver::end_turn(bool more) noexcept {
  flush_wakeups();
  if (const time_point next = timers_.earliest(); next != armed_) {
    armed_ = next;
    arm(next);
    more = more || !ready_.empty();  // it may have posted an item
  }
  current_ = nullptr;
  publish_counters();
  if (more) return true;
  asleep_ = true;
  // Goes to sleep unless an item has arrived meanwhile. This is the last access: from here on
  // another thread may call run_ready(). release: that thread sees this turn's writes through
  // post_remote()'s acquire.
  work_item* expected = awake_sentinel();
  if (remote_.compare_exchange_strong(expected, nullptr, std::memory_order_release,
                                      std::memory_order_relaxed)) {
    return false;
  }
  asleep_ = false;
  return true;
}

bool scheduler_driver::run_ready(std::size_t max_items, int spins, time_point deadline) {
  LEAT_ASSERT(current_ == nullptr,
              "scheduler run inside another one on the same thread: run it on another thread");
  current_ = this;
  note_thread();
  if (seen_hook_changes_ != __atomic_load_n(&hook_changes_, __ATOMIC_RELAXED)) [[unlikely]]
    use_newest_hooks();
  ++turns_;
  begin_turn();
  turn_time_ = now();
  turn_items_ = max_items;
  expire_timers();
  bool more = true;
  for (std::size_t done = 0; done < turn_items_; ++done) {
    if (done % remote_interval == 0) take_remote();
    const bool look = deadline != no_deadline && done > 0 && done % clock_interval == 0;
    if (look && !ready_.empty() && now() >= deadline) break;
    work_item* item = ready_.pop_front();
    if (!item) {
      flush_wakeups();  // before the next check: a reply may arrive at once
      // A thread on the same processor cannot post an item while this one spins.
      if (spins > 0 && waker_cpu_.load(std::memory_order_relaxed) != ::sched_getcpu()) {
        spins_.spin(spins, [this]() noexcept { return has_remote_items(); });
      }
      if (!take_remote()) {
        more = false;
        break;
      }
      item = ready_.pop_front();
    }
    budget_ = task_budget;
    item->run_(*item);
  }
  return end_turn(more);
}

scheduler_driver::short_turn scheduler_driver::run_short_turn(work_item& first,
                                                              std::size_t max_items,
                                                              time_point about_now) noexcept {
  if (!wake_up()) return short_turn::refused;
  asleep_ = false;
  current_ = this;
  note_thread();
  if (seen_hook_changes_ != __atomic_load_n(&hook_changes_, __ATOMIC_RELAXED)) [[unlikely]]
    use_newest_hooks();
  ++turns_;
  turn_time_ = about_now;
  turn_items_ = max_items;
  budget_ = task_budget;
  first.run_(first);
  bool more = true;
  for (std::size_t done = 1; done < turn_items_; ++done) {
    work_item* item = ready_.pop_front();
    if (!item) {
      if (!has_remote_items()) {
        more = false;
        break;
      }
      take_remote();
      item = ready_.pop_front();
    }
    budget_ = task_budget;
    item->run_(*item);
  }
  return end_turn(more) ? short_turn::more : short_turn::done;
}

void scheduler_driver::run_selected(scheduler& s,
                                    bool (*selected)(const work_item& item,
                                                     const task_scope& scope),
                                    const task_scope& scope) noexcept {
  auto& self = static_cast<scheduler_driver&>(s);
  for (;;) {
    self.return_held_items();
    self.take_remote();
    work_list own =
        take_if(self.ready_, [&](const work_item& item) { return selected(item, scope); });
    if (own.empty()) return;
    // These belong to the item that this call interrupts: its task, and what it has set for the
    // time when it has suspended. The items below use the same members.
    task_context* const task = self.task_;
    task_context* const ended = std::exchange(self.ended_, nullptr);
    const auto transfer = std::exchange(self.transfer_, nullptr);
    while (work_item* item = own.pop_front()) item->run_(*item);
    self.transfer_ = transfer;
    self.ended_ = ended;
    self.task_ = task;
  }
}

void scheduler_driver::expire_timers() {
  // If the armed time has come, the driver has called or is about to. Within a turn the driver may
  // still be armed for a later time although a timer that was set in this turn is due.
  if (armed_ <= turn_time_) armed_ = no_deadline;
  for (std::size_t left = turn_timers_; left > 0; --left) {
    timer* const due = timers_.pop_due(turn_time_);
    if (!due) break;
    due->expire_(*due);
  }
}

void scheduler_driver::rearm() noexcept {
  armed_ = timers_.earliest();
  arm(armed_);
}

void scheduler_driver::expire_due() {
  turn_time_ = now();
  expire_timers();
}

}  // namespace LEAT
