#include "leat/async/tracing/task_local.hpp"

#include <new>
#include <sstream>
#include <string>
#include <utility>

#include "leat/async/detail/promise.hpp"
#include "leat/async/scheduler/scheduler.hpp"
#include "leat/async/task_context.hpp"

namespace LEAT {

std::string detail::task_local_node::text() const {
  std::ostringstream out;
  try {
    print(out);
  } catch (const std::bad_alloc&) {
    throw;
  } catch (...) {  // of the value's operator<<
    return "(cannot be printed)";
  }
  return std::move(out).str();
}

// A loop, because a list of a million nodes must not need a million stack frames.
void detail::task_local_node::release() noexcept {
  task_local_node* n = this;
  // acq_rel: the accesses of all owners come before the destruction.
  while (n && n->owners_.fetch_sub(1, std::memory_order_acq_rel) == 1) {
    task_local_node* const outer = n->outer_;
    delete n;
    n = outer;
  }
}

detail::task_local_node* task_context::locals() const noexcept {
  if (!scheduler_->has_task_locals()) return inherited_locals();
  for (const detail::promise_base* p = innermost_; p; p = p->parent()) {
    if (detail::task_local_node* const set_here = p->locals()) return set_here;
  }
  return inherited_locals();
}

void task_context::free_with_tail(task_context& c) noexcept {
  detail::task_local_node* const locals = c.inherited_locals();
  detail::free_frame(&c, size_with(locals != nullptr, c.name()));
  if (locals) locals->release();
}

namespace {

// The values for code that works for a task outside its turns: a function of run_blocking(), and
// the destructors of a task that ends with its scheduler.
constinit thread_local detail::task_local_node* borrowed = nullptr;

}  // namespace

detail::borrowed_task_locals::borrowed_task_locals(task_local_node* locals) noexcept
    : before_(std::exchange(borrowed, locals)) {}

detail::borrowed_task_locals::~borrowed_task_locals() { borrowed = before_; }

detail::task_local_node* detail::current_task_locals() noexcept {
  const task_context* const running = scheduler::current_task();
  return running ? running->locals() : borrowed;
}

// If the task is destroyed with its scheduler, its frames are destroyed from the inside out.
detail::task_local_owner::~task_local_owner() {
  if (!scheduler::current_task()) [[unlikely]]
    borrowed = before_;
  node_.release();
}

}  // namespace LEAT
