#pragma once

#include <array>
#include <atomic>
#include <coroutine>
#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include "leat/async/detail/timer_heap.hpp"
#include "leat/async/work_item.hpp"
#include "leat/base/clock.hpp"

namespace leat {

class task_context;
class task_scope;
class wait_operation;

/// Which process this is among all that may write to the same place.
struct process_identity {
  std::string host;    ///< the name of the machine
  int process_id = 0;  ///< the number of the process on it
};

/// The services that a scheduler can have, at most one of each: see scheduler::find_service().
enum class service_slot : unsigned char { files };
inline constexpr std::size_t service_slots = 1;

/// One logical thread: runs work items one after the other, never two at the same time.
///
/// The code between two `co_await`s of its tasks therefore needs no lock. Items from its own tasks
/// go through a plain list; items from other threads through a lock-free one, with one wake() for
/// each burst. Many cores are many schedulers.
///
/// This class is the seam between leat and what drives it. A driver (an Asio context, a simulation)
/// implements the pure virtual functions below and calls run_ready() when wake() or the timer asked
/// for it.
///
/// Thread safety: post(), now(), wall_time(), identity(), work_started() and work_finished() are
/// thread-safe, all else is thread-bound to the thread in run_ready().
class scheduler {
 public:
  scheduler() = default;
  scheduler(const scheduler&) = delete;
  scheduler& operator=(const scheduler&) = delete;

  /// The scheduler that is running on this thread; null outside run_ready().
  [[nodiscard]] static scheduler* current() noexcept { return current_; }

  /// Runs `item` later on this scheduler, never inside the call. Real schedulers keep the order of
  /// what one thread posts; a simulation does not, so that nobody comes to depend on it.
  ///
  /// Thread safety: thread-safe. Cost: O(1); from another thread the first item of a burst costs
  /// the driver's wake().
  void post(work_item& item) noexcept {
    if (current_ == this) {
      ready_.push_back(item);
    } else {
      post_remote(item);
    }
  }

  /// Ends the current turn after the running item: timers, sockets and files are served before the
  /// next item. Call it after a computation that took milliseconds, since a turn may have hundreds
  /// of items. Cost: O(1).
  void yield_turn() noexcept { turn_items_ = 0; }

  /// The time now. Simulated schedulers answer with virtual time.
  [[nodiscard]] virtual time_point now() const noexcept = 0;

  /// The time of day. Simulated schedulers answer with that of their world, which may jump.
  /// Thread safety: thread-safe for real schedulers.
  [[nodiscard]] virtual wall_time_point wall_time() const noexcept;

  /// The name of the machine and the number of the process; in a simulation "sim" and 1, or what it
  /// was told. Thread safety: thread-safe. Errors: std::bad_alloc.
  [[nodiscard]] virtual process_identity identity() const;

  /// The time at which the present turn began: as good as now() for "since when", and free.
  [[nodiscard]] time_point turn_time() const noexcept { return turn_time_; }

  /// Calls the timer's expire function once, from run_ready(), when `when` has come.
  /// Errors: std::bad_alloc when more timers are set than ever before and memory is short.
  void add_timer(detail::timer& t, time_point when);

  /// Takes a timer back. True: it was set and will not expire; false: it was not set any more.
  bool cancel_timer(detail::timer& t) noexcept;

  /// Resumes a coroutine of the task `c` (null: of no task) and then every task that it hands over
  /// to, one after the other and never nested: a chain of awaits that complete at once does not
  /// grow the stack, with any compiler.
  void resume(std::coroutine_handle<> h, task_context* c) noexcept {
    task_ = c;
    h.resume();
    while (transfer_) std::exchange(transfer_, nullptr).resume();
    task_ = nullptr;
    if (ended_) finish_ended();
  }

  /// The task that runs on this thread now; null outside of one.
  [[nodiscard]] static task_context* current_task() noexcept {
    return current_ ? current_->task_ : nullptr;
  }

  /// Counts an operation of a task that ended at once. False: the task has had its share of this
  /// turn and should let others run before it goes on; an operation then posts its own task.
  [[nodiscard]] bool consume_budget() noexcept { return --budget_ != 0; }

  /// From within a task: the coroutine to resume as soon as the present one has suspended.
  void transfer_to(std::coroutine_handle<> h) noexcept { transfer_ = h; }

  /// From within a task's last suspension: the task to take apart once that is over.
  void finish_after_suspend(task_context& c) noexcept { ended_ = &c; }

