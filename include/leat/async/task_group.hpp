#pragma once

#include <exception>
#include <source_location>
#include <string_view>
#include <system_error>
#include <tuple>
#include <type_traits>
#include <utility>

#include "leat/async/condition_wait.hpp"
#include "leat/async/task.hpp"
#include "leat/async/this_task.hpp"
#include "leat/base/detail/is_task.hpp"
#include "leat/base/error.hpp"

namespace leat {

class task_group;

namespace detail {

struct body_failure;

/// task<void>, the type of with_task_group(body).
template <class Body>
struct group_body {
  static_assert(returns_exactly<task<void>, Body&, task_group&>,
                "with_task_group() needs a body that returns a task: write "
                "[&](leat::task_group& group) -> leat::task<> { ...; co_return; }");
  using type = task<void>;
};
template <class Body>
using group_task = typename group_body<Body>::type;

}  // namespace detail

/// Says that a group is not stopped together with the task that makes it.
struct shielded_t {};
inline constexpr shielded_t shielded{};

/// Runs tasks side by side and joins them: the first error stops the others and is thrown by
/// join().
///
///     leat::task_group group;
///     group.spawn(produce(queue), "producer");
///     group.spawn(consume(queue), "consumer");
///     co_await group.join();
///
/// Join before the group ends, on every way out: its destructor asserts that no task lives;
/// with_task_group() sees to that. A group that is made in a task is stopped when that task is
/// asked to stop.
///
/// Thread safety: thread-safe.
class task_group final : public task_scope {
 public:
  /// Awaits the end of a group's tasks; see join().
  class [[nodiscard]] join_wait final : public condition_wait {
   public:
    join_wait(task_group& group, const std::source_location& where) noexcept
        : condition_wait(group, idle, no_deadline, where), group_(group) {}

    void await_resume() {
      condition_wait::await_resume();
      group_.rethrow_first();
    }
    std::tuple<std::error_code> await_tuple() noexcept {
      const std::error_code ec = std::get<0>(condition_wait::await_tuple());
      return ec ? ec : to_error_code(group_.first_error());
    }

   private:
    task_group& group_;
  };

  /// `name` appears in dumps.
  explicit task_group(std::string_view name = {})
      : task_scope("task group", name, scheduler::current_task()) {}

  /// A group that goes on when the task that made it is asked to stop: for what has to be done in
  /// spite of that, such as closing a file.
  explicit task_group(shielded_t, std::string_view name = {})
      : task_scope("task group", name, scheduler::current_task(), nullptr) {}

  /// Starts a task on the scheduler that runs now, in its next turn.
  /// Errors: std::bad_alloc; then nothing was started.
  void spawn(task<void> t, std::string_view name = {},
             std::source_location where = std::source_location::current()) {
    scheduler* s = scheduler::current();
    LEAT_ASSERT(s != nullptr, "spawn outside a scheduler: use spawn_on");
    spawn_on(*s, std::move(t), name, where);
  }

  /// Calls `body` as a task, and keeps it until the task has finished:
  ///
  ///     group.spawn([path] -> leat::task<> { co_await copy(path); });
  ///
  /// Pass a lambda with captures in this way. In `group.spawn(lambda())` the lambda is destroyed at
  /// the end of the statement, before its coroutine runs.
  /// Body: callable without arguments, returns task<void>. An exception that it throws itself is an
  /// error of the task.
  /// Errors: std::bad_alloc; then nothing was started.
  template <class Body>
  void spawn(Body body, std::string_view name = {},
             std::source_location where = std::source_location::current()) {
    spawn(detail::run_body(std::move(body)), name, where);
  }

  /// Starts a task on another scheduler.
  /// Errors: std::bad_alloc; then nothing was started.
  void spawn_on(scheduler& s, task<void> t, std::string_view name = {},
                std::source_location where = std::source_location::current()) {
    task_scope::spawn_on(s, std::move(t), name, where);
  }

  /// Like spawn() of a callable, on another scheduler, which calls and destroys `body`.
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

  /// Asks every task of the group to stop: its wait, present or next, ends as cancelled.
  /// Returns false when that was done before.
  bool request_stop() noexcept { return request_scope_stop(); }

  /// Waits until every task has ended, then throws the first error that one of them ended with.
  /// That a task was cancelled by the group's own stop is no error. A group that ended well can be
  /// used again; one that failed or was stopped stays so, and every join says the same.
  ///
  /// Cancellation: none; a stop of the task in which the group was made stops the group, and join
  ///               waits on until all have ended.
  /// Errors:       failed_precondition, for a task of the group: it would wait for itself.
  /// Cost:         no allocation: who has spawned can join, whatever the memory.
  [[nodiscard]] join_wait join(
      const std::source_location& where = std::source_location::current()) noexcept {
    return {*this, where};
  }

  /// The same for an OS thread that runs no scheduler.
  void wait_join(std::source_location where = std::source_location::current());

  /// The error that join() throws when all have ended; null as long as there is none.
  /// Thread safety: thread-safe.
  [[nodiscard]] std::exception_ptr first_error() const noexcept;

 private:
  friend struct detail::body_failure;

  void task_failed(std::exception_ptr error) noexcept override;
  void rethrow_first() const;

  mutable detail::thread_mutex error_mutex_;
  std::exception_ptr first_error_ LEAT_GUARDED_BY(error_mutex_);
};

namespace detail {

/// Reports the exception of a call that was to start a task of the group.
struct body_failure {
  static void report(task_group& group) noexcept { group.task_failed(std::current_exception()); }
};

}  // namespace detail

/// Runs `body` as the first task of a group of its own and joins the group, on every way out: the
/// first error, of the body or of a task that it spawned, stops all of them and is thrown.
///
///     co_await leat::with_task_group([&](leat::task_group& group) -> leat::task<> {
///       group.spawn(produce(queue));
///       co_await consume(queue);  // ends when the producer fails, and the other way round
///     });
///
/// Body: callable with task_group&, gives task<void>; lives until the end, captures and all. As a
/// task of the group it cannot join it. It need not be a coroutine: an exception that the call
/// itself throws stops the group, too.
/// Cancellation: a stop of the caller stops the group.
template <class Body>
detail::group_task<Body> with_task_group(
    Body body, std::string_view name = {},
    std::source_location where = std::source_location::current()) {
  task_group group(name);
  try {
    group.spawn(body(group), "body", where);
  } catch (...) {  // the body may have spawned tasks before
    detail::body_failure::report(group);
  }
  co_await group.join(where);
}

}  // namespace leat
