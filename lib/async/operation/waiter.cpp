#include "leat/async/operation/waiter.hpp"

#include <sstream>
#include <stop_token>
#include <string>

#include "async/dump/internal/process_snapshot.hpp"
#include "leat/async/detail/select_state.hpp"
#include "leat/async/internal/thread_record.hpp"
#include "leat/async/operation/detail/blocked_thread.hpp"
#include "leat/async/operation/irrevocable.hpp"

namespace LEAT {

void waiter::continue_select(detail::select_link& link) noexcept {
  set(selected);
  set_continuation(&link);
  run_ = &waiter::wake_select;
}

void waiter::wake_select(work_item& item) noexcept {
  static_cast<waiter&>(item).link().state.wake();
}

void waiter::continue_thread(detail::blocked_thread& thread) noexcept {
  set_continuation(&thread);
  run_ = &waiter::wake_thread;
}

void waiter::wake_thread(work_item& item) noexcept {
  static_cast<detail::blocked_thread*>(static_cast<waiter&>(item).continuation())->parker_.unpark();
}

bool waiter::claim_select() noexcept { return link().state.claim(link().index); }

const task_context* waiter::waiting_task() const noexcept {
  return is_selected() ? link().state.task() : context_;
}

scheduler* waiter::waiting_on() const noexcept {
  return is_selected() ? link().state.get_scheduler() : get_scheduler();
}

task_id waiter::task_if_rare() const noexcept {
  if (const task_context* const c = waiting_task()) return c->id();
  if (run_ != &waiter::wake_thread) return {};
  return static_cast<const detail::blocked_thread*>(continuation())->id_;
}

std::string waiter::limit_text() const {
  const detail::limit_end* const by = is_selected() ? link().ended_by : nullptr;
  return by ? detail::limit_text(*by) : std::string();
}

task_id waiter::id_of_this_thread() noexcept { return detail::thread_record::current_id(); }

detail::waiting_operation waiter::operation() const noexcept {
  using who = detail::waiting_operation::waiter;
  detail::waiting_operation o;
  o.verb = what().verb.substr(0, what().verb.find(' '));  // "push" of "push to"
  o.selected = is_selected();
  o.wait = static_cast<const wait_operation*>(this);
  o.at = where();
  if (const task_context* const c = waiting_task()) {
    o.task = c->id();
  } else if (is_selected() || resumes_coroutine()) {
    o.who = who::coroutine;
  } else {
    o.who = run_ == &waiter::wake_thread ? who::thread : who::handler;
  }
  return o;
}

std::error_code waiter::error() const noexcept {
  switch (outcome_) {
    case wait_outcome::cancelled: return make_error_code(errc::cancelled);
    case wait_outcome::exhausted: return make_error_code(errc::resource_exhausted);
    case wait_outcome::late: return make_error_code(errc::deadline_exceeded);
    default: return {};
  }
}

failure waiter::failed() const {
  std::ostringstream text;
  text << what().verb << ' ';
  describe_object(text);
  if (outcome_ == wait_outcome::late) text << ": timed out without effect";
  return {error(), std::move(text).str()};
}

std::string irrevocable_wait::end_text() const {
  return ended_by_ ? detail::limit_text(*ended_by_) : std::string();
}

}  // namespace LEAT

namespace LEAT::detail {

blocked_thread::blocked_thread(waiter& w, const wait_limit* limit) noexcept
    : waiter_(w), limit_(limit), here_(w) {
  if (limit) w.set(waiter::limited);
  w.continue_thread(*this);
}

void blocked_thread::sleep() {
  const auto cancel = [this]() noexcept { waiter_.what().cancel(waiter_); };
  // Called at once by a stop that was requested meanwhile.
  const std::stop_callback of_thread(thread_record::stop_token(), cancel);
  const std::stop_callback of_limit(limit_ ? limit_->stop() : std::stop_token(), cancel);
  if (parker_.park_until(limit_ ? limit_->deadline() : no_deadline)) return;
  cancel();
  parker_.park();  // if it completed at the deadline, its own wake-up arrives
  if (waiter_.outcome_ == wait_outcome::cancelled) waiter_.outcome_ = wait_outcome::late;
}

}  // namespace LEAT::detail
