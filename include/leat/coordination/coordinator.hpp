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

#include "leat/async/loop/block_on.hpp"
#include "leat/async/task.hpp"
#include "leat/async/task_scope.hpp"
#include "leat/base/braced.hpp"
#include "leat/base/error.hpp"
#include "leat/base/internal/copyable_callable.hpp"
#include "leat/base/internal/is_task.hpp"
#include "leat/base/internal/local_types.hpp"
#include "leat/coordination/detail/coordinator_body.hpp"
#include "leat/coordination/join_options.hpp"

LEAT_LOCAL_TYPES_BEGIN

namespace LEAT {

class coordinator;

namespace detail {
/// coordinator::join() for with_coordinator(): waits until all tasks and threads have ended.
[[nodiscard]] task<void> join_all(coordinator& c, join_options options, std::source_location where);
}  // namespace detail

/// Options of a coordinator.
struct coordinator_options {
  option_string name = {};  ///< for messages and dumps
  /// Errors that mean an orderly end: they stop the other tasks and threads but are not thrown. If
  /// the list is empty, every error is thrown.
  option_list<errc> clean_stop_errors = {errc::out_of_range};
};

/// The error of a join() whose grace period has ended. what() lists every straggler, with the place
/// and the duration of its wait.
class stragglers_error : public failure {
 public:
  using failure::failure;
};

namespace detail {

/// Rejects a coroutine as the body of a thread.
template <class Body, class... Args>
struct thread_body {
  static_assert(!returns_awaitable<Body&, Args...>,
                "start_thread() needs a plain function, because a coroutine would never run: "
                "spawn() the coroutine, or write [...] { leat::block_on(coroutine()); }");
  static constexpr bool is_function = true;
};

}  // namespace detail

/// Owner of a set of tasks and threads, which stops them together and joins them.
///
///     leat::coordinator coord;
///     coord.spawn(read_files(queue), "reader");
///     ...
///     co_await coord.join();
///
/// Stopping: any task or thread may call request_stop(), with or without an error. The stop request
/// cancels every present and later wait of the coordinator's tasks, and every present and later
/// blocking queue operation of threads that start_thread() created. A task or thread that exits
/// with an exception requests a stop with that exception.
///
/// Errors: the first request decides the outcome. If it carries an error, join() throws that error;
/// if not, the stop is clean. Later errors become secondary_errors(). Errors that are listed in
/// clean_stop_errors count as a clean stop. An error that is only a consequence of the stop, such
/// as the `cancelled` of an interrupted wait, is ignored. The partial_push_error of a failed queue
/// is replaced by the error that was passed to fail().
///
/// Joining: join() waits until all tasks and threads have finished. After a stop request it waits
/// at most for the grace period and then reports the stragglers. Join on every path before the
/// coordinator is destroyed, or use with_coordinator(). The destructor asserts that no task is
/// running. It prints a recorded error that was never thrown to standard error, except `cancelled`.
///
/// Nesting: a coordinator that is created in a task stops, without an error, when that task is
/// asked to stop. Unlike that of a task_group, its join() then returns normally, so check
/// this_task::stop_requested() if the caller continues. If a task or thread fails after such a
/// stop, join() throws its error.
///
/// Thread safety: thread-safe. spawn() starts a task on the current scheduler and is for tasks; a
/// thread without a scheduler uses spawn_on().
/// TensorFlow: tf.train.Coordinator.
class coordinator final : public task_scope {
 public:
  explicit coordinator(coordinator_options options = {});
  /// Creates a coordinator with default options. `name` is for messages and dumps.
  explicit coordinator(std::string_view name);
  ~coordinator() override;

  // ---- Tasks and threads.

  /// Starts a task on the current scheduler. `name` appears in the message of a stragglers_error.
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

  /// Starts an OS thread, for which join() waits. A stop request ends the thread's blocking queue
  /// operations (see block_on()). For other waits, `body` receives the stop token. An
  /// exception from `body` requests a stop with that exception; after a stop request, `cancelled`
  /// is not an error.
  /// Errors: invalid_argument if `body` is empty.
  void start_thread(std::string name, std::function<void(std::stop_token)> body);