  /// Counts the tasks that live here, so that the driver hears of the first and the last one only.
  /// From within a turn.
  void task_started() noexcept {
    if (tasks_++ == 0) work_started();
  }
  void task_ended() noexcept {
    if (--tasks_ == 0) work_finished();
  }

  /// Wakes a waiter of another scheduler at the end of this turn, or when flush_wakeups() is
  /// called: one trip to the other thread then serves many items.
  void wake_later(wait_operation& w) noexcept;

  /// Delivers what wake_later() has collected. Cost: one test when there is nothing.
  void flush_wakeups() noexcept {
    if (!later_.empty()) flush_wakeups_now();
  }

  /// Runs the ready items that `selected` chooses, within the current item and until there is none:
  /// for a destructor, which cannot wait for tasks that need this scheduler.
  void run_selected(bool (*selected)(const work_item& item, const task_scope& scope),
                    const task_scope& scope) noexcept;

  /// True if one OS thread runs this scheduler and others in turn, so that waiting on one for
  /// another never ends.
  [[nodiscard]] virtual bool is_simulated() const noexcept { return false; }

  /// The file backend, or another service, that the tasks of this scheduler use; null until it has
  /// one. The I/O layer sets it for real schedulers, a simulation brings its own.
  ///
  /// A Service says which slot is its own, by a constant `Service::slot` of type service_slot.
  template <class Service>
  [[nodiscard]] Service* find_service() const noexcept {
    return static_cast<Service*>(services_[static_cast<std::size_t>(Service::slot)]);
  }
  template <class Service>
  void set_service(std::type_identity_t<Service>* service) noexcept {
    services_[static_cast<std::size_t>(Service::slot)] = service;
  }
  void clear_services() noexcept { services_ = {}; }

  /// Tells the driver that a task lives here: it must not return from its loop before
  /// work_finished() was called as often. Thread safety: thread-safe.
  virtual void work_started() noexcept = 0;
  virtual void work_finished() noexcept = 0;

  /// Keeps the scheduler usable until remove_hold() is called as often: its driver stays in its
  /// loop, and its destruction runs posted items until then. For what will be posted here without
  /// belonging to a task: a dump's question, the notice of a stop, a read that nobody awaits. Call
  /// add_hold() on the scheduler's thread, or while a task of the scheduler cannot end.
  /// Thread safety: thread-safe.
  void add_hold() noexcept {
    holds_.fetch_add(1, std::memory_order_relaxed);  // the task keeps the scheduler meanwhile
    work_started();
  }
  void remove_hold() noexcept {
    work_finished();
    // The last access. release: see answer_dump_queries().
    holds_.fetch_sub(1, std::memory_order_release);
  }

  /// Expires when the scheduler is destroyed, for objects that may outlive it. Thread-bound; the
  /// result may be asked on any thread. Cost: an allocation, the first time.
  [[nodiscard]] std::weak_ptr<const void> lifetime();

  /// True once the scheduler is being destroyed and ends its tasks: it resumes none any more.
  /// Thread-bound to the thread that destroys it.
  [[nodiscard]] bool is_ending() const noexcept { return ending_; }

  /// True in a destructor that runs because the current scheduler ends its tasks.
  [[nodiscard]] static bool current_is_ending() noexcept { return current_ && current_->ending_; }

  /// While the scheduler ends its tasks: runs the posted items, except that it resumes and starts
  /// no task. For destructors in a task's frame that need a wake-up or a completion to have
  /// arrived. Returns false if nothing more can arrive from other threads: in a child of fork().
  bool run_posted_items() noexcept;

  /// The task whose frame is being destroyed, with the objects in it; null if there is none.
  [[nodiscard]] const task_context* dying_task() const noexcept { return dying_; }

 protected:
  ~scheduler();

  /// Destroys the tasks that live here, those of the newest scope first, with their frames from the
  /// inside out, and reports each to its owner as cancelled: "... was destroyed with its `what`".
  /// An item that a pop had received returns to the front of its queue. Posted items run within
  /// this call, and wake() is not called any more. Returns when nothing uses the scheduler, except
  /// for coroutines of other libraries.
  ///
  /// A driver calls this first when it is destroyed, on the thread that destroys it and outside
  /// run_ready(); calling it again destroys what has been spawned since.
  /// Cost: without tasks a few loads; else O(tasks + scopes of the process) for each 64 tasks.
  void end_tasks(std::string_view what) noexcept;

