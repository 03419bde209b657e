#include "leat/sync/event.hpp"

#include <string>

namespace LEAT {

constinit const wait_operation::kind event::set_operation::wait_kind =
    synchronizer_waiter::kind_of("wait for", "event");

void event::set_and_wake() noexcept {
  work_list woken;
  {
    const section lock(*this);
    state().set_number(1);
    woken = end_all(wait_outcome::done);
  }
  wake_all(woken);
}

void event::append_state_to(std::string& text) const {
  if (is_set()) text += " (set)";
}

}  // namespace LEAT
