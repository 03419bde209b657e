#include "leat/sync/mutex.hpp"

#include <string>

namespace leat {

constinit const wait_operation::kind mutex::lock_operation::wait_kind =
    synchronizer_waiter::kind_of("lock", "mutex");

bool mutex::try_lock_among_threads(caller caller) noexcept {
  const detail::biased_lock lock(mutex_);
  return take_for(caller);
}

void mutex::grant(synchronizer_waiter& w) noexcept {
  semaphore_base::grant(w);
  holder_ = detail::lock_holder::of(w, about_now());
}

void mutex::append_state_to(std::string& text) const {
  if (free_ == 0) holder_.append_to(text, time_of_waiting());
}

void mutex::inspect(const synchronizer_waiter& w, wait_target& target) const {
  target.certain = !w.is_limited();
  holder_.inspect(target, time_of_waiting());
}

}  // namespace leat
