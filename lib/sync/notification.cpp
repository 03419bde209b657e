#include "leat/sync/notification.hpp"

#include <string>
#include <utility>

namespace LEAT {

constinit const wait_operation::kind notification::one_wait::wait_kind =
    synchronizer_waiter::kind_of("wait for", "notification");

void notification::notify() noexcept {
  work_list woken;
  {
    const lock_type lock(mutex_);
    stored_ = true;
    woken = serve();
  }
  wake_all(woken);
}

bool notification::try_wait() noexcept {
  const lock_type lock(mutex_);
  return std::exchange(stored_, false);  // if it is stored, no operation waits
}

// Only messages about an operation that waits have the state, and then no notification is stored.
void notification::append_state_to(std::string&) const {}

}  // namespace LEAT
