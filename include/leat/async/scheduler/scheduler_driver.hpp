#pragma once

#include <cstddef>
#include <string_view>

#include "leat/async/scheduler/scheduler.hpp"

namespace LEAT {

class task_scope;

/// The interface between a scheduler and the event loop or simulation that runs it. The loop
/// derives from this class, implements the pure virtual functions, and calls run_ready() after
/// wake() or when the time passed to arm() is reached.
///
/// A destructor calls answer_dump_queries() and end_tasks().
///
/// Thread safety: thread-bound to the thread that runs the scheduler, unless stated otherwise.
class scheduler_driver : public scheduler {
 public:
  /// Runs the ready items of `s` that `selected` chooses within the current item, until none is
  /// left, for a destructor, which cannot suspend to wait for tasks that need this scheduler.
  static void run_selected(scheduler& s,
                           bool (*selected)(const work_item& item, const task_scope& scope),
                           const task_scope& scope) noexcept;

  /// Continues to end the tasks of `s` if this thread is destroying it. Call it after a wait whose
  /// memory was in use (wait_operation::kind::is_pinned) has ended: end_tasks() has left its task
  /// and the tasks that may own it. Returns immediately on other threads. Precondition: `s` exists.
  static void continue_end(scheduler& s) noexcept;

 protected:
  scheduler_driver() = default;
  ~scheduler_driver() = default;

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
  bool complete_services() noexcept override { return true; }

  /// Moves the ready items that a simulation holds back into ready_items().
  void return_held_items() noexcept override {}

  /// Answers the dumps that query this scheduler and waits until none uses it. A driver calls this
  /// first when it is destroyed, on the thread that destroys it, while wake() and work_finished()
  /// still work. Cost: one load if no dump is in progress.
  void answer_dump_queries() noexcept;

  /// Makes the driver call run_ready() soon. Called from any thread, once for each burst.
  void wake() noexcept override = 0;

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
  using scheduler::has_remote_items;

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

  void clear_services() noexcept { services_.clear(); }  ///< Removes all services.

 private:
  void expire_timers();
  [[nodiscard]] bool wake_up() noexcept;
  [[nodiscard]] bool end_turn(bool more) noexcept;
  void note_thread() noexcept;
  [[nodiscard]] bool destroy_task_batch(std::string_view what) noexcept;
};

}  // namespace LEAT
