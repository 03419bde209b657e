#pragma once

#include <array>
#include <atomic>
#include <coroutine>
#include <cstddef>
#include <exception>
#include <memory>
#include <string_view>
#include <type_traits>
#include <utility>

#include "leat/async/detail/service_slot.hpp"
#include "leat/async/scheduler/timer_heap.hpp"
#include "leat/async/work_item.hpp"
#include "leat/base/clock.hpp"
#include "leat/base/internal/biased_mutex.hpp"
#include "leat/base/internal/spin_budget.hpp"
#include "leat/base/process_identity.hpp"

namespace leat {

class task_context;
class task_scope;
class wait_operation;

namespace detail {
class installed_hooks;
}  // namespace detail

/// One logical thread: runs work items one after the other, never two at the same time.
///
/// The code between two `co_await`s of its tasks therefore needs no lock. Items from its own tasks
/// go through a plain list. Items from other threads go through a lock-free list, with one wake()
/// for each burst. To use many cores, use many schedulers.
///
/// This class is the interface between leat and a driver, such as an Asio context or a simulation.
/// The driver implements the pure virtual functions below, and calls run_ready() after wake() or
/// when the time passed to arm() is reached.
///
/// Thread safety: post(), now(), wall_time(), identity(), work_started() and work_finished() are
/// thread-safe. Unless stated otherwise, all other members are thread-bound to the thread that is
/// in run_ready().
class scheduler {
 public:
  scheduler() = default;
  scheduler(const scheduler&) = delete;
  scheduler& operator=(const scheduler&) = delete;

  /// Returns the scheduler that is running on this thread, or null outside run_ready().
  [[nodiscard]] static scheduler* current() noexcept { return current_; }

  /// Runs `item` later on this scheduler, never inside the call. Real schedulers run the items that
  /// one thread posts in their order. A simulation changes the order, so that programs do not
  /// depend on it.
  ///
  /// Thread safety: thread-safe.
  /// Cost: O(1). From another thread, the first item of a burst also costs the driver's wake().
  void post(work_item& item) noexcept {
    if (current_ == this) {
      ready_.push_back(item);
    } else {
      post_remote(item);
    }
  }

  /// Runs `item` in a short turn on this thread, inside the call. Call it in an event handler of
  /// the driver, so that a completion resumes its task without a wake-up. The short turn also runs
  /// the items that are ready afterwards, as many as a turn may run.
  ///
  /// Returns false, without effect, if this thread is in a turn, a turn runs on another thread or
  /// will run soon, or this thread does not run the driver: call post() then. Always returns false
  /// for a driver that has no such handlers. Thread safety: thread-safe.
  [[nodiscard]] virtual bool run_here(work_item& item) noexcept {
    static_cast<void>(item);
    return false;
  }

  /// Ends the current turn after the running item, so that timers, sockets and files are served
  /// before the next item. Call it after a computation that took milliseconds: the current turn may
  /// have hundreds of items left to run. Cost: O(1).
  void yield_turn() noexcept { turn_items_ = 0; }

  /// Returns the current time. A simulated scheduler returns virtual time.
  [[nodiscard]] virtual time_point now() const noexcept = 0;

  /// Returns the time of day. A simulated scheduler returns the time of day of its world, which may
  /// jump. Thread safety: thread-safe for real schedulers.
  [[nodiscard]] virtual wall_time_point wall_time() const noexcept;

  /// Returns the name of the machine and the process ID. A simulated scheduler returns "sim" and 1,
  /// or the identity that was set. Errors: std::bad_alloc. Thread safety: thread-safe.
  [[nodiscard]] virtual process_identity identity() const;

  /// Returns the time at which the current turn began. Unlike now(), it reads no clock.
  [[nodiscard]] time_point turn_time() const noexcept { return turn_time_; }

  [[nodiscard]] std::size_t turn_number() const noexcept { return turns_; }  ///< Counts the turns.

  /// Sets a timer: run_ready() calls its expire function once, at the time `when`.
  /// Errors: std::bad_alloc, possible only if more timers are set than ever before.
  void add_timer(timer& t, time_point when);

  /// Cancels a timer. Returns true if it will not expire, or false if it was not set any more.
  bool cancel_timer(timer& t) noexcept;

  /// Resumes a coroutine of the task `c`, or of no task if `c` is null. Then resumes each coroutine
  /// that transfer_to() sets, one after the other and never nested. A chain of awaits that complete
  /// immediately therefore does not grow the stack. `starts`: the task has not run yet.
  void resume(std::coroutine_handle<> h, task_context* c, bool starts = false) noexcept {
    if (hooks_) [[unlikely]]
      return resume_with_hooks(h, c, starts);
    task_ = c;
    h.resume();
    while (transfer_) std::exchange(transfer_, nullptr).resume();
    task_ = nullptr;
    if (ended_) finish_ended();
  }

