#include "leat/async/condition_wait.hpp"

#include <ostream>
#include <string>
#include <utility>

#include "leat/async/detail/select_state.hpp"
#include "leat/async/internal/thread_record.hpp"
#include "leat/base/error.hpp"
#include "leat/base/internal/assert.hpp"
#include "leat/base/internal/parker.hpp"

namespace LEAT {

// A wait is in the list of its scope, `waiters_`, exactly while linked_ is true; both change under
// the lock of the scope. The function that unlinks a wait decides how it ends and wakes it, once:
// take_satisfied() when a condition holds, end() at the deadline or for a stop of the waiting task.
// There is no wake-up if another branch of its select has won, or from abandon() and withdraw().
// After a wait is unlinked, its scope may be gone, so the destructor checks linked_ before it takes
// the lock.

const wait_operation::kind condition_wait::join_kind{
    "join", &condition_wait::cancel, &condition_wait::describe_join, &condition_wait::inspect};
const wait_operation::kind condition_wait::stop_kind{"wait for a stop of", &condition_wait::cancel,
                                                     &condition_wait::describe_stop,
                                                     &condition_wait::inspect};

void condition_wait::alarm::expired(timer& t) noexcept {
  condition_wait& self = static_cast<alarm&>(t).owner;
  const bool is_join = (self.conditions_ & task_scope::idle) != 0;
  self.end(!is_join && self.stop_requested() ? outcome::cancelled : outcome::deadline);
}

void condition_wait::cancel_alarm() noexcept {
  if (has_deadline_ && alarm_.is_set()) scheduler_->cancel_timer(alarm_);
}

// Called if the coroutine was not resumed, or not from a simple wait. It may be destroyed while it
// waits.
void condition_wait::abandon() noexcept {
  bool ended = true;
  // acquire: a wait that has ended does not touch the scope, which may be gone.
  if (linked_.load(std::memory_order_acquire)) {
    const detail::biased_lock lock(scope_.mutex_);
    ended = !linked_.load(std::memory_order_relaxed);
    if (!ended) scope_.unlink(*this);
  }
  if (!is_dying()) return;
  cancel_alarm();
  if (ended) withdraw_wakeup();
}

bool condition_wait::start() {
  if (context_ && &context_->scope() == &scope_ && (conditions_ & task_scope::idle) != 0) {
    result_ = outcome::self_join;
    return true;
  }
  // Before begin_wait(), since it may throw. The timer expires on this thread, so not within this
  // call; if the wait ends at once, await_tuple() cancels it.
  if (has_deadline_) scheduler_->add_timer(alarm_, alarm_.when_);
  begin_wait();
  {
    const detail::biased_lock lock(scope_.mutex_);
    if (!link_or_end()) return false;
  }
  end_wait();
  return true;
}

// Returns true if the wait ends at once. Called under the lock of the scope.
inline bool condition_wait::link_or_end() noexcept {
  // A join ignores a stop of its own task. For other waits, a stop that is requested after this
  // test cancels the wait, because its notice runs on this thread.
  if (!scope_.is_satisfied(conditions_)) {
    if ((conditions_ & task_scope::idle) != 0 || !stop_requested()) {
      link_into_scope();
      return false;
    }
    result_ = outcome::cancelled;
  }
  return true;
}

void condition_wait::end(outcome result) noexcept {
  {
    const detail::biased_lock lock(scope_.mutex_);
    if (!linked_.load(std::memory_order_relaxed)) return;
    scope_.unlink(*this);
    result_ = result;
  }
  wake();
}

bool condition_wait::claim_in_select() const noexcept { return select_state_->claim(index_); }

bool condition_wait::is_task_stopped() const noexcept {
  const task_context* const task = select_state_ ? select_state_->task() : context_;
  return task && task->stop_requested();
}

// A join in a task waits for its tasks after a stop. Outside a task, the scheduler ends.
void condition_wait::cancel(wait_operation& w) noexcept {
  auto& self = static_cast<condition_wait&>(w);
  if (!self.context_ || (self.conditions_ & task_scope::idle) == 0) self.end(outcome::cancelled);
}

void condition_wait::name_scope(std::ostream& out) const {
  out << scope_.kind();
  if (!scope_.name().empty()) out << " '" << scope_.name() << "'";
}

void condition_wait::describe_join(const wait_operation& w, std::ostream& out) {
  const auto& self = static_cast<const condition_wait&>(w);
  self.name_scope(out);
  const std::size_t live = self.scope_.live_tasks();
  out << ", " << live << (live == 1 ? " task live" : " tasks live");
}

void condition_wait::describe_stop(const wait_operation& w, std::ostream& out) {
  static_cast<const condition_wait&>(w).name_scope(out);
}

void condition_wait::inspect(const wait_operation& w, wait_target& object) {
  const auto& self = static_cast<const condition_wait&>(w);
  const task_scope& scope = self.scope_;
  object.type = scope.kind();
  object.name = scope.name();
  const detail::biased_lock lock(scope.mutex_);
  const bool linked = self.linked_.load(std::memory_order_relaxed);
  if (!linked || (self.conditions_ & task_scope::idle) == 0) return;  // no task has to end
  object.scope = scope.number();
  object.certain = self.conditions_ == task_scope::idle && !self.has_deadline_;
}

operation_result<bool> condition_wait::await_tuple() noexcept {
  cancel_alarm();
  switch (result_) {
    case outcome::cancelled: return {make_error_code(errc::cancelled), false};
    case outcome::self_join: return {make_error_code(errc::failed_precondition), false};
    default: return {std::error_code(), result_ == outcome::satisfied};
  }
}

failure condition_wait::failed(std::error_code ec) const {
  if (result_ == outcome::self_join) return self_join_error(scope_, "tasks");
  return {ec, "wait for a stop of " + std::string(scope_.kind()) + " '" +
                  std::string(scope_.name()) + "'"};
}

failure condition_wait::self_join_error(const task_scope& scope, std::string_view who) {
  return {errc::failed_precondition, std::string(scope.kind()) + " '" + std::string(scope.name()) +
                                         "': join() in one of its own " + std::string(who) +
                                         " would never return: call it from outside"};
}

// ------------------------------------------------------------------------- the waits of a scope

condition_wait task_scope::wait_until(unsigned conditions, time_point deadline,
                                      const std::source_location& where) {
  return {*this, conditions, deadline, where};
}

void task_scope::check_joining_thread() const {
  if (detail::thread_record::current_id().scope != number_) return;
  throw condition_wait::self_join_error(*this, "threads");
}

bool task_scope::block_until(unsigned conditions, time_point deadline,
                             const std::source_location& where) {
  LEAT_ASSERT(scheduler::current() == nullptr,
              "blocking wait on a scheduler thread would deadlock: use co_await");
  if ((conditions & idle) != 0) check_joining_thread();
  struct sleeper : condition_wait {
    using condition_wait::condition_wait;
    detail::parker parker;
  };
  sleeper self(*this, conditions, deadline, where);
  self.run_ = [](work_item& item) noexcept { static_cast<sleeper&>(item).parker.unpark(); };
  {
    const detail::biased_lock lock(mutex_);
    if (is_satisfied(conditions)) return true;
    self.link_into_scope();
  }
  // From here on, the thread that ends the wait uses `self`, also after a timeout, unless this
  // thread has unlinked it under the lock.
  const detail::thread_record::blocked here(self);
  if (self.parker.park_until(deadline)) return true;
  {
    const detail::biased_lock lock(mutex_);
    if (self.linked_.load(std::memory_order_relaxed)) {
      unlink(self);
      return false;
    }
  }
  self.parker.park();  // the condition became true at the deadline: its wake-up will arrive
  return true;
}

void task_scope::when_idle(condition_wait& w) noexcept {
  {
    const detail::biased_lock lock(mutex_);
    if (!is_satisfied(idle)) {
      w.link_into_scope();
      return;
    }
  }
  w.wake();
}

}  // namespace LEAT
