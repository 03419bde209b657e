#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <source_location>
#include <span>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "leat/async/detail/stop_notice.hpp"
#include "leat/async/task_context.hpp"
#include "leat/async/wait_operation.hpp"
#include "leat/base/error.hpp"
#include "leat/base/internal/biased_mutex.hpp"

namespace LEAT {

template <class T>
class task;
class condition_wait;

namespace detail {
class dump_collector;
class joint_scope;
class scope_handover;
class scope_registry;
struct registry_shard;
std::string to_text(const work_item& item);
}  // namespace detail

/// Owner of tasks, and base of everything that spawns tasks: task_group, coordinator, block_on and
/// async_run.
///
/// Every spawned task has an owner that outlives it: no task is detached. A stop request reaches
/// every task of the scope, regardless of the operation that it waits for.
///
/// Thread safety: thread-safe, unless a member says otherwise.
class task_scope {
 public:
  /// Creates a scope that dumps list with `kind` and `name`. `parent` is the task that creates it,
  /// or null outside a task. A stop of the parent's scope also stops this scope.
  task_scope(std::string_view kind, std::string_view name, task_context* parent)
      : task_scope(kind, name, parent, parent) {}

  /// Creates a scope that dumps list under `maker` but that stops together with the scope of
  /// `stopped_with`. If `stopped_with` is null, no other scope stops it. The two tasks need not
  /// outlive this scope.
  task_scope(std::string_view kind, std::string_view name, const task_context* maker,
             task_context* stopped_with)
      : task_scope(kind, name.empty() ? nullptr : copy_name(name), maker ? maker->id() : task_id{},
                   stopped_with) {}
  /// Creates a scope that dumps list under `maker`, a task or a thread of a coordinator. No other
  /// scope stops it.
  task_scope(std::string_view kind, task_id maker) : task_scope(kind, nullptr, maker, nullptr) {}
  task_scope(const task_scope&) = delete;
  task_scope& operator=(const task_scope&) = delete;

  /// Returns the kind of the scope in messages and dumps, such as "task group".
  [[nodiscard]] std::string_view kind() const noexcept { return kind_; }
  /// Returns the name of the scope, or an empty string if it has none.
  [[nodiscard]] std::string_view name() const noexcept { return name_ ? name_ : ""; }

  /// Returns the number of this scope, which no other scope of the process ever has.
  [[nodiscard]] std::uint64_t number() const noexcept { return number_; }

  /// Returns the id of the task that created this scope, or of the thread of a coordinator that
  /// blocks until the scope has ended; the task may have ended. The `scope` of the id is 0 if there
  /// is neither.
  [[nodiscard]] const task_id& maker() const noexcept { return maker_; }

  /// Returns the number of tasks that have not finished.
  [[nodiscard]] std::size_t live_tasks() const noexcept;

  /// Returns true after a stop request.
  [[nodiscard, gnu::always_inline]] bool stop_requested() const noexcept {
    // acquire: who sees the request sees what was done before it was made. Only then: an acquire
    // load makes the compiler read again what it has in registers.
    return stopped_.load(std::memory_order_relaxed) && stopped_.load(std::memory_order_acquire);
  }
  /// Returns the token that a stop request stops, for code that accepts a std::stop_token.
  /// Errors: std::bad_alloc. Cost: the first call of a scope allocates.
  [[nodiscard]] std::stop_token get_stop_token() const;

  /// The description of one task of the scope, as in a dump or an error message.
  struct task_report {
    /// The task: its scope and its index in it.
    task_id task;
    std::string name;  ///< the name given at spawn, or the source location of the spawn
    /// The operation that the task waits for, with its place and duration, and the places at which
    /// tasks await each other: one line each, innermost first.
    std::string position;
  };

  /// Returns a report on the wait of each live task. Queries the schedulers and waits up to
  /// `patience` for their answers: a task whose thread is stuck in user code is reported as such.
  [[nodiscard]] std::vector<task_report> report(time_span patience = std::chrono::seconds(1)) const;

