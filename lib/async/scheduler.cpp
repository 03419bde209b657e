#include "leat/async/scheduler.hpp"

#include <array>
#include <chrono>
#include <memory>
#include <sched.h>
#include <unistd.h>

#include "async/dump_query.hpp"
#include "leat/async/wait_operation.hpp"
#include "leat/base/internal/assert.hpp"

namespace leat {

constinit thread_local scheduler* scheduler::current_ = nullptr;

namespace {

// The maximum number of wake-ups for other threads that are collected before they are delivered.
constexpr std::size_t max_later = 32;

// The number of operations that a task may complete without waiting before it lets others run.
constexpr unsigned task_budget = 256;

// The maximum number of items between two checks for items of other threads.
constexpr std::size_t remote_interval = 64;

// The number of items between two reads of the clock in a turn with a deadline; a read costs as
// much as a short item.
constexpr std::size_t clock_interval = 4;

constinit work_item awake_mark{};

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

work_item* scheduler::awake_sentinel() noexcept { return &awake_mark; }

scheduler::~scheduler() {
  detail::foreign_coroutine_wait::forget_all(*this);
  LEAT_ASSERT(ready_.empty() && !has_remote_items() && later_.empty(),
              "scheduler destroyed with pending work: join its tasks first");
}

std::weak_ptr<const void> scheduler::lifetime() {
  if (!lifetime_) lifetime_ = std::make_shared<char>();
  return lifetime_;
}

inline void scheduler::note_thread() noexcept {
  if (is_run_by_one_thread()) [[likely]]
    return;
  const bool first = thread_ == nullptr && detail::biased_mutex::can_own();
  thread_ = first ? detail::biased_mutex::this_thread() : this;
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

void scheduler::answer_dump_queries() noexcept {
  // acquire: pairs with the release of the last hold, so that its accesses are over.
  while (holds_.load(std::memory_order_acquire) != 0) {
    take_remote();
    work_list queries = take_if(ready_, &detail::is_dump_query);
    while (work_item* const item = queries.pop_front()) item->run_(*item);
    ::sched_yield();  // a dump may be about to post its query
  }
}

wall_time_point scheduler::wall_time() const noexcept { return std::chrono::system_clock::now(); }

process_identity scheduler::identity() const {
  std::array<char, 256> host{};  // longer than any name, and so terminated by a zero
  if (::gethostname(host.data(), host.size() - 1) != 0) host = {"localhost"};
  return {host.data(), ::getpid()};
}

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

// Returns false if the scheduler is awake: a turn runs, or wake() was called or is about to be.
inline bool scheduler::wake_up() noexcept {
  work_item* asleep = nullptr;
  // acquire: a short turn, which no wake() precedes, sees what the last turn has written.
  return remote_.compare_exchange_strong(asleep, awake_sentinel(), std::memory_order_acquire,
                                         std::memory_order_relaxed);
}

bool scheduler::begin_turn() noexcept {
  const bool posted = !wake_up();
  if (posted && asleep_) ++due_wakes_;
  asleep_ = false;
  return posted;
}

// Returns true if there is more to run.
[[gnu::always_inline]] inline bool scheduler::end_turn(bool more) noexcept {
  flush_wakeups();
  if (const time_point next = timers_.earliest(); next != armed_) {
    armed_ = next;
    arm(next);
    more = more || !ready_.empty();  // it may have posted an item
  }
  current_ = nullptr;
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

bool scheduler::run_ready(std::size_t max_items, int spins, time_point deadline) {
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

scheduler::short_turn scheduler::run_short_turn(work_item& first, std::size_t max_items,
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

void scheduler::run_selected(bool (*selected)(const work_item& item, const task_scope& scope),
                             const task_scope& scope) noexcept {
  for (;;) {
    return_held_items();
    take_remote();
    work_list own = take_if(ready_, [&](const work_item& item) { return selected(item, scope); });
    if (own.empty()) return;
    task_context* const task = task_;
    task_context* const ended = std::exchange(ended_, nullptr);
    const auto transfer = std::exchange(transfer_, nullptr);
    while (work_item* item = own.pop_front()) item->run_(*item);
    transfer_ = transfer;
    ended_ = ended;
    task_ = task;
  }
}

void scheduler::expire_timers() {
  // If the armed time has come, the driver has called or is about to. Within a turn the driver may
  // still be armed for a later time although a timer that was set in this turn is due.
  if (armed_ <= turn_time_) armed_ = no_deadline;
  for (std::size_t left = turn_timers_; left > 0; --left) {
    timer* const due = timers_.pop_due(turn_time_);
    if (!due) break;
    due->expire_(*due);
  }
}

void scheduler::rearm() noexcept {
  armed_ = timers_.earliest();
  arm(armed_);
}

void scheduler::expire_due() {
  turn_time_ = now();
  expire_timers();
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

}  // namespace leat
