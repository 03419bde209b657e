#include "leat/async/detail/task_branch.hpp"

#include <chrono>
#include <ostream>
#include <string>

#include "async/internal/backoff.hpp"
#include "async/internal/live_tasks_text.hpp"
#include "base/internal/error_text.hpp"
#include "base/text/text_in_seconds.hpp"
#include "leat/base/clock.hpp"

namespace LEAT::detail {

namespace {

// After this time, a task that was asked to stop and still runs is printed.
constexpr auto grace_period = std::chrono::seconds(10);

// The error that a stopped retry() would have retried; empty for another task.
std::string retried_error(const joint_scope& scope) {
  try {
    scope.rethrow_any();
  } catch (const retry_stopped& e) {
    return ": " + without_code_message(e);
  } catch (...) {
  }
  return {};
}

}  // namespace

task_branch::end_wait::end_wait(joint_scope& scope, task_branch& b,
                                const std::source_location& where) noexcept
    : condition_wait(scope, joint_scope::idle, no_deadline, where), branch(b) {
  run_ = [](work_item& item) noexcept { static_cast<end_wait&>(item).branch.ended(); };
}

task_branch::alarm::alarm(task_branch& b) noexcept
    : timer([](timer& t) noexcept { static_cast<alarm&>(t).branch.print_late(); }), branch(b) {}

task_branch::~task_branch() {
  if (alarm_.is_set()) state_.get_scheduler()->cancel_timer(alarm_);
}

void task_branch::started(joint_scope& scope) {
  scope_ = &scope;
  end_.emplace(scope, *this, state_.where());
  scope.when_idle(*end_);
}

// Runs within the end of the task, after the scope has been accessed for the last time.
void task_branch::ended() noexcept {
  ended_ = true;
  if (alarm_.is_set()) state_.get_scheduler()->cancel_timer(alarm_);
  if (state_.claim(index_) || cancel_requested_) state_.wake();
}

void task_branch::request_cancel() noexcept {
  if (cancel_requested_) return;  // a scheduler that ends asks again
  scheduler& sched = *state_.get_scheduler();
  cancel_requested_ = true;
  cancelled_at_ = sched.now();
  try {
    if (needs_message_) waited_for_ = wait_of_first_task(*scope_);
    sched.add_timer(alarm_, deadline_after(cancelled_at_, grace_period));
  } catch (...) {  // no memory: the messages are shorter
  }
  scope_->request_stop();
}

void task_branch::print_late() const noexcept {
  print_late_task(*scope_, state_.where(), grace_period);
}

void task_branch::describe(std::ostream& out) const {
  out << "a task";
  if (is_over() || !cancel_requested_) return;
  out << ", asked to stop " << text_in_seconds(state_.get_scheduler()->now() - cancelled_at_)
      << " ago, not ended yet";
}

void task_branch::rethrow_error() const {
  if (scope_) scope_->rethrow_error();
  if (is_late()) {
    const std::string what = waited_for_.empty() ? "task" : "task that waits for " + waited_for_;
    throw failure(errc::deadline_exceeded, what + ": timed out and was stopped" +
                                               limit_text(*interrupted_by_) +
                                               (scope_ ? retried_error(*scope_) : std::string()));
  }
  if (scope_) scope_->rethrow_any();
  const std::string by = interrupted_by_ ? limit_text(*interrupted_by_) : std::string();
  throw failure(errc::cancelled, "task: stopped before it started" + by);
}

std::error_code task_branch::error_code() const noexcept {
  if (scope_ && scope_->has_error()) return scope_->error_code();
  return make_error_code(is_late() ? errc::deadline_exceeded : errc::cancelled);
}

}  // namespace LEAT::detail
