// The contract of all operations that wait on a primitive and can be undone.

#include <atomic>
#include <chrono>
#include <memory>
#include <stop_token>
#include <string>
#include <thread>
#include <utility>

#include <asio/post.hpp>
#include <catch2/catch.hpp>

#include "leat/async/as_tuple.hpp"
#include "leat/async/select.hpp"
#include "leat/async/sleep.hpp"
#include "leat/async/task_group.hpp"
#include "leat/base/error.hpp"
#include "leat/coordination/coordinator.hpp"
#include "leat/sim.hpp"
#include "support/foreign_coroutine.hpp"
#include "support/leat_test.hpp"
#include "support/loops.hpp"
#include "support/outcome_of.hpp"
#include "sync/wait_kinds.hpp"

namespace wait_contract_test {

using namespace std::chrono_literals;
using leat::errc;
using leat::task;
using leat::task_group;

template <class Kind>
task<> wait_once(Kind& kind, bool& done) {
  static_cast<void>(co_await kind.wait());
  done = true;
}
template <class Kind>
task<> wait_and_record(Kind& kind, leat_test::outcome& o, bool& done) {
  o = co_await leat_test::outcome_of(wait_once(kind, done));
}

TEMPLATE_TEST_CASE("wait: resumes on its own scheduler, never inside the call that serves it",
                   "[sync]", LEAT_TEST_WAITS) {
  TestType kind;
  bool done = false;
  leat_test::embedded_loop loop;
  task_group group;
  group.spawn_on(loop.get_scheduler(), wait_once(kind, done));
  loop.run_ready();
  kind.wake();
  CHECK_FALSE(done);
  loop.run_ready();
  CHECK(done);
  group.wait_join();
}

TEMPLATE_TEST_CASE("wait: is served by another thread", "[sync]", LEAT_TEST_WAITS) {
  TestType kind;
  bool done = false;
  leat_test::asio_loop loop;
  task_group group;
  group.spawn_on(loop.get_scheduler(), wait_once(kind, done));
  loop.run_ready();
  std::thread([&] { kind.wake(); }).join();
  CHECK_FALSE(done);
  loop.run_ready();
  CHECK(done);
  group.wait_join();
}

TEMPLATE_TEST_CASE("wait: completes immediately if it need not wait", "[sync]", LEAT_TEST_WAITS) {
  TestType kind;
  bool done = false;
  leat_test::embedded_loop loop;
  task_group group;
  kind.wake();
  group.spawn_on(loop.get_scheduler(), wait_once(kind, done));
  loop.run_one_turn();
  CHECK(done);
  group.wait_join();
}

TEMPLATE_TEST_CASE("wait: a stop cancels it without an effect", "[sync]", LEAT_TEST_WAITS) {
  TestType kind;
  bool done = false;
  leat_test::outcome o;
  leat_test::embedded_loop loop;
  task_group group;
  group.spawn_on(loop.get_scheduler(), wait_and_record(kind, o, done));
  loop.run_ready();
  group.request_stop();
  loop.run_ready();
  group.wait_join();
  CHECK_FALSE(done);
  CHECK(o.code == errc::cancelled);
  CHECK(o.text.find(TestType::words) == 0);
  kind.wake();
  CHECK(kind.remains());
}

TEMPLATE_TEST_CASE("wait: served before the stop, it completes", "[sync]", LEAT_TEST_WAITS) {
  TestType kind;
  bool done = false;
  leat_test::embedded_loop loop;
  task_group group;
  group.spawn_on(loop.get_scheduler(), wait_once(kind, done));
  loop.run_ready();
  kind.wake();
  group.request_stop();
  loop.run_ready();
  group.wait_join();
  CHECK(done);
}

TEMPLATE_TEST_CASE("wait: after a stop it is not tried", "[sync]", LEAT_TEST_WAITS) {
  TestType kind;
  bool done = false;
  leat_test::outcome o;
  leat_test::embedded_loop loop;
  task_group group;
  group.spawn_on(loop.get_scheduler(), wait_and_record(kind, o, done));
  kind.wake();
  group.request_stop();
  loop.run_ready();
  group.wait_join();
  CHECK_FALSE(done);
  CHECK(o.code == errc::cancelled);
  CHECK(kind.remains());
}

template <class Kind>
task<> within_limits() {
  Kind kind;
  const auto late = co_await leat::as_tuple(leat::with_timeout(kind.wait(), 5ms));
  CHECK(std::get<0>(late) == errc::deadline_exceeded);
  const auto o = co_await leat_test::outcome_of([](Kind& k) -> task<> {
    static_cast<void>(co_await leat::with_timeout(k.wait(), 5ms));
  }(kind));
  CHECK(o.code == errc::deadline_exceeded);
  CHECK(o.text.find(Kind::words) == 0);
  std::stop_source stop;
  task_group group;
  group.spawn([](std::stop_source s) -> task<> {
    co_await leat::sleep_for(1ms);
    s.request_stop();
  }(stop));
  const auto stopped = co_await leat::as_tuple(leat::with_stop(kind.wait(), stop.get_token()));
  CHECK(std::get<0>(stopped) == errc::cancelled);
  kind.wake();
  static_cast<void>(co_await leat::with_timeout(kind.wait(), 0ms));
  co_await group.join();
}
TEMPLATE_TEST_CASE("wait: a limit ends it without an effect", "[sync]", LEAT_TEST_WAITS) {
  leat::sim::run(within_limits<TestType>());
}

template <class Kind>
task<> in_select() {
  Kind kind;
  Kind other;
  auto done = co_await leat::select(kind.wait(), leat::sleep_for(1ms));
  CHECK(done.index() == 1);
  other.wake();
  auto second = co_await leat::select(kind.wait(), other.wait());
  CHECK(second.index() == 1);
  kind.wake();
  CHECK(kind.remains());
}
TEMPLATE_TEST_CASE("wait: a branch of a select that loses has no effect", "[sync]",
                   LEAT_TEST_WAITS) {
  leat::sim::run(in_select<TestType>());
}

template <class Kind>
task<> limited_in_select() {
  Kind kind;
  std::stop_source stop;
  const auto late = co_await leat::as_tuple(
      leat::select(leat::sleep_for(1h), leat::with_timeout(kind.wait(), 1ms)));
  CHECK(std::get<0>(late) == errc::deadline_exceeded);
  const auto lost =
      co_await leat::select(leat::with_timeout(kind.wait(), 1h), leat::sleep_for(1ms));
  CHECK(lost.index() == 1);
  stop.request_stop();
  const auto stopped = co_await leat::as_tuple(
      leat::select(leat::with_stop(kind.wait(), stop.get_token()), leat::sleep_for(1h)));
  CHECK(std::get<0>(stopped) == errc::cancelled);
  kind.wake();
  CHECK(kind.remains());
}
TEMPLATE_TEST_CASE("wait: its limit in a select ends it without an effect", "[sync]",
                   LEAT_TEST_WAITS) {
  leat::sim::run(limited_in_select<TestType>());
}

template <class Kind>
task<> wake_later(Kind& kind) {
  co_await leat::sleep_for(1ms);
  kind.wake();
}
template <class Kind>
task<> select_wins() {
  Kind kind;
  task_group group;
  group.spawn(wake_later(kind));
  auto done = co_await leat::select(leat::sleep_for(1h), leat::with_timeout(kind.wait(), 1h));
  CHECK(done.index() == 1);
  co_await group.join();
}
TEMPLATE_TEST_CASE("wait: a branch of a select that is served wins", "[sync]", LEAT_TEST_WAITS) {
  leat::sim::run(select_wins<TestType>());
}

task<int> finish_despite_stop() {
  static_cast<void>(co_await leat::as_tuple(leat::sleep_for(1h)));
  co_return 7;
}
template <class Kind>
task<> undone() {
  Kind kind;
  task_group group;
  group.spawn(wake_later(kind));
  auto done = co_await leat::select(kind.wait(), finish_despite_stop());
  CHECK(done.index() == 1);
  co_await group.join();
  CHECK(kind.remains());
}
TEMPLATE_TEST_CASE("wait: is undone if an irrevocable operation wins the select", "[sync]",
                   LEAT_TEST_WAITS) {
  leat::sim::run(undone<TestType>());
}

TEMPLATE_TEST_CASE("wait: a task that is destroyed while it waits has no effect", "[sync]",
                   LEAT_TEST_WAITS) {
  TestType kind;
  bool done = false;
  leat_test::asio_loop loop;
  task_group group;
  group.spawn_on(loop.get_scheduler(), wait_once(kind, done));
  loop.run_ready();
  loop.end();
  CHECK(leat_test::is_cancelled(group));
  kind.wake();
  CHECK(kind.remains());
}

TEMPLATE_TEST_CASE("wait: a task that is destroyed before it resumes has no effect", "[sync]",
                   LEAT_TEST_WAITS) {
  TestType kind;
  bool done = false;
  leat_test::asio_loop loop;
  task_group group;
  group.spawn_on(loop.get_scheduler(), wait_once(kind, done));
  loop.run_ready();
  kind.wake();
  loop.end();
  CHECK(leat_test::is_cancelled(group));
  CHECK_FALSE(done);
  CHECK(kind.remains());
}

template <class Kind>
task<> select_once(Kind& kind, bool& done) {
  co_await leat::select(leat::sleep_for(1h), kind.wait());
  done = true;
}
TEMPLATE_TEST_CASE("wait: a select that is destroyed before it resumes has no effect", "[sync]",
                   LEAT_TEST_WAITS) {
  for (const bool served : {false, true}) {
    TestType kind;
    bool done = false;
    leat_test::embedded_loop loop;
    task_group group;
    group.spawn_on(loop.get_scheduler(), select_once(kind, done));
    loop.run_ready();
    if (served) kind.wake();
    loop.end();
    CHECK(leat_test::is_cancelled(group));
    CHECK_FALSE(done);
    if (!served) kind.wake();
    CHECK(kind.remains());
  }
}

// Completes immediately until its turn is over; then the completed operation yields.
template <class Kind>
task<> wait_again_and_again(Kind& kind) {
  for (;;) static_cast<void>(co_await kind.wait());
}
template <class Kind>
task<> select_again_and_again(Kind& kind) {
  for (;;) co_await leat::select(kind.wait(), leat::sleep_for(1h));
}
TEMPLATE_TEST_CASE("wait: a completed operation whose task is destroyed while it yields is undone",
                   "[sync]", leat_test::waiting_acquire, leat_test::waiting_lock<leat::mutex>,
                   leat_test::waiting_shared_lock, leat_test::waiting_for_event,
                   leat_test::waiting_for_change, leat_test::waiting_for_receiver) {
  for (const bool selected : {false, true}) {
    TestType kind;
    kind.wake();
    leat_test::embedded_loop loop;
    task_group group;
    if (selected) {
      group.spawn_on(loop.get_scheduler(), select_again_and_again(kind));
    } else {
      group.spawn_on(loop.get_scheduler(), wait_again_and_again(kind));
    }
    loop.run_one_turn();
    loop.end();
    CHECK(leat_test::is_cancelled(group));
    CHECK(kind.remains());
  }
}

TEMPLATE_TEST_CASE("wait: blocking forms wait, time out and stop", "[sync]",
                   LEAT_TEST_WAITS_OF_ALL_FORMS) {
  TestType kind;
  CHECK(leat_test::outcome_of([&] { kind.wait_blocking(1ms); }).code == errc::deadline_exceeded);
  const std::string text = leat_test::outcome_of([&] { kind.wait_blocking(0ms); }).text;
  CHECK(text.find(TestType::words) == 0);
  CHECK(text.find(": timed out without effect: deadline exceeded") != text.npos);
  std::stop_source stop;
  std::thread stopper([&] { stop.request_stop(); });
  CHECK(leat_test::outcome_of([&] { kind.wait_blocking(stop.get_token()); }).code ==
        errc::cancelled);
  stopper.join();
  std::thread waker([&] {
    std::this_thread::sleep_for(2ms);
    kind.wake();
  });
  CHECK(kind.wait_blocking());
  waker.join();
  TestType ready;
  ready.wake();
  CHECK(leat_test::outcome_of([&] { ready.wait_blocking(stop.get_token()); }).code ==
        errc::cancelled);
  CHECK(ready.wait_blocking(0ms));
}

TEMPLATE_TEST_CASE("wait: a stop of its coordinator ends the wait of a thread", "[sync]",
                   LEAT_TEST_WAITS_OF_ALL_FORMS) {
  TestType kind;
  leat_test::outcome waiting;
  leat_test::outcome later;
  std::atomic<bool> started{false};
  leat::coordinator c("training");
  c.start_thread("reader", [&](const std::stop_token&) {
    started = true;
    waiting = leat_test::outcome_of([&] { kind.wait_blocking(); });
    kind.wake();
    later = leat_test::outcome_of([&] { kind.wait_blocking(); });
  });
  while (!started) std::this_thread::yield();
  c.request_stop();
  c.wait_join();
  CHECK(waiting.code == errc::cancelled);
  CHECK(waiting.text.find(TestType::words) == 0);
  CHECK(later.code == errc::cancelled);
  CHECK(kind.remains());
}

template <class Kind>
leat_test::foreign_coroutine wait_in_foreign(Kind& kind, bool& done) {
  static_cast<void>(co_await kind.wait());
  done = true;
}

// A coroutine of another library that waits on a loop.
template <class Kind>
struct foreign_wait {
  foreign_wait() {
    static_cast<void>(loop.get_scheduler());
    asio::post(loop.context(), [this] { waiting = wait_in_foreign(kind, done); });
    loop.run_ready();
  }
  Kind kind;
  bool done = false;
  leat_test::asio_loop loop;
  leat_test::foreign_coroutine waiting;
};

TEMPLATE_TEST_CASE("wait: a coroutine of another library resumes on its loop", "[sync]",
                   LEAT_TEST_WAITS) {
  foreign_wait<TestType> w;
  w.kind.wake();
  CHECK_FALSE(w.done);
  w.loop.run_ready();
  CHECK(w.done);
  w.waiting.handle.destroy();
}

TEMPLATE_TEST_CASE("wait: a coroutine of another library that is destroyed has no effect", "[sync]",
                   LEAT_TEST_WAITS) {
  foreign_wait<TestType> w;
  w.waiting.handle.destroy();
  w.kind.wake();
  CHECK(w.kind.remains());
  w.loop.run_ready();
  CHECK_FALSE(w.done);
}

TEMPLATE_TEST_CASE("wait: a coroutine of another library destroyed before its turn has no effect",
                   "[sync]", LEAT_TEST_WAITS) {
  foreign_wait<TestType> w;
  w.kind.wake();
  w.waiting.handle.destroy();
  CHECK(w.kind.remains());
  w.loop.run_ready();
  CHECK_FALSE(w.done);
}

}  // namespace wait_contract_test
