#pragma once

#include <exception>
#include <memory>

#include "leat/base/flavour.hpp"

namespace LEAT {

class task_context;
class wait_operation;

/// Functions that leat calls when a task starts, waits, resumes and ends: for metrics, profilers
/// and traces. Derive from it, override what you need, and install it with task_hooks_scope.
///
///     class task_counter : public leat::task_hooks {
///      public:
///       std::atomic<std::size_t> tasks{0};
///
///      private:
///       void on_start(const leat::task_context&) noexcept override { ++tasks; }
///     };
///
///     auto counter = std::make_shared<task_counter>();
///     leat::task_hooks_scope installed(counter);  // until the end of its scope
///
/// The hooks of one task are called on the thread of its scheduler, in this order: on_start(), then
/// on_wait() and on_resume() in turn, then on_end(). Tasks that had started before the hooks were
/// installed begin in the middle. The "task" is what was spawned: a task that another one awaits is
/// a part of it.
///
/// A hook must be short: it runs in the scheduler's loop. It must not run tasks, and must neither
/// install nor remove hooks. It may read the task, and task-locals with task_local::get().
///
/// Thread safety: schedulers on different threads call the hooks at the same time.
/// Cost: while hooks are installed, one virtual call for each event. Without hooks, one predictable
///       branch at each start and resumption.
class task_hooks {
 public:
  virtual ~task_hooks() = default;

  /// Called before `task` runs for the first time.
  virtual void on_start(const task_context& task) noexcept { static_cast<void>(task); }
  /// Called before `task` continues after a wait: task.waiting() is the operation that has ended.
  /// Do not describe its object, which may no longer exist.
  virtual void on_resume(const task_context& task) noexcept { static_cast<void>(task); }
  /// Called after `task` has begun to wait for `operation`. The wait may have ended meanwhile, but
  /// the task has not resumed.
  virtual void on_wait(const task_context& task, const wait_operation& operation) noexcept {
    static_cast<void>(task);
    static_cast<void>(operation);
  }
  /// Called after `task` has ended. `error`: the exception that it has thrown, or null. Also called
  /// for a task that is destroyed with its scheduler, even if it had not started.
  virtual void on_end(const task_context& task, const std::exception_ptr& error) noexcept {
    static_cast<void>(task);
    static_cast<void>(error);
  }
};

/// Installs hooks for all tasks of the process, until it is destroyed.
///
/// The scheduler that runs on the calling thread calls the hooks from now on, other schedulers from
/// their next turn. A call that is in progress on another thread when this object is destroyed
/// may end later; until their next turn, the schedulers share the ownership of the hooks. Several
/// hooks can be installed; they are called in the order of their installation.
///
/// Thread safety: thread-safe, but not inside a hook.
class task_hooks_scope {
 public:
  /// Errors: std::bad_alloc. Precondition: `hooks` is not null.
  explicit task_hooks_scope(std::shared_ptr<task_hooks> hooks);
  task_hooks_scope(const task_hooks_scope&) = delete;
  task_hooks_scope& operator=(const task_hooks_scope&) = delete;
  ~task_hooks_scope();

 private:
  std::shared_ptr<task_hooks> hooks_;
};

}  // namespace LEAT