 protected:
  virtual ~task_scope();

  /// The conditions that a wait on a scope can have. `idle`: no task and no hold is left.
  /// `stopped`: a stop was requested.
  enum condition : unsigned { idle = 1, stopped = 2 };

  /// Waits in a coroutine until one of `conditions` holds or `deadline` has passed. Returns false
  /// if the deadline came first.
  [[nodiscard]] condition_wait wait_until(unsigned conditions, time_point deadline,
                                          const std::source_location& where);

  /// Like wait_until(), but blocks an OS thread that does not run a scheduler. The deadline is on
  /// the steady clock.
  /// Errors: failed_precondition if `conditions` include `idle` and the scope waits for the calling
  ///         thread.
  bool block_until(unsigned conditions, time_point deadline, const std::source_location& where);

  /// Throws failed_precondition if the calling thread belongs to this scope, so that a join would
  /// never return.
  void check_joining_thread() const;

  /// Runs `w` as a work item, once, when no task and no hold is left. It runs within this call, or
  /// on the thread that ended the last task or hold and that does not touch the scope afterwards.
  void when_idle(condition_wait& w) noexcept;

  /// Starts `t` on `s`, in the next turn of `s`.
  /// Errors: std::bad_alloc; the task is then destroyed without having started.
  inline void spawn_on(scheduler& s, task<void> t, std::string_view name,
                       const std::source_location& where);  // in task.hpp

  /// Like spawn_on(), but on the current scheduler.
  inline void spawn_here(task<void> t, std::string_view name,
                         const std::source_location& where);  // in task.hpp

  /// Like spawn_on(), but for a coroutine of any type, which it does not own if it throws. A scope
  /// that keeps the result overrides task_returned().
  void start_on(scheduler& s, detail::promise_base& promise, std::source_location where);
  void start_named_on(scheduler& s, detail::promise_base& promise, std::string_view name,
                      std::source_location where);
  /// Like the two above, but on the current scheduler.
  void start_in_turn(detail::promise_base& promise, std::source_location where);
  void start_named_in_turn(detail::promise_base& promise, std::string_view name,
                           std::source_location where);

  /// Starts a task of the current scheduler, as start_on() does, and owns it.
  template <class T>
  void start_here(task<T>&& t, const std::source_location& where);  // in task.hpp
  /// Like start_here(), but for a task of the scheduler `s`.
  template <class T>
  void start_task_on(scheduler& s, task<T>&& t, const std::source_location& where);  // in task.hpp

  /// Sets the stop flag and ends the wait of every task with `cancelled`, on the scheduler of that
  /// task. Returns false if a stop was requested before.
  bool request_scope_stop() noexcept { return stop_scope(false); }

  /// Returns true if the scope was stopped together with its parent or its scheduler, and not by
  /// request_scope_stop(). Not for a scope that calls reset_stop().
  [[nodiscard]] bool stopped_with_parent() const noexcept {
    return stop_requested() && stopped_with_parent_;
  }

  /// Withdraws the stop request, without an effect on tasks that have already seen it. Scopes
  /// created earlier in tasks of this scope do not receive its next stop request.
  void reset_stop();

  /// Called when a task has ended with an error, on the task's scheduler and without a lock. Not
  /// pure virtual, because it can be called while the scope is being destroyed, before the message
  /// about the tasks that are left terminates the process.
  virtual void task_failed(std::exception_ptr /*error*/) noexcept {}

  /// Called when a task has returned, if the scope was created with `keeps_results`, on the task's
  /// scheduler and without a lock: takes the result out of the promise. `index` counts the tasks of
  /// the scope from 0. An exception counts as the task's error.
  virtual void task_returned(std::uint64_t /*index*/, detail::promise_base& /*promise*/) {}

  /// For a scope that overrides task_returned(): `does` is false if it need not be called.
  struct keeps_results_t {
    bool does = true;
  };

