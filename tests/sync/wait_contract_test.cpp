// The contract of all operations that wait on a primitive and can be undone.

#include <atomic>
#include <stop_token>
#include <thread>

#include <asio/post.hpp>

#include "leat/coordination/coordinator.hpp"
#include "support/foreign_coroutine.hpp"
#include "support/leat_test.hpp"
#include "support/loops.hpp"
#include "sync/wait_kinds.hpp"

namespace wait_contract_test {

template <class Kind>
task<> wait_once(Kind& kind, bool& done) {
  static_cast<void>(co_await kind.wait());
  done = true;
}

/// An operation that a task on a loop waits for.
template <class Kind, class Loop = leat_test::embedded_loop>
struct one_wait {
  Kind kind;
  bool done = false;
  leat_test::outcome o;
  Loop loop;
  task_group group;

  void start() { group.spawn_on(loop.get_scheduler(), wait_and_record(*this)); }
  void start_and_wait() {
    start();
    loop.run_ready();
  }
  void finish() {
    loop.run_ready();
    leat::block_on(group.join());
  }
  static task<> wait_and_record(one_wait& w) {
    w.o = co_await outcome_of(wait_once(w.kind, w.done));
  }
};

TEMPLATE_TEST_CASE("wait: resumes on its own scheduler, never inside the call that serves it",
                   "[sync]", LEAT_TEST_WAITS) {
  one_wait<TestType> w;
  w.start_and_wait();
  w.kind.wake();
  CHECK_FALSE(w.done);
  w.finish();
  CHECK(w.done);
}

TEMPLATE_TEST_CASE("wait: is served by another thread", "[sync]", LEAT_TEST_WAITS) {
  one_wait<TestType, leat_test::asio_loop> w;
  w.start_and_wait();
  std::thread([&] { w.kind.wake(); }).join();
  CHECK_FALSE(w.done);
  w.finish();
  CHECK(w.done);
}

TEMPLATE_TEST_CASE("wait: completes immediately if it need not wait", "[sync]", LEAT_TEST_WAITS) {
  one_wait<TestType> w;
  w.kind.wake();
  w.start();
  w.loop.run_one_turn();
  CHECK(w.done);
  leat::block_on(w.group.join());
}

TEMPLATE_TEST_CASE("wait: a stop cancels it without an effect", "[sync]", LEAT_TEST_WAITS) {
  one_wait<TestType> w;
  w.start_and_wait();
  w.group.request_stop();
  w.finish();
  CHECK_FALSE(w.done);
  CHECK(w.o.code == errc::cancelled);
  CHECK(w.o.text.starts_with(TestType::words));
  w.kind.wake();
  CHECK(w.kind.remains());
}

TEMPLATE_TEST_CASE("wait: served before the stop, it completes", "[sync]", LEAT_TEST_WAITS) {
  one_wait<TestType> w;
  w.start_and_wait();
  w.kind.wake();
  w.group.request_stop();
  w.finish();
  CHECK(w.done);
}

TEMPLATE_TEST_CASE("wait: after a stop it is not tried", "[sync]", LEAT_TEST_WAITS) {
  one_wait<TestType> w;
  w.start();
  w.kind.wake();
  w.group.request_stop();
  w.finish();
  CHECK_FALSE(w.done);
  CHECK(w.o.code == errc::cancelled);
  CHECK(w.kind.remains());
}

LEAT_TYPED_TEST("wait: a limit ends it without an effect", LEAT_TEST_WAITS) {
  TestType kind;
  const auto late = co_await leat::as_tuple(leat::with_timeout(kind.wait(), 5ms));
  CHECK(late.error == errc::deadline_exceeded);
  const auto o = co_await outcome_of([](TestType& k) -> task<> {
    static_cast<void>(co_await leat::with_timeout(k.wait(), 5ms));
  }(kind));
  CHECK(o.code == errc::deadline_exceeded);
  CHECK(o.text.starts_with(TestType::words));
  std::stop_source stop;
  task_group group;
  group.spawn([](std::stop_source s) -> task<> {
    co_await leat::sleep_for(1ms);
    s.request_stop();
  }(stop));
  const auto stopped = co_await leat::as_tuple(leat::with_stop(kind.wait(), stop.get_token()));
  CHECK(stopped.error == errc::cancelled);
  kind.wake();
  static_cast<void>(co_await leat::with_timeout(kind.wait(), 0ms));
  co_await group.join();
}

LEAT_TYPED_TEST("wait: a branch of a select that loses has no effect", LEAT_TEST_WAITS) {
  TestType kind;
  TestType other;
  auto done = co_await leat::select(kind.wait(), leat::sleep_for(1ms));
  CHECK(done.index() == 1);
  other.wake();
  auto second = co_await leat::select(kind.wait(), other.wait());
  CHECK(second.index() == 1);
  kind.wake();
  CHECK(kind.remains());
}

LEAT_TYPED_TEST("wait: its limit in a select ends it without an effect", LEAT_TEST_WAITS) {
  TestType kind;
  std::stop_source stop;
  const auto late = co_await leat::as_tuple(
      leat::select(leat::sleep_for(1h), leat::with_timeout(kind.wait(), 1ms)));
  CHECK(late.error == errc::deadline_exceeded);
  const auto lost =
      co_await leat::select(leat::with_timeout(kind.wait(), 1h), leat::sleep_for(1ms));
  CHECK(lost.index() == 1);
  stop.request_stop();
  const auto stopped = co_await leat::as_tuple(
      leat::select(leat::with_stop(kind.wait(), stop.get_token()), leat::sleep_for(1h)));
  CHECK(stopped.error == errc::cancelled);
  kind.wake();
  CHECK(kind.remains());
}

template <class Kind>
task<> wake_later(Kind& kind) {
  co_await leat::sleep_for(1ms);
  kind.wake();
}
LEAT_TYPED_TEST("wait: a branch of a select that is served wins", LEAT_TEST_WAITS) {
  TestType kind;
  task_group group;
  group.spawn(wake_later(kind));
  auto done = co_await leat::select(leat::sleep_for(1h), leat::with_timeout(kind.wait(), 1h));
  CHECK(done.index() == 1);
  co_await group.join();
}

task<int> finish_despite_stop() {
  static_cast<void>(co_await leat::as_tuple(leat::sleep_for(1h)));
  co_return 7;
}
LEAT_TYPED_TEST("wait: is undone if an irrevocable operation wins the select", LEAT_TEST_WAITS) {
  TestType kind;
  task_group group;
  group.spawn(wake_later(kind));
  auto done = co_await leat::select(kind.wait(), finish_despite_stop());
  CHECK(done.index() == 1);
  co_await group.join();
  CHECK(kind.remains());
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
    group.spawn_on(loop.get_scheduler(),
                   selected ? select_again_and_again(kind) : wait_again_and_again(kind));
    loop.run_one_turn();
    loop.end();
    CHECK(leat_test::is_cancelled(group));
    CHECK(kind.remains());
  }
}

