#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>
#include <type_traits>

#include "leat/async/scheduler/detail/scheduler_record.hpp"
#include "leat/async/scheduler/detail/service_list.hpp"
#include "leat/async/scheduler/detail/task_runner.hpp"
#include "leat/async/scheduler/timer_heap.hpp"
#include "leat/async/scheduler/work_item.hpp"
#include "leat/base/clock.hpp"
#include "leat/base/internal/biased_mutex.hpp"
#include "leat/base/internal/spin_budget.hpp"
#include "leat/base/process_identity.hpp"

namespace LEAT {

class wait_operation;

/// One logical thread: runs work items one after the other, never two at the same time.
///
/// The code between two `co_await`s of its tasks therefore needs no lock. Items from its own tasks
/// go through a plain list. Items from other threads go through a lock-free list, with one wake()
/// for each burst. To use many cores, use many schedulers.
///
/// Every scheduler is a scheduler_driver, such as an Asio context or a simulation, which runs it.
///
/// Thread safety: post(), now(), wall_time(), identity(), work_started() and work_finished() are
/// thread-safe. Unless stated otherwise, all other members are thread-bound to the thread that is
/// in scheduler_driver::run_ready().
class scheduler : public detail::task_runner {
 public:
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
  [[nodiscard]] wall_time_point wall_time() const noexcept;

  /// Returns the name of the machine and the process ID. A simulated scheduler returns "sim" and 1,
  /// or the identity that was set. Errors: std::bad_alloc. Thread safety: thread-safe.
  [[nodiscard]] process_identity identity() const;

  /// Returns the time at which the current turn began. Unlike now(), it reads no clock.
  [[nodiscard]] time_point turn_time() const noexcept { return turn_time_; }

  [[nodiscard]] std::size_t turn_number() const noexcept { return turns_; }  ///< Counts the turns.

  /// Sets a timer: run_ready() calls its expire function once, at the time `when`.
  /// Errors: std::bad_alloc, possible only if more timers are set than ever before.
  void add_timer(timer& t, time_point when);

  /// Cancels a timer. Returns true if it will not expire, or false if it was not set any more.
  bool cancel_timer(timer& t) noexcept;

  /// Returns the task that is running on this thread, or null outside a task.
  [[nodiscard]] static task_context* current_task() noexcept {
    return current_ ? current_->task_ : nullptr;
  }

  /// Wakes a waiting operation of another scheduler, at the latest when this turn ends or
  /// flush_wakeups() is called. One wake-up of the other thread then serves many items.
  void wake_later(wait_operation& w) noexcept;

  /// Delivers the wake-ups that wake_later() has collected. Cost: one test if there are none.
  void flush_wakeups() noexcept {
    if (!later_.empty()) flush_wakeups_now();
  }

  /// Returns true if one OS thread runs several schedulers alternately, so that it must not block.
  [[nodiscard]] virtual bool is_simulated() const noexcept { return false; }

  /// Returns a service that the tasks of this scheduler use, such as the file backend, or null if
  /// none has been set. The library sets the services of real schedulers when they are first used;
  /// a simulation sets its own. A Service has a key `Service::key` of type service_key.
  /// Thread safety: thread-safe. Cost: O(services).
  template <class Service>
  [[nodiscard]] Service* find_service() const noexcept {
    return static_cast<Service*>(services_.find(Service::key));
  }
  /// Sets the service of this type, or removes it if `service` is null.
  /// Errors: std::bad_alloc, only for a type that this scheduler has not had.
  template <class Service>
  void set_service(std::type_identity_t<Service>* service) {
    services_.set(Service::key, service);
  }

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

  /// Returns the counters of this scheduler. For metrics() and warn_on_long_turns.
  [[nodiscard]] detail::scheduler_record& record() noexcept { return record_; }
  /// Makes what this turn has counted so far visible to other threads. For metrics().
  void publish_counters() noexcept { record_.publish(turns_, all_tasks_, tasks_); }

 protected:  // of scheduler_driver
  scheduler() = default;
  ~scheduler();

  // For the driver: see scheduler_driver.
  virtual void wake() noexcept = 0;
  virtual bool complete_services() noexcept = 0;
  virtual void return_held_items() noexcept = 0;

  // remote_ is null while the driver sleeps, and awake_sentinel() if the driver will check it again
  // without a wake(). Otherwise it is the newest of a stack of items. The thread that changes it
  // from null calls wake().
  static work_item* awake_sentinel() noexcept;
  void post_remote(work_item& item) noexcept;
  bool take_remote() noexcept;
  void flush_wakeups_now() noexcept;
  [[nodiscard]] bool has_remote_items() const noexcept {
    const work_item* head = remote_.load(std::memory_order_relaxed);
    return head != nullptr && head != awake_sentinel();
  }

  static constinit thread_local scheduler* current_
#if defined(__GNUC__)
      __attribute__((tls_model("initial-exec")))
#endif
      ;

  std::size_t turn_items_ = 0, turn_timers_ = SIZE_MAX;  // that the present turn has at most
  std::size_t turns_ = 0;
  work_list later_;
  std::size_t later_count_ = 0;
  time_point turn_time_{};
  timer_heap timers_;
  time_point armed_ = no_deadline;
  detail::service_list services_;
  bool asleep_ = true;   // the last turn has left nothing
  bool ending_ = false;  // see scheduler_driver::end_tasks()
  detail::spin_budget spins_;
  std::string_view ended_with_;
  std::atomic<const void*> ending_thread_{nullptr};  // the address of its current_
  std::size_t due_wakes_ = 0;          // calls of wake() that have begun, as far as a turn has seen
  std::atomic<std::size_t> wakes_{0};  // and that have returned
  std::atomic<int> waker_cpu_{-1};     // of the thread that called wake() last
  std::atomic<std::size_t> holds_{0};
  std::shared_ptr<const void> lifetime_;
  detail::scheduler_record record_;
  alignas(64) std::atomic<work_item*> remote_{nullptr};
};

}  // namespace LEAT
