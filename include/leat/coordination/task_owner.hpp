#pragma once

#include <exception>
#include <stop_token>
#include <string>

#include "leat/async/scheduler/scheduler.hpp"
#include "leat/async/task.hpp"

namespace LEAT {

class coordinator;
class task_group;

/// The owner of tasks that a start() creates: a coordinator or a task group. Both convert to it.
///
/// A value that refers to the owner, which must outlive the tasks.
class task_owner {
 public:
  task_owner(coordinator& c) noexcept : coordinator_(&c) {}
  task_owner(task_group& g) noexcept : group_(&g) {}

  /// Returns the coordinator, or null for a task group.
  [[nodiscard]] coordinator* get_coordinator() const noexcept { return coordinator_; }

  /// Starts a task on a scheduler. Errors: std::bad_alloc; the task is then not started.
  void spawn_on(scheduler& s, task<void> t, const std::string& name) const;

  /// Returns the token that is stopped with the owner.
  [[nodiscard]] std::stop_token get_stop_token() const;

  /// Returns the error that has stopped the owner, or null.
  [[nodiscard]] std::exception_ptr stop_error() const noexcept;

 private:
  coordinator* coordinator_ = nullptr;
  task_group* group_ = nullptr;
};

}  // namespace LEAT
