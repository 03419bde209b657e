#pragma once

#include <atomic>
#include <exception>
#include <source_location>
#include <string_view>
#include <system_error>
#include <type_traits>
#include <utility>

#include "leat/async/condition_wait.hpp"
#include "leat/async/task.hpp"
#include "leat/async/this_task.hpp"
#include "leat/base/error.hpp"
#include "leat/base/internal/is_task.hpp"
#include "leat/base/internal/local_types.hpp"

LEAT_LOCAL_TYPES_BEGIN

namespace LEAT {

class task_group;

namespace detail {

struct body_failure;

/// The task that with_task_group(body) returns: one with the result of `body`.
template <class Body>
struct group_body : task_of_call<Body&, task_group&> {
  static_assert(group_body::value,
                "with_task_group() needs a body that returns a task: write "
                "[&](leat::task_group& group) -> leat::task<> { ...; co_return; }");
};
template <class Body>
using group_task = typename group_body<Body>::type;

}  // namespace detail

/// The tag for a task_group that is not stopped together with the task that creates it.
struct shielded_t {};
/// The value of shielded_t to pass to the constructor of task_group.
inline constexpr shielded_t shielded{};

/// Owner of tasks that run concurrently and are joined together. The first error stops the other
/// tasks and is thrown by join().
///
///     leat::task_group group;
///     group.spawn(produce(queue), "producer");
///     group.spawn(consume(queue), "consumer");
///     co_await group.join();
///
/// Join on every path before the group is destroyed, or use with_task_group(). The destructor
/// asserts that no task is running. A group that is created in a task stops when that task is asked
/// to stop.
///
/// Thread safety: thread-safe. spawn() starts a task on the current scheduler and is for tasks; a
/// thread without a scheduler uses spawn_on().
class task_group final : public task_scope {
 public:
  /// The awaitable that join() returns.
  class [[nodiscard]] join_wait final : public condition_wait {
   public:
    join_wait(task_group& group, const std::source_location& where) noexcept
        : condition_wait(group, idle, no_deadline, where) {}

    void await_resume() {
      if (!resume_without_deadline()) [[unlikely]]
        condition_wait::await_resume();
      if (group().has_outcome_.load(std::memory_order_acquire)) [[unlikely]]
        group().throw_outcome(is_task_stopped());
    }
    operation_result<void> await_tuple() noexcept {
      const std::error_code ec = condition_wait::await_tuple().error;
      return {to_asio_error(ec ? ec : to_error_code(group().outcome(is_task_stopped())))};
    }

   private:
    friend void block_on(join_wait join);
    [[nodiscard]] task_group& group() const noexcept { return static_cast<task_group&>(scope()); }
  };

  /// `name` appears in dumps.
  explicit task_group(std::string_view name = {})
      : task_scope(keeps_results_t{false}, "task group", name) {}

  /// Creates a group that does not stop when the task that creates it is asked to stop. Use it for
  /// work that must be completed after a stop request, such as closing a file.
  explicit task_group(shielded_t, std::string_view name = {})
      : task_scope("task group", name, scheduler::current_task(), nullptr) {}

  /// Prints an error that neither join() nor first_error() has reported to standard error, except
  /// `cancelled`.
  ~task_group() override {
    if (has_outcome_.load(std::memory_order_relaxed)) [[unlikely]]
      end_outcome();
  }

  /// Starts a task on the current scheduler, in the scheduler's next turn (loop iteration).
  /// Errors: std::bad_alloc; the task is then not started.
  void spawn(task<void> t, std::string_view name = {},
             std::source_location where = std::source_location::current()) {
    spawn_here(std::move(t), name, where);
  }

  /// Calls `body` as a task, and keeps it until the task has finished:
  ///
  ///     group.spawn([path] -> leat::task<> { co_await copy(path); });
  ///
  /// Pass a lambda with captures in this way, without calling it. A lambda that is written and
  /// called in the argument, `group.spawn([path] ... { ... }())`, is destroyed at the end of the
  /// statement, before its coroutine runs.
  /// Body: a callable without arguments that returns task<void>. An exception that the call itself
  /// throws counts as an error of the task.
  /// Errors: std::bad_alloc; the task is then not started.
  template <class Body>
  void spawn(Body body, std::string_view name = {},
             std::source_location where = std::source_location::current()) {
    spawn(detail::run_body(std::move(body)), name, where);
  }

  /// Starts a task on another scheduler.
  /// Errors: std::bad_alloc; the task is then not started.
  void spawn_on(scheduler& s, task<void> t, std::string_view name = {},
                std::source_location where = std::source_location::current()) {
    task_scope::spawn_on(s, std::move(t), name, where);
  }

  /// Like spawn() with a callable, but on another scheduler, which calls and destroys `body`.
  template <class Body>
  void spawn_on(scheduler& s, Body body, std::string_view name = {},
                std::source_location where = std::source_location::current()) {
    spawn_on(s, detail::run_body(std::move(body)), name, where);
  }

