#pragma once

#include <coroutine>
#include <iosfwd>
#include <source_location>
#include <string>
#include <string_view>

#include "leat/async/detail/asio_misuse.hpp"
#include "leat/async/detail/awaiter_in_foreign_coroutine.hpp"
#include "leat/async/scheduler/scheduler.hpp"
#include "leat/async/scheduler/work_item.hpp"
#include "leat/async/task_context.hpp"
#include "leat/async/wait_target.hpp"
#include "leat/base/clock.hpp"

namespace LEAT {

namespace detail {
class promise_base;
class scope_handover;
std::string to_text(const work_item& item);
std::string to_text(const timer& t);
}  // namespace detail

/// A waiting operation. It records the waiting coroutine, the source location and the start of the
/// wait, and can cancel the wait.
///
/// Base of every operation that can suspend a task. It lives in the frame of the waiting coroutine,
/// so waiting allocates nothing. It is also the work item that resumes the coroutine, on the
/// scheduler on which the wait began and never inside the call that ends the wait.
///
/// In a leat task, bind() sets the task of the operation before the operation is tried. In any
/// other coroutine, attach() sets the scheduler when the operation suspends the coroutine;
/// `co_await` awaits the operation through detail::awaiter_in_foreign_coroutine, which starts it in
/// a loop iteration.
class wait_operation : public work_item {
 public:
  /// The properties of a kind of waits; there is one static object for each kind.
  struct kind {
    std::string_view verb;  ///< the operation, as printed in a dump: "pop", "sleep"
    /// Ends the wait with `cancelled`, unless it has ended already. Called on the scheduler of the
    /// waiting coroutine; for a thread or a handler, on the thread that requests the end.
    void (*cancel)(wait_operation&) noexcept;
    /// Prints the human-readable details: the object and its fill level. Called on the same thread
    /// as cancel.
    void (*describe)(const wait_operation&, std::ostream&);
    /// Sets the machine-readable details, and the tasks that can end the wait. If null, only the
    /// text is known. Called on the same thread as cancel.
    void (*inspect)(const wait_operation&, wait_target&) = nullptr;
    /// Returns true while code outside leat uses the memory of the wait, so that the scheduler must
    /// not destroy the task; see scheduler_driver::continue_end(). If null, this is never so.
    /// Called on the same thread as cancel.
    bool (*is_pinned)(const wait_operation&) noexcept = nullptr;
    /// The type of the object, for the text of a wait that has ended: the object may be gone.
    std::string_view object = {};
  };

  wait_operation(const wait_operation&) = delete;
  wait_operation& operator=(const wait_operation&) = delete;

  /// Explains the error of a `co_await` in a coroutine of Asio.
  template <detail::awaitable_of_operation Asio>
  operator Asio() const noexcept;

  /// Returns the kind of the wait.
  [[nodiscard]] const kind& what() const noexcept { return *kind_; }
  /// Prints the object of the wait, such as "queue 'lines' (0 of 4)". Precondition: it exists.
  void describe_object(std::ostream& out) const { what().describe(*this, out); }
  /// Returns the source location of the call that created the operation.
  [[nodiscard]] const std::source_location& where() const noexcept { return where_; }
  /// Returns the time at which the wait began, on the clock of its scheduler.
  [[nodiscard]] time_point since() const noexcept { return since_; }
  /// Returns the scheduler that resumes the coroutine, or null while no coroutine is known.
  [[nodiscard]] scheduler* get_scheduler() const noexcept { return scheduler_; }

  /// Returns true while code outside leat uses the memory of the wait: see kind::is_pinned.
  [[nodiscard]] bool is_pinned() const noexcept {
    return what().is_pinned && what().is_pinned(*this);
  }

  /// Wakes the waiting coroutine: its scheduler resumes it later. Call it once, after the result is
  /// stored. The operation may no longer exist afterwards. Thread safety: thread-safe.
  void wake() noexcept {
    if (scheduler_) {
      scheduler_->post(*this);
    } else {
      run_(*this);
    }
  }

  /// Sets the task and the waiting coroutine `h`. leat::task calls it before it tries the
  /// operation.
  inline void bind(detail::promise_base& promise, std::coroutine_handle<> h) noexcept;

  /// Begins to wait in the coroutine `h` of the task `c`. Pass null for `c` if the coroutine is not
  /// a leat task. Errors: those of attach().
  void begin_wait(task_context* c, std::coroutine_handle<> h) {
    if (c) return begin_wait_in(*c, h, c->get_scheduler().turn_time());
    attach(h);
    begin_wait();
  }

  /// Like begin_wait(&c, h). `now`: the turn_time().
  void begin_wait_in(task_context& c, std::coroutine_handle<> h, time_point now) noexcept {
    context_ = &c;
    scheduler_ = &c.get_scheduler();
    continuation_ = h.address();
    since_ = now;
    run_ = &wait_operation::resume;
    c.set_waiting(this);
  }