  /// Creates a scope of the current task that keeps the results of its tasks.
  task_scope(keeps_results_t keeps_results, std::string_view kind, std::string_view name)
      : task_scope(kind, name.empty() ? nullptr : copy_name(name)) {
    if (keeps_results.does) keeps_results_ = true;
  }

  /// Returns true if no task and no hold is left.
  [[nodiscard]] bool is_idle() const noexcept;

  /// Adds or removes a hold. It stands for an object other than a task, such as a thread, for which
  /// `idle` has to wait.
  void add_hold() noexcept;
  void remove_hold() noexcept;

  /// Returns an id for a hold, as if it were a task.
  [[nodiscard]] task_id next_id() noexcept;

 private:
  friend class task_context;
  friend class detail::promise_base;
  friend class detail::joint_scope;
  friend class condition_wait;
  friend class scheduler;
  friend class scheduler_driver;
  friend class detail::task_runner;
  friend std::string detail::to_text(const work_item& item);

  friend class detail::dump_collector;
  friend class detail::scope_handover;

  [[gnu::cold]] static char* copy_name(std::string_view name);
  // These own `name`, which may be null. The second one is a scope of the current task.
  task_scope(std::string_view kind, char* name, task_id maker, task_context* stopped_with) noexcept;
  task_scope(std::string_view kind, char* name) noexcept;
  task_scope(task_scope* parent, std::string_view kind, char* name) noexcept;
  void add_to_registry(task_scope* parent) noexcept;
  [[gnu::cold]] void add_slowly(task_scope* parent) noexcept;
  [[gnu::cold]] void stop_with_parent() noexcept;
  bool stop_scope(bool with_parent) noexcept;
  [[nodiscard]] bool begin_stop(bool with_parent) noexcept;
  void finish_stop() noexcept;
  [[gnu::cold]] void remove_slowly() noexcept;
  [[gnu::cold]] void free_parts() noexcept;

  static void run_stop_notice(work_item& item) noexcept;
  [[nodiscard]] bool owns_stop_notice(const work_item& item) const noexcept;
  static void start(work_item& item) noexcept;
  static void start_from_elsewhere(work_item& item) noexcept;
  [[nodiscard]] static bool is_start(const work_item& item) noexcept;  // of a task
  static void finish(task_context& c) noexcept LEAT_NO_ANALYSIS;
  [[nodiscard]] bool is_used() const noexcept LEAT_REQUIRES(mutex_) {
    return users_ != 0 || waiters_ != nullptr;
  }
  void check_unused() noexcept;
  [[nodiscard]] bool start_quickly(scheduler* s, detail::promise_base& promise,
                                   std::source_location where) noexcept LEAT_NO_ANALYSIS;
  [[gnu::cold]] void start_slowly(scheduler* s, detail::promise_base& promise,
                                  std::string_view name, std::source_location where);
  static void finish_with_result(task_context& c) noexcept;
  static void leave(task_context& c, std::exception_ptr error) noexcept;
  void unlink_child(task_context& c) noexcept LEAT_REQUIRES(mutex_);
  [[nodiscard]] condition_wait* remove_child(task_context& c) noexcept LEAT_REQUIRES(mutex_);
  static void leave_now(task_context& c) noexcept;
  static void free_and_end(task_context& c) noexcept;
  // For scheduler_driver::end_tasks().
  [[nodiscard]] static bool drop(work_item& item) noexcept;
  [[nodiscard]] static detail::promise_base& outermost(const task_context& c) noexcept;
  static void drop_stop_notice(work_item& item) noexcept;
  // True while code outside leat uses the frame of the task.
  [[nodiscard]] static bool is_pinned(const task_context& c) noexcept;
  // Tasks that live there, those of the newest scope first: the pinned ones, or those that can be
  // destroyed now. Returns how many it has found.
  [[nodiscard]] static std::size_t find_tasks_on(const scheduler& sched, bool pinned,
                                                 std::span<task_context*> found) noexcept;
  [[nodiscard]] detail::stop_notice* find_stop_notice(const scheduler& s) noexcept
      LEAT_REQUIRES(mutex_);
  void add_child(task_context& c, detail::stop_notice& n) noexcept LEAT_REQUIRES(mutex_);
  [[nodiscard]] bool add_if_known(task_context& c) noexcept;
  void add_slowly(task_context& c);
  [[nodiscard]] bool has_task_on(const scheduler& s) const noexcept;
  bool cancel_wait_batch(detail::stop_notice& n) noexcept;
  [[nodiscard]] bool is_satisfied(unsigned conditions) const noexcept LEAT_REQUIRES(mutex_) {
    return ((conditions & idle) != 0 && users_ == 0) ||
           ((conditions & stopped) != 0 && stopped_.load(std::memory_order_relaxed));
  }
  inline void unlink(condition_wait& w) noexcept LEAT_REQUIRES(mutex_);  // in condition_wait.hpp
  [[nodiscard]] condition_wait* take_satisfied() noexcept LEAT_REQUIRES(mutex_);
  [[nodiscard]] condition_wait* take_several_satisfied() noexcept LEAT_REQUIRES(mutex_);
  static void wake_all(condition_wait* w) noexcept;