  /// Like start_thread() above, but for a body that does not need the stop token.
  template <std::invocable Body>
    requires(!std::invocable<Body&, std::stop_token>)
  void start_thread(std::string name, Body body) {
    static_assert(detail::thread_body<Body>::is_function);
    auto copyable = detail::copyable_callable(std::move(body));
    start_thread(std::move(name),
                 [body = std::move(copyable)](const std::stop_token&) mutable { body(); });
  }

  /// Like start_thread() above, but for a body that can only be moved.
  template <std::invocable<std::stop_token> Body>
    requires(!std::copy_constructible<Body> && !detail::returns_awaitable<Body&, std::stop_token>)
  void start_thread(std::string name, Body body) {
    start_thread(std::move(name),
                 std::function<void(std::stop_token)>(detail::copyable_callable(std::move(body))));
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

  /// Takes ownership of a thread that was started elsewhere. join() waits for the thread, and a
  /// stop request is forwarded to the stop source of `thread`. The thread must pass its own stop
  /// token to the operations that it waits for.
  /// Cost: one more thread, which waits for the end of `thread`.
  void register_thread(std::jthread thread, std::string name);

  // ---- Stopping.

  /// Asks all tasks and threads to stop. The first call decides the outcome; the errors of later
  /// calls become secondary errors.
  ///
  /// Errors: after join(), an error that is not in clean_stop_errors is rethrown to the caller,
  ///         because no later join() would report it. The coordinator does not change.
  void request_stop(std::exception_ptr error = nullptr);

  /// Calls `body` on the calling thread. Catches any exception that `body` throws, and requests a
  /// stop with it. Returns true, or false if `body` threw. A body that returns normally does not
  /// request a stop.
  ///
  ///     coord.stop_on_exception([&] { consume(batches); });
  ///
  /// Errors: after join(), an error that is not in clean_stop_errors; see request_stop().
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

  /// Like stop_on_exception() above, but for a task. Await the returned task, or let another owner
  /// spawn it instead of `body`.
  [[nodiscard]] task<bool> stop_on_exception(task<void> body);

  /// Like stop_on_exception() of a task, but for a callable that returns the task. The returned
  /// task keeps `body`, with its captures, until it has finished.
  template <std::invocable Body>
    requires detail::returns_exactly<task<void>, Body&>
  [[nodiscard]] task<bool> stop_on_exception(Body body) {
    task<bool> running = stop_on_exception(body());
    co_return co_await detail::untraced<bool>{std::move(running)};
  }

  /// Returns true after a stop request.
  [[nodiscard]] bool should_stop() const noexcept { return stop_requested(); }

  /// Waits in a coroutine for a stop request, at most for the time span `limit`. Returns
  /// should_stop().
  /// Errors: cancelled if the waiting task belongs to another owner and that owner stops it.
  [[nodiscard]] task<bool> wait_for_stop(
      time_span limit = duration::max(),
      std::source_location where = std::source_location::current());

  /// The blocking form of wait_for_stop() in 0.2.
  [[deprecated("write leat::block_on(coord.wait_for_stop())")]] bool block_for_stop(
      time_span limit = duration::max()) {
    return block_on(wait_for_stop(limit));
  }

  /// Withdraws the stop request and the recorded error, as if the coordinator were new. Call it
  /// only after all tasks and threads have ended. A task that is still running may have seen the
  /// stop already, and groups that it created stay stopped. A thread that is still running stays
  /// stopped; the next join() does not report the resulting `cancelled`.
  void clear_stop();

  // ---- Joining.

  /// Waits for all tasks and threads, and then throws the recorded error, if there is one. Never
  /// throws the `cancelled` of a stop, also if the task that created the coordinator was asked to
  /// stop.
  ///
  /// Without a stop request, join() waits up to join_options::stop_after, by default without a
  /// limit, and then requests a stop. The grace period begins when both this call and a stop
  /// request have been made.
  ///
  /// Errors: the recorded error, or, without one, a stragglers_error. If there are both, the
  ///         stragglers_error becomes a secondary error. failed_precondition if a task of the
  ///         coordinator, or a thread that it started, calls join(), because the caller would wait
  ///         for itself. A registered thread that calls join() is not detected: it waits until the
  ///         grace period ends.
  [[nodiscard]] task<void> join(join_options options = {},
                                std::source_location where = std::source_location::current());

  /// The blocking form of join() in 0.2.
  [[deprecated("write leat::block_on(coord.join())")]] void wait_join(
      const join_options& options = {}) {
    block_on(join(options));
  }

  /// Returns true from the end of the first join() until clear_stop().
  [[nodiscard]] bool joined() const noexcept;

  /// Throws the recorded error, if there is one. The error stays recorded.
  void raise_requested_exception() const;

  /// Returns the errors that followed the first stop request, and the errors passed to
  /// add_secondary_error(), each once. clear_stop() and the destructor print them to standard
  /// error, unless this function was called after the last one was added.
  [[nodiscard]] std::vector<std::exception_ptr> secondary_errors() const;

  /// Returns true if the first stop request was made with a clean error, such as the out_of_range
  /// of a task: the work has ended by itself.
  [[nodiscard]] bool stopped_by_clean_error() const noexcept;

  /// Adds an error that is not a reason to stop, such as the error of a clean-up, to
  /// secondary_errors(). It is never thrown.
  void add_secondary_error(std::exception_ptr error);

 private:
  friend struct detail::missing_result;
  friend task<void> detail::join_all(coordinator& c, join_options options,
                                     std::source_location where);

  [[nodiscard]] task<void> join(join_options options, bool waits, std::source_location where);

  struct thread_entry;
  // Forwards a stop request from any source to the threads that have a stop token of their own.
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
  bool stop_decided_ LEAT_GUARDED_BY(state_mutex_) = false;       // a first request was made
  std::exception_ptr clean_error_ LEAT_GUARDED_BY(state_mutex_);  // of the first request
  std::exception_ptr error_ LEAT_GUARDED_BY(state_mutex_);
  std::vector<std::exception_ptr> secondary_ LEAT_GUARDED_BY(state_mutex_);
  mutable bool error_read_ LEAT_GUARDED_BY(state_mutex_) = false;
  mutable bool secondary_read_ LEAT_GUARDED_BY(state_mutex_) = true;
  std::vector<std::unique_ptr<thread_entry>> threads_ LEAT_GUARDED_BY(state_mutex_);
  std::optional<std::stop_callback<stop_forwarder>> on_stop_;
};

/// Creates a coordinator, runs `body` as its first task, and joins the coordinator on every path.
/// The first error, of the body or of a task or thread that it started, stops all of them and is
/// thrown.
///
///     co_await leat::with_coordinator([&](leat::coordinator& coord) -> leat::task<> {
///       producer.start(coord);
///       co_await consume(producer.queue());
///       coord.request_stop();
///     }, "training");
///
/// Body: a callable that accepts coordinator& and returns a task. with_coordinator() keeps it, with
/// its captures, until the end. The body cannot join the coordinator, because it is one of the
/// coordinator's tasks. It need not be a coroutine: an exception that the call itself throws also
/// stops the coordinator.
///
/// Result:       the result of the body's task.
/// Errors:       like coordinator::join(). If the body should return a result but has not, also the
///               error of the body, even if it is clean; or `cancelled`, with the message of the
///               clean error, if the coordinator was stopped before. Stragglers are printed to
///               standard error, and with_coordinator() waits for them: nothing that the caller
///               owns is used after the call has ended.
/// Cancellation: a stop request to the calling task stops the coordinator.
template <class Body>
detail::coordinator_task<Body> with_coordinator(
    Body body, coordinator_options options, join_options joining,
    std::source_location where = std::source_location::current()) {
  using result = typename detail::coordinator_task<Body>::value_type;
  coordinator coord(std::move(options));
  detail::body_result<result> stored;
  // Created now, so that a join needs no memory.
  task<void> joined = detail::join_all(coord, joining, where);
  // A body that is not a coroutine may spawn tasks and then throw.
  coord.stop_on_exception([&] { coord.spawn(stored.run(body, coord), "body", where); });
  co_await detail::untraced<void>{std::move(joined)};
  co_return stored.take(coord);
}

/// Like with_coordinator() above, but with default options. `name` is for messages and dumps.
template <class Body>
detail::coordinator_task<Body> with_coordinator(
    Body body, std::string_view name = {},
    std::source_location where = std::source_location::current()) {
  coordinator_options options;
  options.name = name;
  return with_coordinator(std::move(body), std::move(options), join_options(), where);
}

}  // namespace LEAT

LEAT_LOCAL_TYPES_END
