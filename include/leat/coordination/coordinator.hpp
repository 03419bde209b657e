#pragma once

#include <chrono>
#include <concepts>
#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <source_location>
#include <stop_token>
#include <string>
#include <string_view>
#include <thread>
#include <type_traits>
#include <utility>
#include <vector>

#include "leat/async/task.hpp"
#include "leat/async/task_scope.hpp"
#include "leat/base/braced.hpp"
#include "leat/base/detail/is_task.hpp"
#include "leat/base/error.hpp"

namespace leat {

/// How join() ends the waiting.
///
///     co_await coord.join({.stop_after = 30s, .grace = 5s});  // takes 35 s at most
struct join_options {
  /// How long join() waits for tasks and threads to finish by themselves. After this time it
  /// requests a stop, without an error, and the grace period begins. Default: no limit.
  time_span stop_after = duration::max();
  /// How long tasks and threads may take to end once the stop was requested and join() waits.
  time_span grace = std::chrono::seconds(120);
  /// True: those that are left when the grace is over, threads or tasks, are no error: join() names
  /// them on standard error and returns. They have to be joined all the same before the coordinator
  /// is destroyed.
  bool ignore_live_threads = false;
  /// True: when the grace is over it says on standard error who is left, where and on what, and
  /// waits on until all have ended; only then it throws.
  bool wait_for_stragglers = false;
};

/// What a coordinator is made of.
struct coordinator_options {
  braced<std::string> name = {};  ///< for messages and dumps
  /// Errors that mean an orderly end: they stop the others but are not thrown. An empty list: none.
  braced<std::vector<errc>> clean_stop_errors = {errc::out_of_range};
};

/// join() gave up waiting: what() names every straggler, where it waits and for how long.
class stragglers_error : public failure {
 public:
  using failure::failure;
};

namespace detail {

/// Rejects a coroutine as the body of a thread.
template <class Body, class... Args>
struct thread_body {
  static_assert(!returns_awaitable<Body&, Args...>,
                "a thread runs a plain function, and this one is a coroutine, which would never "
                "run: spawn() the coroutine, or write [...] { leat::sync_wait(coroutine()); }");
  static constexpr bool is_function = true;
};

}  // namespace detail

/// Stops a set of tasks and threads together, and joins them: the first error wins.
///
/// Any task or thread may call request_stop(), with or without an error. A task or thread that
/// exits with an exception requests a stop with that exception. An error that only follows from
/// another one is ignored, such as the `cancelled` of a wait that the stop ended. For a
/// partial_push_error, the cause of the queue's failure counts instead.
///
/// The stop reaches every wait of every task of the coordinator, and the blocking queue operations
/// of the threads that it started. The first request decides: a clean one makes later errors
/// secondary. join() waits until all have finished, or for the stop and then for the grace period,
/// and throws the recorded error. Join on every path, as with_coordinator() does: the destructor
/// asserts that no task lives. A coordinator that is created in a task is stopped, without an
/// error, when that task is asked to stop.
///
///     leat::coordinator coord;
///     coord.spawn(read_files(queue), "reader");
///     ...
///     co_await coord.join();
///
/// Thread safety: thread-safe.
/// TensorFlow: tf.train.Coordinator.
class coordinator final : public task_scope {
 public:
  explicit coordinator(coordinator_options options = {});
  ~coordinator() override;

  // ---- Who is coordinated.

  /// Starts a task on the scheduler that runs now. Its name appears in the message of a late join.
  void spawn(task<void> t, std::string_view name = {},
             std::source_location where = std::source_location::current());

  /// Calls `body` as a task, and keeps it, with its captures, until the task has finished; see
  /// task_group::spawn().
  template <class Body>
  void spawn(Body body, std::string_view name = {},
             std::source_location where = std::source_location::current()) {
    spawn(detail::run_body(std::move(body)), name, where);
  }

  /// Starts a task on another scheduler.
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

  /// Starts an OS thread and waits for it in join(). `body` gets the stop token, for what else it
  /// waits for: blocking operations on queues (blocking_operations) are ended by the stop without
  /// it. What it throws requests a stop with that error; after a stop, `cancelled` is not an error.
  /// Errors: invalid_argument without a body.
  void start_thread(std::string name, std::function<void(std::stop_token)> body);

  /// The same for a body that waits for nothing else.
  template <std::invocable Body>
    requires(!std::invocable<Body&, std::stop_token>)
  void start_thread(std::string name, Body body) {
    static_assert(detail::thread_body<Body>::is_function);
    start_thread(std::move(name),
                 [body = std::move(body)](const std::stop_token&) mutable { body(); });
  }

