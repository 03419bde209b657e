#pragma once

// The includes and names that the tests of coroutines share.

#include <chrono>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include <catch2/catch.hpp>
#include <unistd.h>

#include "leat/async.hpp"
#include "leat/base/clock.hpp"
#include "leat/base/error.hpp"
#include "leat/sim/virtual_scheduler.hpp"
#include "support/child_process.hpp"
#include "support/error_of.hpp"
#include "support/outcome_of.hpp"
#include "support/refusal.hpp"

namespace leat_test {

/// Stops a group and joins it. Ignores the failures of its tasks.
inline leat::task<> stop_and_join(leat::task_group& group) {
  group.request_stop();
  try {
    co_await group.join();
  } catch (const leat::failure&) {
  }
}

/// A task that returns `value` after a time.
inline leat::task<int> value_after(int value, leat::duration d) {
  co_await leat::sleep_for(d);
  co_return value;
}

}  // namespace leat_test

using leat::errc;
using leat::task;
using leat::task_group;
using leat_test::code_of;
using leat_test::contains;
using leat_test::error_of;
using leat_test::message_of;
using leat_test::outcome_of;
using leat_test::refusal;
using leat_test::stop_and_join;
using leat_test::throws;
using leat_test::value_after;
using namespace std::chrono_literals;

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
//     LEAT_TEST("fifo_queue: pop after close drains, then ends") {
//       leat::fifo_queue<int> queue(4);
//       REQUIRE(co_await queue.push(1));
//       ...
//     }
//
// The body runs on one thread. A case with real threads is a TEST_CASE with block_on().
#define LEAT_TEST(...) LEAT_TEST_AS(LEAT_TEST_NAME(leat_test_body_, __LINE__), __VA_ARGS__)

#define LEAT_TEST_JOIN(a, b) a##b
#define LEAT_TEST_NAME(a, b) LEAT_TEST_JOIN(a, b)
#define LEAT_TEST_AS(body, ...)                        \
  static ::leat::task<void> body();                    \
  TEST_CASE(__VA_ARGS__) { ::leat::sim::run(body()); } \
  static ::leat::task<void> body()

// A test case whose body is a coroutine on a loop of its own, in real time.
#define LEAT_REAL_TIME_TEST(name) \
  LEAT_REAL_TIME_TEST_AS(LEAT_TEST_NAME(leat_test_body_, __LINE__), name)
#define LEAT_REAL_TIME_TEST_AS(body, name)      \
  static ::leat::task<void> body();             \
  TEST_CASE(name) { ::leat::block_on(body()); } \
  static ::leat::task<void> body()

// A LEAT_TEST for each of a list of types. The body uses `TestType`.
//
//     LEAT_TYPED_TEST("lock: one task at a time holds it", leat::mutex, leat::shared_mutex) { ... }
//     LEAT_TYPED_LIST_TEST("queue: ...", std::tuple<...>) { ... }
#define LEAT_TYPED_TEST(...) \
  LEAT_TYPED_TEST_AS(TEMPLATE_TEST_CASE, LEAT_TEST_NAME(leat_test_body_, __LINE__), __VA_ARGS__)
#define LEAT_TYPED_LIST_TEST(...)                                                        \
  LEAT_TYPED_TEST_AS(TEMPLATE_LIST_TEST_CASE, LEAT_TEST_NAME(leat_test_body_, __LINE__), \
                     __VA_ARGS__)
#define LEAT_TYPED_TEST_AS(test_case, body, name, ...)                     \
  template <class TestType>                                                \
  static ::leat::task<void> body();                                        \
  test_case(name, "", __VA_ARGS__) { ::leat::sim::run(body<TestType>()); } \
  template <class TestType>                                                \
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