  static void use_newest_hooks_here() noexcept;  ///< For task_hooks_scope.
  [[nodiscard]] bool& has_task_locals() noexcept { return has_task_locals_; }  ///< Ever, in a task.
  static unsigned add_hook_changes(unsigned count) noexcept;  ///< For task_hooks_scope.
  /// Returns the task that is running on this thread, or null outside a task.
  [[nodiscard]] static task_context* current_task() noexcept {
    return current_ ? current_->task_ : nullptr;
  }

  /// Counts an operation of a task that completed immediately. Returns false if the task has used
  /// up its share of the turn: the operation then posts its own task, so that others run first.
  [[nodiscard]] bool consume_budget() noexcept { return --budget_ != 0; }

  /// Sets the coroutine to resume as soon as the current one has suspended. Call it in a task.
  void transfer_to(std::coroutine_handle<> h) noexcept { transfer_ = h; }
  /// Sets the task to remove after the current suspension, in which it ends.
  void finish_after_suspend(task_context& c) noexcept { ended_ = &c; }

  /// The exception of a task that has ended, which its awaiting task or scope takes immediately.
  [[nodiscard]] std::exception_ptr& task_error() noexcept { return error_; }

  /// Counts a task that starts here. Notifies the driver of the first one. Call it within a turn.
  void task_started() noexcept {
    if (tasks_++ == 0) work_started();
  }
  /// Counts a task that ends. Notifies the driver of the last one. Call it within a turn.
  void task_ended() noexcept {
    if (--tasks_ == 0) work_finished();
  }

  /// Wakes a waiting operation of another scheduler, at the latest when this turn ends or
  /// flush_wakeups() is called. One wake-up of the other thread then serves many items.
  void wake_later(wait_operation& w) noexcept;

  /// Delivers the wake-ups that wake_later() has collected. Cost: one test if there are none.
  void flush_wakeups() noexcept {
    if (!later_.empty()) flush_wakeups_now();
  }

  /// Runs the ready items that `selected` chooses within the current item, until none is left, for
  /// a destructor, which cannot suspend to wait for tasks that need this scheduler.
  void run_selected(bool (*selected)(const work_item& item, const task_scope& scope),
                    const task_scope& scope) noexcept;

  /// Returns true if one OS thread runs several schedulers alternately, so that it must not block.
  [[nodiscard]] virtual bool is_simulated() const noexcept { return false; }

  /// Returns the file backend, or another service, that the tasks of this scheduler use, or null if
  /// none has been set. The I/O layer sets the services of real schedulers; a simulation sets its
  /// own. A Service names its slot by a constant `Service::slot` of type service_slot.
  template <class Service>
  [[nodiscard]] Service* find_service() const noexcept {
    return static_cast<Service*>(services_[static_cast<std::size_t>(Service::slot)]);
  }
  /// Sets the service in the slot of its type, or removes it if `service` is null.
  template <class Service>
  void set_service(std::type_identity_t<Service>* service) noexcept {
    services_[static_cast<std::size_t>(Service::slot)] = service;
  }
  void clear_services() noexcept { services_ = {}; }  ///< Removes all services.

  /// Notifies the driver that a task lives on this scheduler. The driver must not return from its
  /// loop before work_finished() has been called as often. Thread safety: thread-safe.
  virtual void work_started() noexcept = 0;
  virtual void work_finished() noexcept = 0;

  /// Keeps the scheduler usable until remove_hold(), for an item without a task: its driver stays
  /// in its loop, and its destruction runs posted items. Call it on the scheduler's thread, or
  /// while a task of it cannot finish. Thread safety: thread-safe.
  void add_hold() noexcept;
  void remove_hold() noexcept;

  /// Returns a pointer that expires when the scheduler is destroyed, for objects that may outlive
  /// it. Thread safety: thread-bound; any thread may check the result. The first call allocates.
  [[nodiscard]] std::weak_ptr<const void> lifetime();

  /// Returns true once the scheduler is being destroyed and ends its tasks. From then on it resumes
  /// no task. Thread safety: thread-bound to the thread that destroys it.
  [[nodiscard]] bool is_ending() const noexcept { return ending_; }

  /// Continues to end the tasks if this thread is destroying the scheduler. Call it after a wait
  /// whose memory was in use (wait_operation::kind::is_pinned) has ended: end_tasks() has left its
  /// task and the tasks that may own it. Returns immediately on other threads. Precondition: the
  /// scheduler exists.
  void continue_end() noexcept;

  /// Returns true if this thread is destroying the scheduler. Thread safety: thread-safe.
  [[nodiscard]] bool is_ending_here() const noexcept {
    return ending_thread_.load(std::memory_order_relaxed) == &current_;
  }

