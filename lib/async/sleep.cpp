#include "leat/async/sleep.hpp"

#include <ostream>

#include "leat/async/this_task.hpp"
#include "leat/base/error.hpp"

namespace leat {

const wait_operation::kind sleep_wait::sleep_kind{"sleep", &sleep_wait::cancel,
                                                  &sleep_wait::describe};

const wait_operation::kind detail::yield_wait::yield_kind{
    "yield", [](wait_operation&) noexcept {}, [](const wait_operation&, std::ostream&) {}};

sleep_wait::alarm::alarm(sleep_wait& w) noexcept
    : detail::timer([](detail::timer& t) noexcept { static_cast<alarm&>(t).owner.wake(); }),
      owner(w) {}

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
    return false;
  }
  scheduler_->add_timer(alarm_, end_.from_now(*scheduler_));
  begin_wait();
  return true;
}

std::tuple<std::error_code> sleep_wait::await_tuple() const noexcept {
  return cancelled_ ? make_error_code(errc::cancelled) : std::error_code();
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
  const duration left = self.alarm_.when_ > now ? self.alarm_.when_ - now : duration::zero();
  out << "for another " << std::chrono::duration_cast<std::chrono::milliseconds>(left).count()
      << " ms";
}

}  // namespace leat
