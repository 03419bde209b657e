#pragma once

#include <chrono>
#include <csignal>
#include <memory>
#include <source_location>
#include <type_traits>
#include <utility>
#include <vector>

#include "leat/async/task.hpp"
#include "leat/base/braced.hpp"
#include "leat/base/clock.hpp"
#include "leat/base/internal/assert.hpp"
#include "leat/base/internal/is_task.hpp"
#include "leat/base/internal/local_types.hpp"

LEAT_LOCAL_TYPES_BEGIN

namespace LEAT {

/// Options of run().
struct run_options {
  /// The signals that request a stop of the main task. If the list is empty, no signal does.
  option_list<int> signals = {SIGINT, SIGTERM};
  /// The time after a stop request, or after the end of the main task, at which run() prints the
  /// tasks that are still running and where they wait, once. run() keeps waiting for them. It
  /// prints nothing while a task blocks the thread.
  time_span stop_grace = std::chrono::seconds(10);
};

namespace detail {

// A task, or a function object that takes no arguments. run() checks the rest, with a message.
template <class Main>
concept main_task = is_task<std::remove_cvref_t<Main>> || std::is_invocable_v<Main&>;

template <class T>
inline constexpr bool is_main_task = false;
template <>
inline constexpr bool is_main_task<task<void>> = true;
template <>
inline constexpr bool is_main_task<task<int>> = true;

/// Runs `main`, which outlives the call, and stores its result.
template <class Main>
task<void> store_status(Main& main, int& status) {
  if constexpr (!is_task<Main>) {
    std::invoke_result_t<Main&> running = main();
    co_await untraced<void>{store_status(running, status)};
  } else if constexpr (std::is_same_v<Main, task<int>>) {
    status = co_await untraced<int>{std::move(main)};
  } else {
    co_await untraced<void>{std::move(main)};
  }
}

/// Calls `start`, runs the task that it returns and the work that this task leaves behind, and
/// returns the exit code.
int run_main(task<void> (*start)(void* main, int& status), void* main, const run_options& options,
             const std::source_location& where) noexcept;

}  // namespace detail

/// Runs the main task of a program on this thread until it finishes. Returns the exit code of the
/// program.
///
///     int main(int argc, char** argv) { return leat::run(serve(argv[1])); }
///
/// `main` is a task<void> or a task<int>, or a callable that returns one of them, such as the name
/// of a function. run() creates an event loop and a scheduler for the call. The task calls the
/// callable, and run() keeps it until all tasks have finished.
///
/// The first of the signals in `options` requests a stop of the task. The second one has its
/// default effect: it usually terminates the process. See stop_on_signal.
///
/// The exit code is
/// - 0, or the int that the task returned, if the task returns, after a stop too;
/// - 128 plus the number of the signal, if the task throws `cancelled` after a signal. run() then
///   prints "stopped by SIGTERM", or another name, to standard error;
/// - 1 if the task throws another exception. run() then prints "error: " and the message of the
///   exception to standard error. The messages of nested exceptions follow. An exception of an Asio
///   handler stops the task, and is then reported in the same way.
///
/// Tasks that the main task has started on its scheduler and has not joined, such as the tasks of a
/// pipeline, are then stopped and joined. Signals have their earlier effect meanwhile.
///
/// Errors:        throws nothing. Invalid options and a lack of memory or descriptors end the call
///                like an exception of the task. An argument is evaluated before the call, so a
///                std::bad_alloc for the frame of a task leaves main(): a callable avoids that.
///                Asserts that the task is not empty and that this thread runs no scheduler:
///                `co_await` the task there.
/// Thread safety: thread-safe.
/// Cost:          an io_context, and an eventfd for the signals.
template <detail::main_task Main>
[[nodiscard]] int run(Main&& main, const run_options& options = {},
                      std::source_location where = std::source_location::current()) noexcept {
  using type = std::remove_reference_t<Main>;
  if constexpr (std::is_function_v<type>) {
    return run(&main, options, where);
  } else {
    static_assert(!detail::is_task<std::remove_cv_t<type>> || std::is_same_v<Main, type>,
                  "run() consumes the task: write run(std::move(task))");
    if constexpr (detail::is_task<std::remove_cv_t<type>>) {
      static_assert(detail::is_main_task<type>,
                    "run() needs a task<void> or a task<int>, whose result is the exit code");
      LEAT_ASSERT(main.valid(), "run() on an empty task: it was moved from or has been awaited");
    } else {
      static_assert(detail::is_main_task<std::invoke_result_t<type&>>,
                    "run() needs a task<void>, a task<int>, or a callable that returns one: write "
                    "[...]() -> leat::task<> { ...; co_return; }");
    }
    const auto start = [](void* body, int& status) {
      return detail::store_status(*static_cast<type*>(body), status);
    };
    void* const body = const_cast<void*>(static_cast<const volatile void*>(std::addressof(main)));
    return detail::run_main(start, body, options, where);
  }
}

}  // namespace LEAT

LEAT_LOCAL_TYPES_END
