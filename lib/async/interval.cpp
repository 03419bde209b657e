#include "leat/async/interval.hpp"

#include <ostream>
#include <string>
#include <utility>

#include "leat/async/detail/promise.hpp"
#include "leat/base/error.hpp"

namespace LEAT {

interval::interval(time_span period, missed_tick_policy missed_ticks)
    : period_(period), missed_ticks_(missed_ticks) {
  if (period > duration::zero()) return;
  throw failure(
      errc::invalid_argument,
      "interval: the period is " + std::to_string(period_.count()) + " ns: use a period above 0");
}

time_point interval::next(time_point now) noexcept {
  if (!schedule_) schedule_.emplace(now, period_, missed_ticks_);
  return schedule_->next(now);
}

bool tick_wait::await_suspend(std::coroutine_handle<> h) {
  scheduler* const sched = promise_ ? &promise_->context().get_scheduler() : scheduler::current();
  if (!sched) throw detail::no_scheduler_here();
  due_ = of_.next(sched->now());
  sleep_.emplace(due_, where_);
  if (promise_) sleep_->bind(*promise_, h);
  return sleep_->await_suspend(h);
}

time_point tick_wait::await_resume() {
  sleep_->await_resume();
  of_.advance(due_);
  return due_;
}

operation_result<time_point> tick_wait::await_tuple() noexcept {
  const auto [ec] = sleep_->await_tuple();
  if (ec) return {ec, time_point()};
  of_.advance(due_);
  return {std::error_code(), due_};
}

bool detail::select_branch<tick_wait>::begin() {
  due_ = of_.next(select_state_.get_scheduler()->now());
  sleep_.emplace(sleep_wait(due_, select_state_.where()), select_state_, index_);
  return sleep_->begin();
}

time_point detail::select_branch<tick_wait>::result() noexcept {
  of_.advance(due_);
  return due_;
}

void detail::select_branch<tick_wait>::describe(std::ostream& out) const {
  out << "tick of an interval";
}

}  // namespace LEAT
