#pragma once

#include <coroutine>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <utility>

#include "leat/async/scheduler/work_item.hpp"
#include "leat/base/internal/biased_mutex.hpp"

namespace LEAT {

class task_context;
class wait_operation;

namespace detail {

class installed_hooks;

/// The part of a scheduler that resumes tasks, counts them, and limits how much one of them does in
/// a turn. For task scopes, promises and awaitables of leat.
///
/// Thread safety: thread-bound to the thread that is in run_ready(), unless stated otherwise.
class task_runner {
 public:
  task_runner(const task_runner&) = delete;
  task_runner& operator=(const task_runner&) = delete;

  /// Resumes a coroutine of the task `c`, or of no task if `c` is null. Then resumes each coroutine
  /// that transfer_to() sets, one after the other and never nested. A chain of awaits that complete
  /// immediately therefore does not grow the stack. `starts`: the task has not run yet.
  void resume(std::coroutine_handle<> h, task_context* c, bool starts = false) noexcept {
    if (hooks_) [[unlikely]]
      return resume_with_hooks(h, c, starts, nullptr);
    resume_without_hooks(h, c);
  }
  /// Like resume(), for a coroutine whose wait `w` has ended.
  template <class Wait>
  void resume_after(Wait& w, std::coroutine_handle<> h, task_context* c) noexcept {
    if (hooks_) [[unlikely]]
      return resume_with_hooks(h, c, false, &w);
    w.end_wait();
    resume_without_hooks(h, c);
  }

  /// Sets the coroutine to resume as soon as the current one has suspended. Call it in a task.
  void transfer_to(std::coroutine_handle<> h) noexcept { transfer_ = h; }
  /// Sets the task to remove after the current suspension, in which it ends.
  void finish_after_suspend(task_context& c) noexcept { ended_ = &c; }
  /// Posts all items, in their order. Precondition: the scheduler runs on this thread.
  void post_all(work_list& items) noexcept { ready_.append(items); }
  /// Posts an item. Precondition: the scheduler runs on this thread.
  void post_here(work_item& item) noexcept { ready_.push_back(item); }
  /// The exception of a task that has ended, which its awaiting task or scope takes immediately.
  [[nodiscard]] std::exception_ptr& task_error() noexcept { return error_; }

  /// Counts an operation of a task that completed immediately. Returns false if the task has used
  /// up its share of the turn: the operation then posts its own task, so that others run first.
  [[nodiscard]] bool consume_budget() noexcept { return --budget_ != 0; }

  /// Counts a task that starts here. Notifies the driver of the first one. Call it within a turn.
  void task_started() noexcept {
    ++all_tasks_;
    if (tasks_++ == 0) work_started();
  }
  /// Counts a task that ends. Notifies the driver of the last one. Call it within a turn.
  void task_ended() noexcept {
    if (--tasks_ == 0) work_finished();
  }

  /// Notifies the driver that a task lives on this scheduler. The driver must not return from its
  /// loop before work_finished() has been called as often. Thread safety: thread-safe.
  virtual void work_started() noexcept = 0;
  virtual void work_finished() noexcept = 0;

  /// Returns false if the scheduler is known to run on several threads in turn. For objects whose
  /// locks are cheaper if one thread uses them. Call it within a turn.
  [[nodiscard]] bool is_run_by_one_thread() const noexcept {
    return thread_ == biased_mutex::this_thread();
  }

  /// Returns the task whose frame, with the objects in it, is being destroyed; or null.
  [[nodiscard]] const task_context* dying_task() const noexcept { return dying_; }

  /// For detail::wait_of_foreign_coroutine.
  [[nodiscard]] work_item*& waits_of_foreign_coroutines() noexcept {
    return waits_of_foreign_coroutines_;
  }
  static void use_newest_hooks_here() noexcept;               ///< For task_hooks_scope.
  static unsigned add_hook_changes(unsigned count) noexcept;  ///< For task_hooks_scope.
  [[nodiscard]] bool& has_task_locals() noexcept { return has_task_locals_; }  ///< Ever, in a task.

 protected:
  task_runner() = default;
  ~task_runner() = default;

  static void finish_ended(task_context& c) noexcept;  // in task_scope.cpp
  void use_newest_hooks() noexcept;                    // this and the next two in task_hooks.cpp
  void report_destroyed(const task_context& c, const std::exception_ptr& error) const noexcept;
  void resume_without_hooks(std::coroutine_handle<> h, task_context* c) noexcept {
    task_ = c;
    h.resume();
    while (transfer_) std::exchange(transfer_, nullptr).resume();
    task_ = nullptr;
    if (ended_) finish_ended(*std::exchange(ended_, nullptr));
  }
  // `ended_wait`: the wait that has ended, or null; its task still has it in on_resume().
  [[gnu::cold]] void resume_with_hooks(std::coroutine_handle<> h, task_context* c, bool starts,
                                       wait_operation* ended_wait) noexcept;

  work_list ready_;  // the items to run
  std::coroutine_handle<> transfer_;
  task_context* task_ = nullptr;   // that runs now
  task_context* ended_ = nullptr;  // and the one that has just ended
  std::exception_ptr error_;       // see task_error()
  static unsigned hook_changes_;   // of the installed task_hooks; atomic, see biased_mutex.cpp
  unsigned seen_hook_changes_ = 0;
  unsigned budget_ = 0;
  std::shared_ptr<const installed_hooks> hooks_;  // null: none
  std::size_t tasks_ = 0;
  biased_mutex::thread_id thread_ = nullptr;  // that runs it; null: not known; this: several
  bool has_task_locals_ = false;              // a task of this scheduler has or had one
  const task_context* dying_ = nullptr;
  work_item* waits_of_foreign_coroutines_ = nullptr;
  // Tasks that have ever started. Not beside tasks_, or g++ increments both with SSE, in more
  // instructions.
  std::uint64_t all_tasks_ = 0;
};

}  // namespace detail
}  // namespace LEAT