  /// Completes what the services of the scheduler have under way, as far as it has ended, without
  /// the event loop. Returns false in a child of fork(), which shares nothing with those who would
  /// complete it.
  virtual bool complete_services() noexcept { return true; }

  /// Returns the ready items that a simulation holds back to ready_items().
  virtual void return_held_items() noexcept {}

  /// Answers the dumps that ask about this scheduler, and waits until none of them uses it any
  /// more. A driver calls this first when it is destroyed, on the thread that destroys it, while
  /// wake() and work_finished() still work. Cost: one load if no dump is under way.
  void answer_dump_queries() noexcept;

  /// Asks the driver to call run_ready() soon. Called from any thread, once for each burst.
  virtual void wake() noexcept = 0;

  /// Asks the driver to call run_ready() at `when` (no_deadline: not at all). The last call counts.
  virtual void arm(time_point when) noexcept = 0;

  /// Runs due timers and at most `max_items` items. True: there is more to run, call again.
  /// After false, the next post() from outside calls wake(). Before it answers false it looks for
  /// items of other threads up to `spins` times: a wake() costs microseconds. After every fourth
  /// item it looks whether `deadline` has come, if there is one.
  bool run_ready(std::size_t max_items, int spins = 0, time_point deadline = no_deadline);

  /// What a turn begins with: from here on posts need no wake(). True after a turn that answered
  /// false: somebody has posted since, and wake() was called or is about to be.
  bool begin_turn() noexcept;

  /// True when an item from another thread waits; what a driver may spin on before it sleeps.
  [[nodiscard]] bool has_remote_items() const noexcept {
    const work_item* head = remote_.load(std::memory_order_relaxed);
    return head != nullptr && head != awake_sentinel();
  }

  /// Calls arm() once more, for a driver whose arm() has failed.
  void rearm() noexcept;

  /// Expires the timers that are due by now. From within a turn, for a driver whose clock has
  /// moved.
  void expire_due();

  /// The ready items, next one first, and those of other threads behind them: for a simulation,
  /// which may change their order between two calls of run_ready().
  [[nodiscard]] work_list& ready_items() noexcept {
    take_remote();
    return ready_;
  }

  /// For a simulation that puts a turn aside in its midst: who runs on this thread, null for none.
  static void set_current(scheduler* s) noexcept { current_ = s; }

  /// Tasks that began here and have not ended. Those count as one call of work_started().
  [[nodiscard]] std::size_t started_tasks() const noexcept { return tasks_; }

  /// False once a turn has answered true, until the next one.
  [[nodiscard]] bool is_asleep() const noexcept { return asleep_; }

  /// The earliest timer's time; no_deadline when there is none.
  [[nodiscard]] time_point next_timer() const noexcept { return timers_.earliest(); }

 private:
  // remote_ is null while the driver sleeps, awake_sentinel() while it will look again without
  // being told, else the newest of a stack of items. The change from null decides who calls wake().
  static work_item* awake_sentinel() noexcept;
  void post_remote(work_item& item) noexcept;
  bool take_remote() noexcept;
  void expire_timers();
  void flush_wakeups_now() noexcept;
  void finish_ended() noexcept;  // in task_scope.cpp
  [[nodiscard]] bool destroy_task_batch(std::string_view what) noexcept;

  static constinit thread_local scheduler* current_
#if defined(__GNUC__)
      __attribute__((tls_model("initial-exec")))
#endif
      ;

  work_list ready_;
  std::size_t turn_items_ = 0;  // that the present turn has at most
  std::coroutine_handle<> transfer_;
  task_context* task_ = nullptr;   // that runs now
  task_context* ended_ = nullptr;  // and the one that has just ended
  std::size_t tasks_ = 0;
  work_list later_;
  std::size_t later_count_ = 0;
  unsigned budget_ = 0;
  time_point turn_time_{};
  detail::timer_heap timers_;
  time_point armed_ = no_deadline;
  std::array<void*, service_slots> services_{};
  bool asleep_ = true;   // the last turn has left nothing
  bool ending_ = false;  // see end_tasks()
  const task_context* dying_ = nullptr;
  std::size_t due_wakes_ = 0;          // calls of wake() that have begun, as far as a turn has seen
  std::atomic<std::size_t> wakes_{0};  // and that have returned
  std::atomic<std::size_t> holds_{0};
  std::shared_ptr<const void> lifetime_;
  alignas(64) std::atomic<work_item*> remote_{nullptr};
};

}  // namespace leat
