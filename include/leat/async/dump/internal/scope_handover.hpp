#pragma once

#include <source_location>

#include "leat/async/condition_wait.hpp"
#include "leat/async/task_scope.hpp"

namespace LEAT::detail {

/// Ends the tasks of a scope that is destroyed before its owner has joined it, and keeps the
/// objects that these tasks use until the last one has finished.
///
/// A destructor cannot wait for a task of its own scheduler. It therefore resumes the tasks that
/// can finish without an event, waits for those on other threads, and passes the rest (tasks that
/// wait for I/O in progress) to the owner of the current task, whose join waits for them.
///
/// Thread safety: thread-bound to `sched`.
class scope_handover final : private condition_wait {
 public:
  /// Requests a stop of `scope`, resumes those of its tasks on the current scheduler that can run,
  /// within this call, and waits for those on other schedulers than `sched`. A simulation cannot
  /// wait there: such tasks continue. After ten seconds it prints which tasks it waits for.
  /// Returns true if no task is left.
  static bool end_tasks(task_scope& scope, scheduler& sched) noexcept;
  [[nodiscard]] static bool has_tasks_elsewhere(const task_scope& scope,
                                                const scheduler& sched) noexcept;

  /// Destroys an object that contains the scope and this handover.
  using destroy = void (*)(void* object) noexcept;

  scope_handover(task_scope& scope, scheduler& sched, void* object, destroy d) noexcept;

  /// Calls `destroy` on `sched` once `scope` has no task left. Until then the scope of the current
  /// task, if there is one, is not idle.
  /// Precondition: `sched` is running, or has a task of the scope that keeps it running.
  void start() noexcept;

 private:
  static bool belongs_to(const work_item& item, const task_scope& scope) noexcept;

  task_scope& scope_;
  task_scope* owner_ = nullptr;
  void* const object_;
  const destroy destroy_;
};

}  // namespace LEAT::detail