  /// Returns true in a destructor that runs because the current scheduler ends its tasks.
  [[nodiscard]] static bool current_is_ending() noexcept { return current_ && current_->ending_; }

  /// Runs the posted items while the scheduler ends its tasks, but neither starts nor resumes a
  /// task. For destructors in a task's frame that need a wake-up or a completion to have arrived.
  /// Returns false if nothing more can arrive from other threads, in a child of fork().
  bool run_posted_items() noexcept;

  /// Takes back a posted item, for a destructor. Returns false if it has not been posted (yet).
  /// Precondition: this thread runs the scheduler, or no thread does. Cost: O(ready items).
  [[nodiscard]] bool withdraw(work_item& item) noexcept;

  /// Returns false if the scheduler is known to run on several threads in turn. For objects whose
  /// locks are cheaper if one thread uses them. Call it within a turn.
  [[nodiscard]] bool is_run_by_one_thread() const noexcept {
    return thread_ == detail::biased_mutex::this_thread();
  }

  /// For detail::foreign_coroutine_wait.
  [[nodiscard]] work_item*& foreign_waits() noexcept { return foreign_waits_; }

  /// Returns the task whose frame, with the objects in it, is being destroyed; or null.
  [[nodiscard]] const task_context* dying_task() const noexcept { return dying_; }

 protected:
  ~scheduler();

  /// Destroys the tasks that live on this scheduler, starting with the tasks of the newest scope.
  /// Destroys the frames of a task from the inside out, and reports the task to its owner as
  /// cancelled: "... was destroyed with its `what`".
  ///
  /// An item that a pop had received returns to the front of its queue. Posted items run within
  /// this call, which no longer calls wake(). It returns when nothing uses the scheduler any more,
  /// except for coroutines of other libraries.
  ///
  /// A driver calls this first when it is destroyed, on the thread that destroys it and outside
  /// run_ready(). Another call destroys the tasks that have been spawned since.
  ///
  /// A task that waits for an operation which uses its frame, such as an Asio operation, stays
  /// until the operation has ended, and so do the tasks of older scopes; see continue_end().
  /// `what` must live as long as the scheduler.
  /// Cost: a few loads if there are no tasks; otherwise O(tasks + scopes of the process) for each
  /// 512 tasks.
  void end_tasks(std::string_view what) noexcept;

  /// Ends the tasks that end_tasks() has left. Requests the cancellation of their operations, and
  /// waits until other threads have ended these. After 10 s it prints the first of the tasks and
  /// ends the process, because memory that is still in use would have to be freed.
  void end_pinned_tasks() noexcept;

  /// Called when continue_end() has ended the last task.
  virtual void on_tasks_ended() noexcept {}

  /// Completes those requests of the scheduler's services that have finished, without the event
  /// loop. Returns false in a child of fork(), because it shares nothing that would complete them.
  virtual bool complete_services() noexcept { return true; }

  /// Moves the ready items that a simulation holds back into ready_items().
  virtual void return_held_items() noexcept {}

  /// Answers the dumps that query this scheduler and waits until none uses it. A driver calls this
  /// first when it is destroyed, on the thread that destroys it, while wake() and work_finished()
  /// still work. Cost: one load if no dump is in progress.
  void answer_dump_queries() noexcept;

  /// Makes the driver call run_ready() soon. Called from any thread, once for each burst.
  virtual void wake() noexcept = 0;

  /// Makes the driver call run_ready() at `when`, or not at all if `when` is no_deadline. The last
  /// call counts.
  virtual void arm(time_point when) noexcept = 0;

  /// Runs the timers that are due and at most `max_items` items. Returns true if there is more to
  /// run: call it again. After false, the next post() from outside a turn calls wake().
  ///
  /// Before it returns false, it checks up to `spins` times for items of other threads, because a
  /// wake() costs microseconds. It checks rarely after 32 calls in a row found none, and never if
  /// the thread that last called wake() runs on the same processor. After every fourth item it
  /// checks whether `deadline`, if any, has passed.
  bool run_ready(std::size_t max_items, int spins = 0, time_point deadline = no_deadline);

  /// Begins a turn: from now on posts need no wake(). If the last turn returned false, returns true
  /// if an item has been posted since; wake() has then been called or is about to be called.
  bool begin_turn() noexcept;

  /// The result of run_short_turn().
  enum class short_turn : unsigned char {
    refused,  // a turn runs or will run soon
    done,     // the next post() from outside a turn calls wake()
    more      // there is more to run: call run_ready()
  };
  /// Begins a turn with `first` if the scheduler sleeps, and runs up to `max_items` items. For
  /// run_here(). It reads no clock: `about_now` becomes the time of the turn. Timers that are due
  /// wait for the call that arm() has requested.
  [[nodiscard]] short_turn run_short_turn(work_item& first, std::size_t max_items,
                                          time_point about_now) noexcept;

