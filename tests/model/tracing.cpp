// The models install no hooks and set no task-locals. These definitions stand for those of
// lib/async/tracing, whose locks and lists are not modelled.

#include <cstdlib>

#include "leat/async/detail/task_local_node.hpp"
#include "leat/async/scheduler/scheduler.hpp"
#include "leat/async/task_context.hpp"

namespace leat {

constinit unsigned detail::task_runner::hook_changes_ = 0;

void detail::task_runner::use_newest_hooks() noexcept { std::abort(); }
void detail::task_runner::resume_with_hooks(std::coroutine_handle<>, task_context*, bool,
                                            wait_operation*) noexcept {
  std::abort();
}
void detail::task_runner::report_destroyed(const task_context&,
                                           const std::exception_ptr&) const noexcept {
  std::abort();
}

void task_context::free_with_tail(task_context& c) noexcept {
  detail::free_frame(&c, size_with(false, c.name()));
}

detail::task_local_node* task_context::locals() const noexcept { return nullptr; }

detail::task_local_node* detail::current_task_locals() noexcept { return nullptr; }

detail::borrowed_task_locals::borrowed_task_locals(task_local_node* locals) noexcept
    : before_(locals) {}
detail::borrowed_task_locals::~borrowed_task_locals() = default;

}  // namespace leat
