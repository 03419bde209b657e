#include "leat/sync/event.hpp"

#include <string>

namespace leat {

constinit const wait_operation::kind event::set_operation::wait_kind =
    detail::sync_waiter::kind_of("wait for");

void event::set() noexcept {
  work_list woken;
  {
    const detail::biased_lock lock(mutex_);
    set_ = true;
    woken = serve();
  }
  wake_all(woken);
}

void event::append_state_to(std::string& text) const {
  if (set_) text += " (set)";
}

}  // namespace leat
