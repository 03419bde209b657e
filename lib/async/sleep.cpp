#include "leat/async/sleep.hpp"

#include <algorithm>
#include <ostream>
#include <string>

#include "base/text/milliseconds_text.hpp"
#include "leat/async/internal/yield_turn.hpp"
#include "leat/async/this_task.hpp"
#include "leat/base/error.hpp"

namespace LEAT {

const wait_operation::kind sleep_wait::sleep_kind{"sleep", &sleep_wait::cancel,
                                                  &sleep_wait::describe};

const wait_operation::kind detail::yield_wait::yield_kind{
    "yield", [](wait_operation&) noexcept {}, [](const wait_operation&, std::ostream&) {}};

task<void> detail::yield_turn() {
  scheduler::current()->yield_turn();
  co_await this_task::yield();
}

task<void> detail::yield_turn(std::string what) {
  co_await yield_turn();
  if (this_task::stop_requested()) throw failure(errc::cancelled, what);
}

sleep_wait::alarm::alarm(sleep_wait& w) noexcept : timer(&expired), owner(w) {}

// After a stop request the sleep is cancelled, although the loop was late to deliver the request.
void sleep_wait::alarm::expired(timer& t) noexcept {
  sleep_wait& self = static_cast<alarm&>(t).owner;
  self.cancelled_ = self.stop_requested();
  self.wake();
}

sleep_wait::~sleep_wait() {
  if (alarm_.is_set()) {
    scheduler_->cancel_timer(alarm_);
  } else if (is_dying()) {
    withdraw_wakeup();
  }
}

bool sleep_wait::await_suspend(std::coroutine_handle<> h) {
  if (!bound()) attach(h);
  if (stop_requested()) {
    cancelled_ = true;
    return yield_after_budget();
  }
  scheduler_->add_timer(alarm_, end_.from_now(*scheduler_));
  begin_wait();
  return true;
}

operation_result<void> sleep_wait::await_tuple() const noexcept {
  return {cancelled_ ? make_error_code(errc::cancelled) : std::error_code()};
}

failure sleep_wait::failed(std::error_code ec) { return {ec, "sleep"}; }

void sleep_wait::cancel(wait_operation& w) noexcept {
  auto& self = static_cast<sleep_wait&>(w);
  if (!self.scheduler_->cancel_timer(self.alarm_)) return;
  self.cancelled_ = true;
  self.wake();
}

void sleep_wait::describe(const wait_operation& w, std::ostream& out) {
  const auto& self = static_cast<const sleep_wait&>(w);
  const time_point now = self.scheduler_->now();
  if (self.alarm_.is_set()) {
    out << "for another " << detail::milliseconds_until(self.alarm_.when_, now) << " ms";
    return;
  }
  const time_point end = std::max(self.alarm_.when_, self.since());
  const duration length =
      self.end_.after >= duration::zero() ? self.end_.after : end - self.since();
  out << "of " << detail::milliseconds_text(length) << " ms";
  if (self.cancelled_ && end > now) {
    out << ", stopped " << detail::milliseconds_text(end - now) << " ms early";
  }
}

}  // namespace LEAT
