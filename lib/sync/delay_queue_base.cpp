#include "leat/sync/detail/delay_queue_base.hpp"

#include <utility>

#include "leat/async/select.hpp"
#include "leat/async/sleep.hpp"
#include "sync/present_time.hpp"

namespace LEAT::detail {

// One pop at a time, the holder of turn_, waits for the earliest deadline; the others wait for
// turn_. A change between its look at the deadlines and its wait is not lost: the change has
// released a permit of news_, and acquire() then completes at once. The permit is consumed and not
// returned, and there is at most one, so several changes cause one more look.
delay_queue_base::delay_queue_base(std::string name) : turn_(name), news_(0, 1, std::move(name)) {}

bool delay_queue_base::close() noexcept {
  {
    const thread_lock lock(mutex_);
    if (std::exchange(closed_, true)) return false;
  }
  notify();
  return true;
}

bool delay_queue_base::is_closed() const noexcept {
  const thread_lock lock(mutex_);
  return closed_;
}

time_point delay_queue_base::present() noexcept { return present_time(); }

task<bool> delay_queue_base::wait_for_deadline(std::source_location where) {
  time_point earliest = no_deadline;
  {
    const thread_lock lock(mutex_);
    if (is_drained()) co_return false;
    earliest = deadlines_.earliest();
  }
  if (earliest == no_deadline) {
    (co_await news_.acquire(1, where)).forget();
  } else {
    auto first = co_await select(news_.acquire(1, where), sleep_until(earliest, where));
    if (first.index() == 0) std::get<0>(first).forget();
  }
  co_return true;
}

}  // namespace LEAT::detail
