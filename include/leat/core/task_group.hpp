#pragma once

#include <exception>
#include <source_location>
#include <string_view>
#include <utility>

#include "leat/core/task.hpp"
#include "leat/core/this_task.hpp"

namespace leat {

/// Runs tasks side by side and joins them: the first error stops the others and is thrown by
/// join().
///
///     leat::task_group group;
///     group.spawn(produce(queue), "producer");
///     group.spawn(consume(queue), "consumer");
///     co_await group.join();
///
/// Join before the group ends, on every way out: its destructor asserts that no task lives. Made in
/// a task, it is stopped together with that task.
///
/// Thread safety: shared-safe.
class task_group final : public task_scope {
 public:
  /// A group for the present scope; `name` appears in dumps.
  explicit task_group(std::string_view name = {}) : task_scope("task group", name, nullptr) {}

  /// A group that is stopped when `parent` is: `task_group g(co_await this_task::get_context())`.
  explicit task_group(context& parent, std::string_view name = {})
      : task_scope("task group", name, &parent) {}

  /// Starts a task on the scheduler that runs now, in its next turn.
  /// Errors: std::bad_alloc; then nothing was started.
  void spawn(task<void> t, std::string_view name = {},
             std::source_location where = std::source_location::current()) {
    scheduler* s = scheduler::current();
    LEAT_ASSERT(s != nullptr, "spawn outside a scheduler: use spawn_on");
    spawn_on(*s, std::move(t), name, where);
  }

  /// Starts a task on another scheduler.
  /// Errors: std::bad_alloc; then nothing was started.
  void spawn_on(scheduler& s, task<void> t, std::string_view name = {},
                std::source_location where = std::source_location::current()) {
    task_scope::spawn_on(s, std::move(t), name, where);
  }

  /// Asks every task of the group to stop: its wait, present or next, ends as cancelled.
  /// Returns false when that was done before.
  bool request_stop() noexcept { return request_scope_stop(); }

  /// Waits until every task has ended, then throws the first error that one of them ended with.
  /// That a task was cancelled by the group's own stop is no error.
  ///
  /// Cancellation: a stop of the caller stops the group when it was made with the caller's context;
  ///               join waits on until all have ended.
  [[nodiscard]] task<void> join(std::source_location where = std::source_location::current());

  /// The same for an OS thread that runs no scheduler.
  void wait_join();

 private:
  void task_ended(std::string_view name, std::exception_ptr error) noexcept override;
  void rethrow_first();

  detail::mutex error_mutex_;
  std::exception_ptr first_error_ LEAT_GUARDED_BY(error_mutex_);
};

}  // namespace leat