TEMPLATE_TEST_CASE("wait: blocking forms wait, time out and stop", "[sync]",
                   LEAT_TEST_WAITS_OF_ALL_FORMS) {
  TestType kind;
  CHECK(outcome_of([&] { block_in(kind, 1ms); }).code == errc::deadline_exceeded);
  const std::string text = outcome_of([&] { block_in(kind, 0ms); }).text;
  CHECK(text.starts_with(TestType::words));
  CHECK(contains(text, ": timed out without effect: deadline exceeded"));
  std::stop_source stop;
  std::thread stopper([&] { stop.request_stop(); });
  CHECK(outcome_of([&] { block_in(kind, stop.get_token()); }).code == errc::cancelled);
  stopper.join();
  std::thread waker([&] {
    std::this_thread::sleep_for(2ms);
    kind.wake();
  });
  CHECK(block_in(kind));
  waker.join();
  TestType ready;
  ready.wake();
  CHECK(outcome_of([&] { block_in(ready, stop.get_token()); }).code == errc::cancelled);
  CHECK(block_in(ready, 0ms));
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
    waiting = outcome_of([&] { block_in(kind); });
    kind.wake();
    later = outcome_of([&] { block_in(kind); });
  });
  while (!started) std::this_thread::yield();
  c.request_stop();
  leat::block_on(c.join());
  CHECK(waiting.code == errc::cancelled);
  CHECK(waiting.text.starts_with(TestType::words));
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
struct wait_on_foreign_awaitable {
  wait_on_foreign_awaitable() {
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
  wait_on_foreign_awaitable<TestType> w;
  w.kind.wake();
  CHECK_FALSE(w.done);
  w.loop.run_ready();
  CHECK(w.done);
  w.waiting.handle.destroy();
}

TEMPLATE_TEST_CASE("wait: a coroutine of another library that is destroyed has no effect", "[sync]",
                   LEAT_TEST_WAITS) {
  for (const bool served : {false, true}) {
    CAPTURE(served);
    wait_on_foreign_awaitable<TestType> w;
    if (served) w.kind.wake();
    w.waiting.handle.destroy();
    if (!served) w.kind.wake();
    CHECK(w.kind.remains());
    w.loop.run_ready();
    CHECK_FALSE(w.done);
  }
}

}  // namespace wait_contract_test
