#pragma once

#include <csignal>
#include <string>

#include <catch2/catch.hpp>
#include <unistd.h>

#include "leat/async/task.hpp"
#include "leat/sim/virtual_scheduler.hpp"
#include "support/child_process.hpp"

// Catch passes the expression of a check to the compiler three times, two of them unevaluated. g++
// awaits a co_await even there. This is Catch's definition without those two.
#undef INTERNAL_CATCH_TEST
#define INTERNAL_CATCH_TEST(name, disposition, ...)                                         \
  do {                                                                                      \
    Catch::AssertionHandler catchAssertionHandler(name##_catch_sr, CATCH_INTERNAL_LINEINFO, \
                                                  CATCH_INTERNAL_STRINGIFY(__VA_ARGS__),    \
                                                  disposition);                             \
    INTERNAL_CATCH_TRY {                                                                    \
      CATCH_INTERNAL_START_WARNINGS_SUPPRESSION                                             \
      CATCH_INTERNAL_SUPPRESS_PARENTHESES_WARNINGS                                          \
      catchAssertionHandler.handleExpr(Catch::Decomposer() <= __VA_ARGS__);                 \
      CATCH_INTERNAL_STOP_WARNINGS_SUPPRESSION                                              \
    }                                                                                       \
    INTERNAL_CATCH_CATCH(catchAssertionHandler)                                             \
    INTERNAL_CATCH_REACT(catchAssertionHandler)                                             \
  } while ((void)0, false)

// A test case whose body is a coroutine on virtual time. A sleep takes no real time. A body that
// waits for an event that cannot happen fails immediately with a dump of all tasks.
//
//     LEAT_TEST("fifo_queue: pop after close drains, then ends", "[queue]") {
//       leat::fifo_queue<int> queue(4);
//       REQUIRE(co_await queue.push(1));
//       ...
//     }
//
// The body runs on one thread. A case with real threads is a TEST_CASE with sync_wait().
#define LEAT_TEST(...) LEAT_TEST_AS(LEAT_TEST_NAME(leat_test_body_, __LINE__), __VA_ARGS__)

#define LEAT_TEST_JOIN(a, b) a##b
#define LEAT_TEST_NAME(a, b) LEAT_TEST_JOIN(a, b)
#define LEAT_TEST_AS(body, ...)                        \
  static ::leat::task<void> body();                    \
  TEST_CASE(__VA_ARGS__) { ::leat::sim::run(body()); } \
  static ::leat::task<void> body()

namespace leat_test {

/// Runs `f` in a child process that is expected to abort. Returns the text that it writes to
/// standard error, or an empty string if `f` returns. Not for a case that has started a thread.
template <class Function>
std::string abort_message(Function f) {
  const child_end end = fork_and_read({SIGABRT}, [&](int pipe) {
    ::dup2(pipe, STDERR_FILENO);
    f();
    return 0;
  });
  return end.signal() == SIGABRT ? end.output : std::string();
}

/// Overwrites the stack frames of functions that have returned, for a case in which nothing may
/// refer to them.
[[gnu::noinline]] inline void overwrite_stack() {
  volatile unsigned char bytes[8192];
  for (auto& b : bytes) b = 0x5a;
}

}  // namespace leat_test