  /// Returns true if an item from another thread is waiting. A driver may spin on it before it
  /// sleeps.
  [[nodiscard]] bool has_remote_items() const noexcept {
    const work_item* head = remote_.load(std::memory_order_relaxed);
    return head != nullptr && head != awake_sentinel();
  }

  void rearm() noexcept;  ///< Calls arm() once more, for a driver whose arm() has failed.

  /// Expires the timers that are due by now, after the clock has moved. Call it within a turn.
  void expire_due();
  void set_turn_timers(std::size_t most) noexcept { turn_timers_ = most; }  ///< That a turn expires

  /// Returns the ready items, the next one first; those from other threads follow. A simulation may
  /// change their order between two calls of run_ready().
  [[nodiscard]] work_list& ready_items() noexcept {
    take_remote();
    return ready_;
  }

  /// Sets the scheduler that runs on this thread, or none. For a simulation that suspends a turn.
  static void set_current(scheduler* s) noexcept { current_ = s; }

  /// Returns the number of tasks that have started here and have not finished. Together they count
  /// as one call of work_started().
  [[nodiscard]] std::size_t started_tasks() const noexcept { return tasks_; }

  /// Returns false if the last turn returned true, until the next turn ends.
  [[nodiscard]] bool is_asleep() const noexcept { return asleep_; }

  /// Returns the timers that are set. A simulation may change their order.
  [[nodiscard]] const timer_heap& timers() const noexcept { return timers_; }
  [[nodiscard]] timer_heap& timers() noexcept { return timers_; }

 private:
  // remote_ is null while the driver sleeps, and awake_sentinel() if the driver will check it again
  // without a wake(). Otherwise it is the newest of a stack of items. The thread that changes it
  // from null calls wake().
  static work_item* awake_sentinel() noexcept;
  void post_remote(work_item& item) noexcept;
  bool take_remote() noexcept;
  void expire_timers();
  [[nodiscard]] bool wake_up() noexcept;
  [[nodiscard]] bool end_turn(bool more) noexcept;
  void flush_wakeups_now() noexcept;
  void finish_ended() noexcept;      // in task_scope.cpp
  void use_newest_hooks() noexcept;  // this and the next two in task_hooks.cpp
  void report_destroyed(const task_context& c, const std::exception_ptr& error) const noexcept;
  [[gnu::cold]] void resume_with_hooks(std::coroutine_handle<>, task_context*, bool) noexcept;
  void note_thread() noexcept;
  [[nodiscard]] bool destroy_task_batch(std::string_view what) noexcept;

  static constinit thread_local scheduler* current_
#if defined(__GNUC__)
      __attribute__((tls_model("initial-exec")))
#endif
      ;

  work_list ready_;
  std::size_t turn_items_ = 0, turn_timers_ = SIZE_MAX;  // that the present turn has at most
  std::coroutine_handle<> transfer_;
  task_context* task_ = nullptr;   // that runs now
  task_context* ended_ = nullptr;  // and the one that has just ended
  std::exception_ptr error_;       // see task_error()
  static unsigned hook_changes_;   // of the installed task_hooks; atomic, see biased_mutex.cpp
  unsigned seen_hook_changes_ = 0;
  std::size_t turns_ = 0;
  std::shared_ptr<const detail::installed_hooks> hooks_;  // null: none
  std::size_t tasks_ = 0;
  work_list later_;
  std::size_t later_count_ = 0;
  unsigned budget_ = 0;
  detail::biased_mutex::thread_id thread_ = nullptr;  // null: not known; this: several
  time_point turn_time_{};
  timer_heap timers_;
  time_point armed_ = no_deadline;
  std::array<void*, service_slots> services_{};
  bool asleep_ = true;            // the last turn has left nothing
  bool ending_ = false;           // see end_tasks()
  bool has_task_locals_ = false;  // a task of this scheduler has or had one
  detail::spin_budget spins_;
  std::string_view ended_with_;
  std::atomic<const void*> ending_thread_{nullptr};  // the address of its current_
  const task_context* dying_ = nullptr;
  work_item* foreign_waits_ = nullptr;
  std::size_t due_wakes_ = 0;          // calls of wake() that have begun, as far as a turn has seen
  std::atomic<std::size_t> wakes_{0};  // and that have returned
  std::atomic<int> waker_cpu_{-1};     // of the thread that called wake() last
  std::atomic<std::size_t> holds_{0};
  std::shared_ptr<const void> lifetime_;
  alignas(64) std::atomic<work_item*> remote_{nullptr};
};

}  // namespace leat
