#include "leat/sync/synchronizer.hpp"

#include <chrono>
#include <cstdlib>
#include <string>

#include "async/dump/internal/dump_printers.hpp"
#include "async/dump/internal/process_snapshot.hpp"
#include "async/internal/live_tasks_text.hpp"
#include "base/internal/append_text.hpp"
#include "base/internal/exception_in_flight.hpp"
#include "base/internal/standard_error.hpp"
#include "leat/async/scheduler/scheduler.hpp"
#include "leat/base/internal/assert.hpp"
#include "sync/present_time.hpp"

namespace LEAT {

// Invariant: while the lock is free, no operation waits that could be served; see is_consistent().
// So a change that may make an operation ready calls serve() or end_all() before it releases the
// lock. The operations that these end wake after the lock is released, because the wake-up of a
// thread or handler runs in the call; only a coroutine of this thread's scheduler wakes under the
// lock, which merely posts it.
//
// An operation leaves the wait queue last, after claim(), grant() and its outcome: if another
// branch of its select has won, its owner may destroy it without the lock as soon as it is
// unlinked.

synchronizer::~synchronizer() {
  unregister();
  if (!waiting_.empty()) abort_destroyed_in_use();
}

// ---------------------------------------------------------------------------------- the wait queue

void synchronizer::add_to_dumps() noexcept {
  // Two threads may both get here; the second add() has no effect.
  registration_.add();  // not under the lock, because a dump takes the two in the other order
  registered_.store(true, std::memory_order_relaxed);
}

bool synchronizer::begin(synchronizer_waiter& w) noexcept {
  if (!registered_.load(std::memory_order_relaxed) && !(omits_tasks_ && w.waiting_task())) {
    add_to_dumps();
  }
  work_list woken;
  {
    const section lock(*this);
    const wait_outcome closed = outcome_if_closed(w);
    if (closed == wait_outcome::waiting && !can_serve_now(w)) {
      waiting_.push_back(w);
      return false;
    }
    // Claimed before it receives anything: otherwise a select would get two results.
    if (!w.claim()) return true;
    w.outcome_ = closed;
    if (closed == wait_outcome::waiting) {
      grant(w);
      w.outcome_ = wait_outcome::done;
      // A send makes receivers ready. With the other order, no operation waits here.
      if (!waiting_.empty()) woken = serve();
    }
  }
  wake_all(woken);
  return true;
}

work_list synchronizer::serve() noexcept {
  const scheduler* const here = scheduler::current();
  work_list woken;
  synchronizer_waiter* following = nullptr;
  for (synchronizer_waiter* w = waiting_.first(); w; w = following) {
    // Read first: `w` may be gone after it is unlinked.
    following = waiting_.after(*w);
    if (!is_ready(*w)) {
      if (order_ == order::first_in_first_out) break;
      continue;
    }
    if (w->claim()) {
      grant(*w);
      w->outcome_ = wait_outcome::done;
      wake_later(*w, here, woken);
    }
    waiting_.remove(*w);
  }
  return woken;
}

work_list synchronizer::end_all(wait_outcome outcome) noexcept {
  scheduler* const here = scheduler::current();
  work_list ready;  // on this thread's scheduler
  work_list woken;
  synchronizer_waiter* following = nullptr;
  for (synchronizer_waiter* w = waiting_.take_all(); w; w = following) {
    following = waiting_.after(*w);
    if (following) __builtin_prefetch(following);  // of another coroutine, as in remove_first()
    if (w->claim()) [[likely]] {
      w->outcome_ = outcome;
      (here && w->get_scheduler() == here ? ready : woken).push_back(*w);
    }
    waiting_.forget(*w);
  }
  if (here) here->post_all(ready);
  return woken;
}

bool synchronizer::is_consistent() const noexcept {
  const section lock(*this);
  for (const synchronizer_waiter* w = waiting_.first(); w; w = waiting_.after(*w)) {
    if (is_ready(*w) || outcome_if_closed(*w) != wait_outcome::waiting) return false;
    if (order_ == order::first_in_first_out) break;
  }
  return has_consistent_state();
}

// Returns false if the wait has already ended. If it was the first one, later ones may be ready.
bool synchronizer::remove(synchronizer_waiter& w, work_list& woken) noexcept {
  // acquire: pairs with waiter_list::remove(). After the wait, the object may be gone.
  if (!w.linked_.load(std::memory_order_acquire)) return false;
  synchronizer& self = w.object_;
  const section lock(self);
  if (!w.linked_.load(std::memory_order_relaxed)) return false;
  // Only the first operation blocks others, and only in a first-in, first-out primitive.
  const bool was_first = self.waiting_.first() == &w;
  w.outcome_ = wait_outcome::cancelled;
  self.waiting_.remove(w);
  if (was_first && self.order_ == order::first_in_first_out) woken = self.serve();
  return true;
}

bool synchronizer::cancel(synchronizer_waiter& w) noexcept {
  work_list woken;
  if (!remove(w, woken)) return false;
  w.wake();
  wake_all(woken);
  return true;
}

bool synchronizer::abandon(synchronizer_waiter& w) noexcept {
  work_list woken;
  if (!remove(w, woken)) return false;
  wake_all(woken);
  return true;
}

// -------------------------------------------------------------------------------------- in words

time_point synchronizer::about_now() noexcept {
  const scheduler* const here = scheduler::current();
  return here ? here->turn_time() : std::chrono::steady_clock::now();
}

time_point synchronizer::time_of_waiting() const noexcept {
  for (const synchronizer_waiter* w = waiting_.first(); w; w = waiting_.after(*w)) {
    if (const scheduler* const s = w->waiting_on()) return s->now();
  }
  return detail::present_time();
}

void synchronizer::append_name_to(std::string& text) const {
  text += registration_.type();
  if (!name_.empty()) detail::append_text(text, " '", name_, "'");
}

void synchronizer::append_to(std::string& text) const {
  append_name_to(text);
  const section lock(*this);
  append_state_to(text);
}

void synchronizer::describe_wait(const synchronizer_waiter& w, wait_target& target) const {
  target.type = registration_.type();
  target.name = name_;
  target.asked = requested(w);
  const section lock(*this);
  if (w.linked_.load(std::memory_order_relaxed)) inspect(w, target);
}

bool synchronizer::report(const void* object, detail::live_object::access how,
                          detail::object_state& state) LEAT_NO_ANALYSIS {
  const auto& self = *static_cast<const synchronizer*>(object);
  if (how == detail::live_object::access::for_trace) return false;
  const bool owner_only = detail::live_object::is_for_owner(how);
  if (detail::live_object::is_for_metrics(how)) {
    if (owner_only && !self.mutex_.try_lock_cheaply()) return false;
    const bool owner = owner_only || self.mutex_.lock();
    const std::size_t count = self.waiting_.size();
    self.mutex_.unlock(owner, count > 0);
    state.name = self.name_;
    state.samples = {{&detail::waiting_operations_metric, {count}}};
    return true;
  }
  for (bool listed = false; !listed;) {
    if (owner_only && !self.mutex_.try_lock_cheaply()) return false;
    const bool owner = owner_only || self.mutex_.lock();
    const std::size_t count = self.waiting_.size();
    listed = count <= state.waiting.capacity();
    for (const synchronizer_waiter* w = self.waiting_.first(); listed && w;
         w = self.waiting_.after(*w)) {
      state.waiting.push_back(w->operation());
    }
    self.mutex_.unlock(owner, !self.waiting_.empty());
    if (!listed) state.waiting.reserve(count + count / 2);  // not under the lock
  }
  state.name = self.name_;
  self.append_to(state.words);
  return true;
}

namespace {

[[noreturn]] void abort_after_message() noexcept {
  if (detail::assertion_note) detail::print_stderr("leat: %s\n", detail::assertion_note);
  std::abort();
}

}  // namespace

void synchronizer::abort_misused(const char* what) const noexcept {
  detail::print_stderr("leat: %s '%s': %s\n", registration_.type(), name_.c_str(), what);
  detail::print_exception_in_flight();
  abort_after_message();
}

// No operation can end, because the object is being destroyed.
void synchronizer::abort_destroyed_in_use() const noexcept LEAT_NO_ANALYSIS {
  detail::print_stderr(
      "leat: %s '%s' destroyed while operations wait on it: join the waiting tasks and "
      "threads first\n",
      registration_.type(), name_.c_str());
  detail::print_exception_in_flight();
  try {
    for (const synchronizer_waiter* w = waiting_.first(); w; w = waiting_.after(*w)) {
      detail::waiting_operation operation = w->operation();
      const task_context* const task = w->waiting_task();
      if (task) operation.name = detail::name_of(*task);
      detail::print_stderr("  %s\n", to_text(operation).c_str());
    }
  } catch (...) {
    detail::write_stderr("  out of memory: operations not listed\n");
  }
  abort_after_message();
}

}  // namespace LEAT
