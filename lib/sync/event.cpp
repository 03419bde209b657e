#include "leat/sync/event.hpp"

#include <string>

namespace leat {

constinit const wait_operation::kind event::set_operation::wait_kind =
    synchronizer_waiter::kind_of("wait for", "event");

void event::set() noexcept {
  work_list woken;
  {
    const detail::biased_lock lock(mutex_);
    set_.store(true, std::memory_order_release);  // pairs with is_set()
    woken = end_all(wait_outcome::done);
  }
  wake_all(woken);
}

void event::append_state_to(std::string& text) const {
  if (is_set()) text += " (set)";
}

}  // namespace leat
