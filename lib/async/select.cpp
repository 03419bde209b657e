#include "leat/async/select.hpp"

#include <algorithm>
#include <chrono>
#include <ostream>
#include <string>

#include "leat/base/error.hpp"

namespace LEAT::detail {

// A select ends in two steps. First an operation, a timer or a stop claims it: it sets winner_,
// which is set only once. Then the claimant wakes the select, and its work item resumes the
// coroutine on its scheduler.
//
// If one of the operations is irrevocable, the work item is settle() instead. While that operation
// is pending, it uses the frame, so settle() asks it to end and does not resume the coroutine; the
// end of the operation wakes the select for the second time. An irrevocable operation that has lost
// wakes the select only after end_irrevocable(), so the item is never in a run queue twice.

const wait_operation::kind select_state::select_kind{
    "select", &select_state::cancel, &select_state::describe, nullptr, &select_state::is_pinned};
const wait_operation::kind select_state::limit_kind{
    "limit on", &select_state::cancel, &select_state::describe, nullptr, &select_state::is_pinned};

void select_state::cancel(wait_operation& w) noexcept {
  auto& self = static_cast<select_state&>(w);
  if (self.claim(stop)) {
    self.wake();
  } else if (self.get_scheduler()->is_ending() && self.is_pending()) {
    // settle() has left the operation to its own context, which still exists.
    self.functions_.end_irrevocable(self, true);
  }
}

void select_state::describe(const wait_operation& w, std::ostream& out) {
  const auto& self = static_cast<const select_state&>(w);
  self.functions_.describe(self, out);
}

bool select_state::is_pinned(const wait_operation& w) noexcept {
  const auto& self = static_cast<const select_state&>(w);
  return self.functions_.uses_memory(self);
}

void select_state::settle(work_item& item) noexcept {
  auto& self = static_cast<select_state&>(static_cast<wait_operation&>(item));
  // An event loop that ends drops the handlers of its Asio operations itself. It must not cancel
  // them, because their I/O objects may be destroyed already.
  const bool is_ending = self.get_scheduler()->is_ending();
  if (self.is_pending()) {
    self.functions_.end_irrevocable(self, !is_ending);
  } else if (is_ending) {
    self.drop_wakeup();
  } else {
    self.resume_now();
  }
}

void select_state::expire(int index) noexcept {
  // A stop that the loop was late to deliver precedes the timer, as in sleep_wait.
  if (!claim(stop_requested() ? stop : index)) return;
  // Not through settle(), which would run after the timers that follow. The end of the operation
  // wakes the select.
  if (run_ == &select_state::settle && is_pending()) {
    functions_.end_irrevocable(*this, true);
  } else {
    wake();
  }
}

failure select_cancelled(const std::string& what) { return {errc::cancelled, "select of " + what}; }

failure limit_error(const limit_end& end, const std::string& what) {
  const bool is_late = end.code == errc::deadline_exceeded;
  return {end.code,
          what + (is_late ? ": timed out" : ": stopped") + " without effect" + limit_text(end)};
}

// ----------------------------------------------------------------------------------------- timers

void select_branch<sleep_wait>::expired(timer& t) noexcept {
  auto& self = static_cast<select_branch&>(t);
  self.select_state_.expire(self.index_);
}

bool select_branch<sleep_wait>::begin() {
  scheduler& sched = *select_state_.get_scheduler();
  sched.add_timer(*this, end_.from_now(sched));
  return false;
}

void select_branch<sleep_wait>::withdraw() noexcept {
  if (is_set()) select_state_.get_scheduler()->cancel_timer(*this);
}

void select_branch<sleep_wait>::describe(std::ostream& out) const {
  out << "a timer";
  if (!is_set()) return;
  out << " (" << milliseconds_until(when_, select_state_.get_scheduler()->now()) << " ms left)";
}

void select_branch<sleep_wait>::describe_limit(std::ostream& out, bool expired) const {
  if (expired) {
    out << ", expired";
  } else if (is_set()) {
    out << ", " << milliseconds_until(when_, select_state_.get_scheduler()->now()) << " ms left";
  }
}

// A deadline counts from the start of the wait, in microseconds.
limit_end select_branch<sleep_wait>::as_limit() const noexcept {
  duration length = end_.after;
  if (length < duration::zero()) {
    const time_point since = select_state_.since();
    const duration left = end_.at > since ? end_.at - since : duration::zero();
    length = std::chrono::duration_cast<std::chrono::microseconds>(left);
  }
  return {errc::deadline_exceeded, where_, length};
}

// ------------------------------------------------------------------------------------------ stops

bool select_branch<stop_wait>::begin() {
  callback_.emplace(token_, forward{this});  // a stop meanwhile calls it at once
  return false;
}

void select_branch<stop_wait>::describe(std::ostream& out) const { out << "a stop"; }

void select_branch<stop_wait>::describe_limit(std::ostream& out, bool expired) const {
  out << (expired ? ", stopped" : ", until a stop");
}

// ------------------------------------------------------------------------------------- task groups

select_branch<task_group::join_wait>::select_branch(task_group::join_wait&& operation,
                                                    select_state& s, int index) noexcept
    : operation_(std::move(operation)) {
  operation_.attach_to_select(s, index);
}

bool select_branch<task_group::join_wait>::try_complete() const noexcept {
  return operation_.is_satisfied_now();
}

bool select_branch<task_group::join_wait>::begin() { return operation_.begin_selected(); }

void select_branch<task_group::join_wait>::withdraw() noexcept { operation_.withdraw(); }

std::monostate select_branch<task_group::join_wait>::result() {
  operation_.await_resume();
  return {};
}

void select_branch<task_group::join_wait>::describe(std::ostream& out) const {
  out << "join ";
  operation_.what().describe(operation_, out);
}

}  // namespace LEAT::detail

namespace LEAT {

// ---------------------------------------------------------------- a wait on a scope, in a select

// Its work item wakes the select and not a coroutine: the wait has neither a scheduler nor a task
// of its own, so it runs in the call that ends the wait. The claim happens under the lock of the
// scope.
void condition_wait::attach_to_select(detail::select_state& s, int index) noexcept {
  select_state_ = &s;
  index_ = index;
  run_ = [](work_item& item) noexcept { static_cast<condition_wait&>(item).select_state_->wake(); };
}

bool condition_wait::is_satisfied_now() const noexcept {
  const detail::biased_lock lock(scope_.mutex_);
  return scope_.is_satisfied(conditions_);
}

bool condition_wait::begin_selected() noexcept {
  if (const task_context* c = select_state_->task(); c && &c->scope() == &scope_) {
    result_ = outcome::self_join;
    return claim();
  }
  const detail::biased_lock lock(scope_.mutex_);
  if (scope_.is_satisfied(conditions_)) return claim();
  link_into_scope();
  return false;
}

void condition_wait::withdraw() noexcept {
  const detail::biased_lock lock(scope_.mutex_);
  if (linked_.load(std::memory_order_relaxed)) scope_.unlink(*this);
}

}  // namespace LEAT