  /// Rejected: the coroutine would never be awaited.
  template <class Body>
    requires detail::returns_awaitable<Body&, std::stop_token>
  void start_thread(std::string, Body) {
    static_assert(detail::thread_body<Body, std::stop_token>::is_function);
  }

  /// Rejected: a message about a thread needs its name.
  template <class Body>
  void start_thread(Body) {
    static_assert(std::is_same_v<Body, std::string>,
                  "start_thread() needs a name for messages: write start_thread(\"name\", "
                  "[](std::stop_token stop) { ... })");
  }

  /// Takes over a thread that was started elsewhere: a stop requests its stop, join() waits for it.
  /// It must pass its own stop token to what it waits for. Costs a thread that waits for its end.
  void register_thread(std::jthread thread, std::string name);

  // ---- Stopping.

  /// Asks everybody to stop. The first call decides; later errors are kept as secondary ones.
  ///
  /// Errors: after join(), an error that is no clean one is thrown to the caller, since nobody
  ///         would ever see it otherwise; the coordinator is unchanged then.
  void request_stop(std::exception_ptr error = nullptr);

  /// Runs `body` here; what it throws, whatever it is, goes no further: it is a stop request with
  /// that error. False: it threw. A body that ends well requests no stop.
  ///
  ///     coord.stop_on_exception([&] { consume(batches); });
  ///
  /// Errors: after join() an error that is no clean one leaves this call; see request_stop().
  template <std::invocable Body>
    requires std::is_void_v<std::invoke_result_t<Body&>>
  bool stop_on_exception(Body&& body) {
    try {
      std::invoke(body);
    } catch (...) {
      body_failed(std::current_exception());
      return false;
    }
    return true;
  }

  /// The same for a task: to be awaited, or spawned by another owner in place of the task.
  [[nodiscard]] task<bool> stop_on_exception(task<void> body);

  /// The same for what gives the task, which is kept until that has ended, captures and all.
  template <std::invocable Body>
    requires detail::returns_exactly<task<void>, Body&>
  [[nodiscard]] task<bool> stop_on_exception(Body body) {
    task<bool> running = stop_on_exception(body());
    co_return co_await detail::untraced<bool>{std::move(running)};
  }

  /// True once a stop was requested.
  [[nodiscard]] bool should_stop() const noexcept { return stop_requested(); }

  /// Waits for the stop at most until `deadline_after(now, limit)`; gives should_stop().
  /// In a task. Errors: cancelled, when the task belongs to another owner and is stopped by it.
  [[nodiscard]] task<bool> wait_for_stop(
      time_span limit = duration::max(),
      std::source_location where = std::source_location::current());

  /// The same for an OS thread, which it blocks.
  bool block_for_stop(time_span limit = duration::max(),
                      std::source_location where = std::source_location::current());

  /// Takes the stop and the recorded error back: the coordinator is as new. Call it when all have
  /// ended: a task that lives on may have seen the stop, and the groups that it made have. A thread
  /// that lives on stays stopped: what that ends is no error of the next round.
  void clear_stop();

  // ---- Joining.

  /// Waits for all tasks and threads; throws the recorded error.
  ///
  /// Without a stop request it waits up to join_options::stop_after, by default without a limit,
  /// and then requests a stop. The grace period begins when both this call and a stop request have
  /// been made.
  ///
  /// Errors: the recorded error; stragglers that are left after the grace then become a secondary
  ///         error. Without a recorded error, the stragglers_error;
  ///         failed_precondition in a task of the coordinator, or in a thread that it started,
  ///         which would wait for itself. A registered thread is not known here: it waits until
  ///         the grace is over.
  [[nodiscard]] task<void> join(join_options options = {},
                                std::source_location where = std::source_location::current());

  /// The same for an OS thread, which it blocks.
  void wait_join(const join_options& options = {},
                 std::source_location where = std::source_location::current());

  /// True from the end of the first join() on, until clear_stop().
  [[nodiscard]] bool joined() const noexcept;

  /// Throws the recorded error, if there is one; it stays recorded.
  void raise_requested_exception() const;

  /// Errors that came after the first request, and those of add_secondary_error(), each once. Those
  /// that nobody asks for here are told on standard error by clear_stop() or the destructor.
  [[nodiscard]] std::vector<std::exception_ptr> secondary_errors() const;