  /// Rejected: a task runs on a scheduler.
  template <class Loop, class Body>
    requires(!std::is_convertible_v<Loop&, scheduler&>)
  void spawn_on(Loop&&, Body&&, std::string_view = {}) {
    static_assert(std::is_convertible_v<Loop&, scheduler&>,
                  "spawn_on() needs a scheduler: write spawn_on(leat::get_scheduler(io), task) for "
                  "an asio::io_context");
  }

  /// Asks every task of the group to stop: its current or next wait fails with `cancelled`. Returns
  /// true, or false if a stop had been requested before.
  bool request_stop() noexcept { return request_scope_stop(); }

  /// Waits until every task has finished, and then throws the first error of a task. A `cancelled`
  /// that request_stop() caused is not an error. A group without an error or a stop request can be
  /// used again. A group that failed or was stopped stays in that state, and every join() throws
  /// the same error.
  ///
  /// Errors:       failed_precondition if a task of the group calls join(), because it would wait
  ///               for itself.
  /// Cancellation: none. A stop request to the task that created the group stops the group, and
  ///               join() keeps waiting until all tasks have finished. If this stop ended one of
  ///               them with `cancelled`, and the task that joins was itself asked to stop, join()
  ///               throws this `cancelled`.
  /// Cost:         no allocation, so join() cannot fail when memory is exhausted.
  [[nodiscard]] join_wait join(
      const std::source_location& where = std::source_location::current()) noexcept {
    return {*this, where};
  }

  /// The blocking form of join() in 0.2. It never throws the `cancelled` of a stop.
  [[deprecated("write leat::block_on(group.join())")]] void wait_join() { block_on(join()); }

  /// Returns the first error of a task, or null if no task has failed yet. Unlike join(), it never
  /// returns the `cancelled` of a stop.
  /// Thread safety: thread-safe.
  [[nodiscard]] std::exception_ptr first_error() const noexcept;

 private:
  friend struct detail::body_failure;
  friend void block_on(join_wait join);

  void task_failed(std::exception_ptr error) noexcept override;
  // The error that join() throws, or null. `is_stopped`: the task that joins was asked to stop.
  [[nodiscard]] std::exception_ptr outcome(bool is_stopped) const noexcept;
  [[gnu::cold]] void throw_outcome(bool is_stopped) const;

  struct error_pair {
    std::exception_ptr first;
    // The first `cancelled` of a task after the group was stopped with the task that created it.
    std::exception_ptr cancelled;
    bool is_first_read = false;
  };
  // Costs nothing to create and destroy.
  union optional_errors {
    optional_errors() noexcept {}
    ~optional_errors() {}
    error_pair value;
  };

  // Prints an error that was not read, and destroys the errors.
  [[gnu::cold]] void end_outcome() noexcept;

  mutable detail::thread_mutex error_mutex_;
  std::atomic<bool> has_outcome_{false};                          // one of the two is set
  mutable optional_errors errors_ LEAT_GUARDED_BY(error_mutex_);  // exist if has_outcome_
};

namespace detail {

/// Reports the exception of a call that should have started a task of the group.
struct body_failure {
  static void report(task_group& group) noexcept { group.task_failed(std::current_exception()); }
};

}  // namespace detail

/// Creates a group, runs `body` as its first task, and joins the group on every path. The first
/// error, of the body or of a task that it spawned, stops all of them and is thrown.
///
///     co_await leat::with_task_group([&](leat::task_group& group) -> leat::task<> {
///       group.spawn(produce(queue));
///       co_await consume(queue);  // ends when the producer fails, and vice versa
///     });
///
/// Body: a callable that accepts task_group& and returns a task. with_task_group() keeps it, with
/// its captures, until the end. The body cannot join the group, because it is one of the group's
/// tasks. It need not be a coroutine: an exception that the call throws also stops the group.
///
/// Result:       the result of the body's task.
/// Errors:       the first error of a task of the group. `cancelled`, for a body with a result, if
///               the group was stopped before the body returned.
/// Cancellation: a stop request to the calling task stops the group. If this stop ended a task of
///               the group with `cancelled`, and the body has not returned a result,
///               with_task_group() throws this `cancelled`.
template <class Body>
detail::group_task<Body> with_task_group(
    Body body, std::string_view name = {},
    std::source_location where = std::source_location::current()) {
  using result = typename detail::group_task<Body>::value_type;
  task_group group(name);
  detail::result_slot<result> slot;
  try {
    if constexpr (std::is_void_v<result>) {
      group.spawn(body(group), "body", where);
    } else {
      group.spawn(detail::store_result(body(group), slot), "body", where);
    }
  } catch (...) {  // the body may have spawned tasks already
    detail::body_failure::report(group);
  }
  try {
    co_await group.join(where);
  } catch (...) {  // a stop does not discard the result
    if (!slot.has_result() || group.first_error()) throw;
  }
  co_return detail::take_body_result(slot, "with_task_group()");
}

/// Blocks this OS thread until every task of the group has finished, like `co_await group.join()`,
/// and then throws the first error of a task. It never throws the `cancelled` of a stop.
/// Precondition: the thread does not run a scheduler.
void block_on(task_group::join_wait join);

}  // namespace LEAT

LEAT_LOCAL_TYPES_END
