#include "leat/async/wait_for_stop.hpp"

#include <ostream>

#include "leat/base/error.hpp"

namespace LEAT {

const wait_operation::kind stop_wait::stop_kind{"wait", &stop_wait::cancel, &stop_wait::describe};

stop_wait::~stop_wait() {
  if (!callback_) return;
  // The coroutine is destroyed while it waits. The reset waits for a stop that is calling end() on
  // another thread, so outcome_ is final afterwards.
  callback_.reset();
  if (outcome_.load(std::memory_order_relaxed) != waiting) withdraw_wakeup();
}

bool stop_wait::await_suspend(std::coroutine_handle<> h) {
  if (!bound()) attach(h);
  if (stop_requested()) {
    outcome_.store(cancelled, std::memory_order_relaxed);
    return false;
  }
  begin_wait();
  callback_.emplace(token_, forward{this});  // a stop meanwhile calls it at once
  return true;
}

operation_result<void> stop_wait::await_tuple() noexcept {
  callback_.reset();
  const bool ended_early = outcome_.load(std::memory_order_relaxed) == cancelled;
  return {ended_early ? make_error_code(errc::cancelled) : std::error_code()};
}

failure stop_wait::failed(std::error_code ec) { return {ec, "wait for a stop"}; }

// Two stops may arrive at the same time: the awaited one on its thread, and the task's own one on
// the scheduler's thread.
void stop_wait::end(outcome o) noexcept {
  outcome expected = waiting;
  // Relaxed: it only decides which stop ends the wait; the wake orders everything else.
  if (outcome_.compare_exchange_strong(expected, o, std::memory_order_relaxed,
                                       std::memory_order_relaxed)) {
    wake();
  }
}

void stop_wait::cancel(wait_operation& w) noexcept { static_cast<stop_wait&>(w).end(cancelled); }

void stop_wait::describe(const wait_operation&, std::ostream& out) { out << "for a stop"; }

}  // namespace LEAT