  /// Returns true if the first stop request was made with a clean error, such as out_of_range of a
  /// task: the work has ended by itself.
  [[nodiscard]] bool stopped_by_clean_error() const noexcept;

  /// Keeps an error that is no reason to stop, such as that of a clean-up: it is never thrown.
  void add_secondary_error(std::exception_ptr error);

 private:
  struct thread_entry;
  // Forwards a stop, wherever it comes from, to the threads that have a token of their own.
  struct stop_forwarder {
    coordinator* self;
    void operator()() const noexcept { self->stop_threads(); }
  };

  void add_thread(std::string name, std::stop_source stop,
                  std::function<void(std::stop_token)> body);
  [[nodiscard]] failure not_started(const std::string& thread, std::error_code code) const;
  void start_entry(std::string name, std::stop_source stop,
                   std::function<void(std::stop_token)> body);
  [[nodiscard]] bool is_clean(const std::exception_ptr& error) const noexcept;
  [[nodiscard]] bool was_stopped(const std::exception_ptr& error) const noexcept;
  void task_failed(std::exception_ptr error) noexcept override;
  void body_failed(std::exception_ptr error);
  void stop_threads() noexcept;
  void thread_ended(std::exception_ptr error) noexcept;
  void add_secondary(std::exception_ptr error) LEAT_REQUIRES(state_mutex_);
  void report_unread_errors() noexcept;
  [[nodiscard]] std::exception_ptr find_stragglers(const join_options& options) const;
  void finish_join(std::exception_ptr late);

  const std::vector<errc> clean_errors_;
  mutable detail::thread_mutex state_mutex_;
  bool joined_ LEAT_GUARDED_BY(state_mutex_) = false;
  bool stop_decided_ LEAT_GUARDED_BY(state_mutex_) = false;            // a first request was made
  bool stopped_by_clean_error_ LEAT_GUARDED_BY(state_mutex_) = false;  // and it had such an error
  std::exception_ptr error_ LEAT_GUARDED_BY(state_mutex_);
  std::vector<std::exception_ptr> secondary_ LEAT_GUARDED_BY(state_mutex_);
  mutable bool secondary_read_ LEAT_GUARDED_BY(state_mutex_) = true;
  std::vector<std::unique_ptr<thread_entry>> threads_ LEAT_GUARDED_BY(state_mutex_);
  std::optional<std::stop_callback<stop_forwarder>> on_stop_;
};

namespace detail {

/// task<void>, the type of with_coordinator(body).
template <class Body>
struct coordinator_body {
  static_assert(returns_exactly<task<void>, Body&, coordinator&>,
                "with_coordinator() needs a body that returns a task: write "
                "[&](leat::coordinator& coord) -> leat::task<> { ...; co_return; }");
  using type = task<void>;
};
template <class Body>
using coordinator_task = typename coordinator_body<Body>::type;

}  // namespace detail

/// Runs `body` as the first task of a coordinator of its own and joins it, on every way out: the
/// first error, of the body or of a task or thread that it started, stops all and is thrown.
///
///     co_await leat::with_coordinator([&](leat::coordinator& coord) -> leat::task<> {
///       producer.start(coord);
///       co_await consume(producer.queue());
///       coord.request_stop();
///     }, "training");
///
/// Body: callable with coordinator&, gives task<void>; lives until the end, captures and all. As a
/// task of the coordinator it cannot join it. It need not be a coroutine: an exception that the
/// call itself throws stops the coordinator, too.
/// Cancellation: a stop of the caller stops the coordinator.
/// Errors: as coordinator::join(). Stragglers are named on standard error and waited for: nothing
///         that the caller owns is used after this has ended.
template <class Body>
detail::coordinator_task<Body> with_coordinator(
    Body body, coordinator_options options, join_options joining,
    std::source_location where = std::source_location::current()) {
  coordinator coord(std::move(options));
  joining.wait_for_stragglers = true;
  task<void> joined = coord.join(joining, where);  // now: to join must not depend on memory
  // A body that is not a coroutine may spawn tasks and then throw.
  coord.stop_on_exception([&] { coord.spawn(body(coord), "body", where); });
  co_await detail::untraced<void>{std::move(joined)};
}

/// The same with default options, and a name for messages and dumps.
template <class Body>
detail::coordinator_task<Body> with_coordinator(
    Body body, std::string_view name = {},
    std::source_location where = std::source_location::current()) {
  coordinator_options options;
  options.name = name;
  return with_coordinator(std::move(body), std::move(options), join_options(), where);
}

}  // namespace leat
