#include "leat/async/detail/joint_scope.hpp"

#include <string>
#include <string_view>

#include "leat/async/for_each_concurrent.hpp"
#include "leat/base/error.hpp"

namespace LEAT::detail {

bool joint_scope::run_after_start(work_item& next) noexcept {
  const biased_lock lock(mutex_);
  if (!children_ || !children_->run_) return false;
  after_start_ = &next;
  children_->run_ = &joint_scope::start_and_then;
  return true;
}

work_item& joint_scope::next_of(const work_item& start) noexcept {
  const task_scope& scope = static_cast<const task_context&>(start).scope();
  return *static_cast<const joint_scope&>(scope).after_start_;
}

// The coroutine that awaits the task contains the scope and `next`. It must not resume within the
// item of the task.
void joint_scope::start_and_then(work_item& item) noexcept {
  auto& task = static_cast<task_context&>(item);
  const auto& scope = static_cast<joint_scope&>(task.scope());
  scheduler& sched = task.get_scheduler();
  work_item& next = next_of(item);
  task_scope::start(item);
  if (scope.is_idle()) {
    sched.post(next);
  } else {
    next.run_(next);
  }
}

void joint_scope::fail(std::exception_ptr error) noexcept {
  if (stop_requested() && to_error_code(error) == errc::cancelled) {
    if (!cancelled_) cancelled_ = std::move(error);
    return;
  }
  if (!error_) error_ = std::move(error);
  request_scope_stop();
}

void check_concurrency(std::string_view function, std::size_t limit) {
  if (limit > 0) return;
  throw failure(errc::invalid_argument, std::string(function) +
                                            "(): the limit is 0, so no element would ever be "
                                            "processed: use 1 or more");
}

void throw_stopped_early(std::size_t started) {
  throw failure(errc::cancelled,
                "stopped after " + std::to_string(started) + " elements of the range");
}

}  // namespace LEAT::detail