  /// Undoes begin_wait(c, h), for an operation that completed immediately.
  void abandon_wait() noexcept { end_wait(); }

 protected:
  /// Creates an operation that does not wait yet. `k` must outlive it.
  wait_operation(const kind& k, const std::source_location& where) noexcept
      : kind_(&k), where_(where) {}
  ~wait_operation() = default;

  /// Returns true if the operation belongs to a leat task.
  [[nodiscard]] bool bound() const noexcept { return context_ != nullptr; }

  /// Sets the coroutine to resume, for a coroutine that is not a leat task.
  /// Errors: failed_precondition outside a loop iteration of a scheduler.
  void attach(std::coroutine_handle<> h);

  /// Marks the task as waiting here. Call it before another thread can complete the operation.
  void begin_wait() noexcept {
    if (scheduler_) since_ = scheduler_->turn_time();
    if (!context_) return;
    run_ = &wait_operation::resume;
    context_->set_waiting(this);
  }

  /// The first half of begin_wait(), for an operation of a leat task: only changes the operation.
  void set_wait_begin() noexcept {
    since_ = scheduler_->turn_time();
    run_ = &wait_operation::resume;
  }
  /// The second half: makes the operation the one on which its task `c` waits.
  void set_waiting(task_context& c) noexcept { c.set_waiting(this); }

  /// Undoes begin_wait(), for a wait that ended immediately.
  void end_wait() noexcept {
    if (context_) context_->set_waiting(nullptr);
  }

  /// For await_suspend() of an operation that has ended: returns true, and the coroutine resumes
  /// later, if the task has used up its budget, so that other ready tasks run first.
  [[nodiscard]] bool yield_after_budget() noexcept;

  /// Returns true if a coroutine waits, and not a thread or a handler.
  [[nodiscard]] bool resumes_coroutine() const noexcept { return run_ == &wait_operation::resume; }

  /// For a destructor: returns true if the coroutine is destroyed while it waits here, a task with
  /// its scheduler, and a coroutine of another library at any time.
  [[nodiscard]] bool is_dying() const noexcept {
    if (!context_) return continuation_ == &destroyed_mark;
    return scheduler_->is_ending() && context_->waiting() == this;
  }

  /// For the destructor of a wait that has ended but whose coroutine was not resumed. Returns when
  /// the wake-up, which another thread may be about to post, no longer refers to this wait.
  /// Precondition: the coroutine is not a task, or the scheduler ends its tasks.
  [[gnu::cold]] void withdraw_wakeup() noexcept;

  /// Makes wake() resume the coroutine again, after the operation has used its own run function.
  void set_wakeup() noexcept { run_ = &wait_operation::resume; }

  /// Returns the address of what continues when the wait ends, if that is not a coroutine.
  [[nodiscard]] void* continuation() const noexcept { return continuation_; }
  /// Sets it.
  void set_continuation(void* c) noexcept { continuation_ = c; }

  /// Sets the source location, for an operation that no call of leat has created.
  void set_where(const std::source_location& where) noexcept { where_ = where; }

  /// Discards the wake-up that is running, because the scheduler ends its tasks.
  void drop_wakeup() noexcept { run_ = &wait_operation::drop; }

  /// Resumes the coroutine. For a wake-up with its own run function.
  void resume_now() noexcept { resume(*this); }

  /// Returns true if the scheduler has discarded the wake-up because it ends its tasks.
  [[nodiscard]] bool is_wakeup_dropped() const noexcept { return run_ == &wait_operation::drop; }

  /// Returns true if the task was asked to stop, in which case the operation is not tried at all.
  /// Returns false outside a task.
  [[nodiscard]] inline bool stop_requested() const noexcept;  // in task_scope.hpp

  /// The scheduler that resumes the coroutine; null while no coroutine is known.
  scheduler* scheduler_ = nullptr;
  /// The task that waits; null if the waiting coroutine is not a leat task.
  task_context* context_ = nullptr;

 private:
  friend std::string detail::to_text(const work_item& item);
  friend std::string detail::to_text(const timer& t);
  friend class detail::task_runner;
  friend class detail::wait_of_foreign_coroutine;
  friend class detail::scope_handover;
  friend class scheduler;

  // True if the item is the wake-up of a coroutine, whose wait has ended or settles.
  [[nodiscard]] static bool is_wakeup(const work_item& item) noexcept;
  static void resume(work_item& item) noexcept;
  static void drop(work_item& item) noexcept;
  // True, and the item will not run, if it is the wake-up of a wait.
  [[nodiscard]] static bool drop_resumption(work_item& item) noexcept;

  // In place of the address of a coroutine of another library that is being destroyed.
  static constinit char destroyed_mark;

  void* continuation_ = nullptr;  // what continues: the frame of a coroutine, or see waiter
  const kind* kind_;
  std::source_location where_;
  time_point since_;  // set when the wait begins
};

inline wait_operation* task_context::waiting() const noexcept {
  return run_ ? nullptr : static_cast<wait_operation*>(next_);
}

}  // namespace LEAT
