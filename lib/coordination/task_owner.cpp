#include "leat/coordination/task_owner.hpp"

#include <utility>

#include "leat/async/task_group.hpp"
#include "leat/coordination/coordinator.hpp"

namespace LEAT {

void task_owner::spawn_on(scheduler& s, task<void> t, const std::string& name) const {
  if (coordinator_) return coordinator_->spawn_on(s, std::move(t), name);
  group_->spawn_on(s, std::move(t), name);
}

std::stop_token task_owner::get_stop_token() const {
  return coordinator_ ? coordinator_->get_stop_token() : group_->get_stop_token();
}

std::exception_ptr task_owner::stop_error() const noexcept {
  if (group_) return group_->first_error();
  try {
    coordinator_->raise_requested_exception();
  } catch (...) {
    return std::current_exception();
  }
  return nullptr;
}

}  // namespace LEAT
