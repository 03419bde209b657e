#include "leat/async/dump/internal/scope_handover.hpp"

#include <chrono>
#include <string>
#include <thread>
#include <utility>

#include "async/internal/live_tasks_text.hpp"
#include "base/internal/standard_error.hpp"
#include "leat/async/scheduler/scheduler_driver.hpp"

namespace LEAT::detail {

namespace {

// After this time the destructor prints the tasks that it waits for.
constexpr auto quiet_time = std::chrono::seconds(10);

void print_remaining(const task_scope& scope) noexcept {
  try {
    const std::string who = describe_live_tasks(scope);
    print_stderr("leat: destructor of %.*s '%.*s' is still waiting for its tasks:\n%s",
                 static_cast<int>(scope.kind().size()), scope.kind().data(),
                 static_cast<int>(scope.name().size()), scope.name().data(), who.c_str());
  } catch (...) {  // no memory
    write_stderr("leat: destructor is still waiting for tasks on other threads\n");
  }
}

}  // namespace

bool scope_handover::belongs_to(const work_item& item, const task_scope& scope) noexcept {
  if (wait_operation::is_wakeup(item)) {
    const task_context* const c = static_cast<const wait_operation&>(item).context_;
    return c && &c->scope() == &scope;
  }
  if (task_scope::is_start(item)) {
    return &static_cast<const task_context&>(item).scope() == &scope;
  }
  return scope.owns_stop_notice(item);
}

bool scope_handover::has_tasks_elsewhere(const task_scope& scope, const scheduler& sched) noexcept {
  const biased_lock lock(scope.mutex_);
  for (const task_context* c = scope.children_; c; c = c->following_) {
    if (c->scheduler_ != &sched) return true;
  }
  return false;
}

bool scope_handover::end_tasks(task_scope& scope, scheduler& sched) noexcept {
  scheduler* const here = scheduler::current();
  // A scheduler that is being destroyed resumes no task, but destroys it.
  const bool on_own_scheduler = here == &sched && !sched.is_ending();
  scope.request_scope_stop();
  if (on_own_scheduler) scheduler_driver::run_selected(sched, &belongs_to, scope);
  if (here && here->is_simulated()) return scope.is_idle();
  // This turn may hold back wake-ups for tasks that the loop below waits for.
  if (here) here->flush_wakeups();
  auto print_at = std::chrono::steady_clock::now() + quiet_time;
  while (has_tasks_elsewhere(scope, sched)) {
    std::this_thread::sleep_for(std::chrono::microseconds(50));
    if (on_own_scheduler) scheduler_driver::run_selected(sched, &belongs_to, scope);
    if (here) here->flush_wakeups();
    if (std::chrono::steady_clock::now() < print_at) continue;
    print_remaining(scope);
    print_at = std::chrono::steady_clock::time_point::max();
  }
  // The stop notice may not have reached another thread yet, and it holds the scope. By then no
  // task is left, and `sched` may have been destroyed.
  while (here != &sched && scope.live_tasks() == 0 && !scope.is_idle()) {
    std::this_thread::sleep_for(std::chrono::microseconds(50));
    if (here) here->flush_wakeups();
  }
  // The last task of another thread may have woken one here.
  if (on_own_scheduler) scheduler_driver::run_selected(sched, &belongs_to, scope);
  return scope.is_idle();
}

scope_handover::scope_handover(task_scope& scope, scheduler& sched, void* object,
                               destroy d) noexcept
    : condition_wait(scope, task_scope::idle, no_deadline, std::source_location::current()),
      scope_(scope),
      object_(object),
      destroy_(d) {
  scheduler_ = &sched;
  run_ = [](work_item& item) noexcept {
    auto& self = static_cast<scope_handover&>(item);
    task_scope* const owner = self.owner_;
    scheduler& where = *self.scheduler_;
    // This destroys `self`. The holds end last: then the owner and the scheduler may be destroyed.
    self.destroy_(self.object_);
    if (owner) owner->remove_hold();
    where.remove_hold();
  };
}

void scope_handover::start() noexcept {
  if (task_context* const c = scheduler::current_task()) {
    owner_ = &c->scope();
    owner_->add_hold();
  }
  scheduler_->add_hold();
  scope_.when_idle(*this);
}

}  // namespace LEAT::detail
