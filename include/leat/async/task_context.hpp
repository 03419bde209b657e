#pragma once

#include <coroutine>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <source_location>
#include <string>
#include <string_view>

#include "leat/async/scheduler.hpp"
#include "leat/async/task_id.hpp"
#include "leat/async/work_item.hpp"
#include "leat/base/detail/frame_allocator.hpp"
#include "leat/base/detail/pimpl.hpp"

namespace leat {

class task_scope;
class wait_operation;

namespace detail {
class dump_collector;
class promise_base;
class scope_handover;
std::string to_text(const work_item& item);
}  // namespace detail

/// The context of a spawned task and of all tasks that it awaits. It holds their scheduler, owner
/// and name, and the operation on which they wait.
///
/// Each spawned task has one; an awaited child shares the context of its parent. task_scope creates
/// and frees it.
///
/// Thread safety: thread-bound to its scheduler, except for the values that are fixed at spawn
/// (scheduler, scope, ID, name and spawn site).
class task_context : private work_item {
 public:
  task_context(scheduler& s, task_scope& scope, const std::source_location& spawned_at) noexcept
      : scheduler_(&s), scope_(&scope), spawned_at_(spawned_at) {}
  task_context(const task_context&) = delete;
  task_context& operator=(const task_context&) = delete;

  /// Returns the scheduler of the task.
  [[nodiscard]] scheduler& get_scheduler() const noexcept { return *scheduler_; }
  /// Returns the scope that owns the task.
  [[nodiscard]] task_scope& scope() const noexcept { return *scope_; }

  /// Returns the ID of the task, which stays unique for the life of the process.
  [[nodiscard]] inline task_id id() const noexcept;  // in task_scope.hpp

  /// Returns the name that was passed at spawn, or an empty string if there was none.
  [[nodiscard]] std::string_view name() const noexcept { return name_ ? name_.get() : ""; }
  /// Returns the source location at which the task was spawned.
  [[nodiscard]] const std::source_location& spawned_at() const noexcept { return spawned_at_; }

  /// Returns the operation on which the task waits, or null while the task runs or is ready to run.
  [[nodiscard]] inline wait_operation* waiting() const noexcept;  // in wait.hpp

  /// Returns true if the task was asked to stop. Thread safety: thread-safe.
  [[nodiscard]] inline bool stop_requested() const noexcept;  // in task_scope.hpp

  static void* operator new(std::size_t size) { return detail::allocate_frame(size); }
  static void operator delete(void* p, std::size_t size) noexcept { detail::free_frame(p, size); }

 private:
  friend class scheduler;
  friend class task_scope;
  friend class wait_operation;
  friend class detail::dump_collector;
  friend class detail::promise_base;
  friend class detail::scope_handover;
  friend std::string detail::to_text(const work_item& item);

  // The item is for the start alone. From then on run_ is null and next_ the operation on which the
  // task waits.
  void set_started() noexcept {
    run_ = nullptr;
    next_ = nullptr;
  }
  void set_waiting(work_item* w) noexcept { next_ = w; }

  scheduler* scheduler_;
  task_scope* scope_;
  std::uint64_t index_ = 0;                    // set by the scope when it takes the task in
  std::coroutine_handle<> body_;               // the outermost coroutine
  detail::promise_base* innermost_ = nullptr;  // the end of the chain of awaiting tasks
  task_context* previous_ = nullptr;           // the scope's list of children
  task_context* following_ = nullptr;
  detail::pimpl<char[]> name_;
  std::source_location spawned_at_;
};

}  // namespace leat
