#pragma once

#include <catch2/catch.hpp>

#include "leat/core/task.hpp"
#include "leat/sim/virtual_scheduler.hpp"

// A test case whose body is a coroutine on virtual time: sleeping costs nothing, and a body that
// waits for what cannot come fails at once with a dump of where everyone is.
//
//     LEAT_TEST("fifo_queue: pop after close drains, then ends", "[sync]") {
//       leat::fifo_queue<int> queue(4);
//       REQUIRE(co_await queue.push(1));
//       ...
//     }
//
// One thread only: a case with real threads is a TEST_CASE with sync_wait(). No co_await between two
// checks of one REQUIRE when another task checks something too: Catch knows of one check at a time.
#define LEAT_TEST(...) LEAT_TEST_AS(LEAT_TEST_NAME(leat_test_body_, __LINE__), __VA_ARGS__)

#define LEAT_TEST_JOIN(a, b) a##b
#define LEAT_TEST_NAME(a, b) LEAT_TEST_JOIN(a, b)
#define LEAT_TEST_AS(body, ...)                       \
  static ::leat::task<void> body();                   \
  TEST_CASE(__VA_ARGS__) { ::leat::sim::run(body()); } \
  static ::leat::task<void> body()