  const std::string_view kind_;
  std::uint64_t number_;  // set by scope_registry, like shard_
  const task_id maker_;
  char* const name_;               // null: none
  detail::registry_shard* shard_;  // of the thread that created it

  // Most scopes are used by the thread that creates them alone.
  mutable detail::biased_mutex mutex_;
  // Most of the rest begins as zeros, in an order in which one instruction sets several fields.
  unsigned stops_in_progress_ = 0;  // that the stop of the parent requests
  bool keeps_results_ = false;
  bool stopped_with_parent_ = false;  // whose stop came first; written before stopped_
  std::atomic<bool> stopped_{false};
  mutable bool has_parts_ LEAT_GUARDED_BY(mutex_) = false;  // to free: stop_ or further notices
  mutable std::stop_source* stop_ LEAT_GUARDED_BY(mutex_) = nullptr;  // null: none requested yet
  task_context* children_ LEAT_GUARDED_BY(mutex_) = nullptr;
  // The tasks, and in the upper half the holds: threads, and notices on their way. One number,
  // because a join waits until both are 0.
  std::uint64_t users_ LEAT_GUARDED_BY(mutex_) = 0;
  condition_wait* waiters_ LEAT_GUARDED_BY(mutex_) = nullptr;
  detail::stop_notice stop_notice_ LEAT_GUARDED_BY(mutex_);  // and those that follow it
  std::uint64_t spawned_ LEAT_GUARDED_BY(mutex_) = 0;        // times task_context::one_task
  static constexpr std::uint64_t one_hold = std::uint64_t{1} << 32;
  [[nodiscard]] std::size_t tasks() const noexcept LEAT_REQUIRES(mutex_) {
    return users_ % one_hold;
  }

  // The process-wide lists of scopes that dump() walks, and the scopes that stop with this one; see
  // scope_registry.
  friend class detail::scope_registry;
  task_scope* first_child_ = nullptr;       // guarded by shard_
  task_scope* previous_sibling_ = nullptr;  // or, while a stop is in progress, the former parent_
  // It guards the one above, the next two and stops_in_progress_. Without a parent: shard_.
  detail::registry_shard* parent_shard_;
  task_scope* following_sibling_ = nullptr;
  task_scope* parent_ = nullptr;  // null: its stop does not stop this scope, or it is gone
  task_scope* previous_scope_;    // guarded by shard_, like the next one; set in its list only
  task_scope* following_scope_;
};

inline task_id task_context::id() const noexcept { return {scope_->number(), index()}; }

inline bool task_context::stop_requested() const noexcept { return scope_->stop_requested(); }

inline bool wait_operation::stop_requested() const noexcept {
  return context_ && context_->stop_requested();
}

}  // namespace LEAT
