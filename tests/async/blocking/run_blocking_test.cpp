#include "leat/async/blocking/run_blocking.hpp"

#include <atomic>
#include <functional>
#include <stop_token>
#include <thread>
#include <variant>

#include <asio/io_context.hpp>
#include <asio/use_future.hpp>

#include "support/foreign_coroutine.hpp"
#include "support/leat_test.hpp"
#include "support/loops.hpp"

namespace run_blocking_test {

using leat::run_blocking;

/// A function that blocks until it is released.
struct gate {
  std::atomic<bool> entered{false};
  std::atomic<bool> open{false};
  std::atomic<int> calls{0};

  void operator()() {
    ++calls;
    entered = true;
    while (!open) std::this_thread::sleep_for(50us);
  }
};

// Occupies the only thread of a pool until the gate is open. Returns when the function has begun.
task<> occupy(leat::blocking_pool& pool, gate& g, task_group& group) {
  const auto block = [](leat::blocking_pool& p, gate& b) -> task<> {
    co_await run_blocking(p, std::ref(b));
  };
  group.spawn(block(pool, g));
  while (!g.entered) co_await leat::sleep_for(100us);
}

int wait_for_stop(std::stop_token stop) {
  while (!stop.stop_requested()) std::this_thread::sleep_for(50us);
  return 7;
}

// ------------------------------------------------------------------------------------- the result

LEAT_REAL_TIME_TEST("run_blocking: returns the result of the function to the task") {
  const leat::scheduler* const own = leat::scheduler::current();
  const std::thread::id here = std::this_thread::get_id();
  std::thread::id there;
  const leat::scheduler* outside = own;
  const auto f = [&] {
    there = std::this_thread::get_id();
    outside = leat::scheduler::current();
    return std::make_unique<int>(5);
  };
  const std::unique_ptr<int> five = co_await run_blocking(f);
  CHECK(*five == 5);
  CHECK(there != here);
  CHECK(outside == nullptr);
  CHECK(std::this_thread::get_id() == here);
  CHECK(leat::scheduler::current() == own);
}

LEAT_REAL_TIME_TEST(
    "run_blocking: a function may return nothing, a reference or a move-only value") {
  int number = 1;
  const auto nothing = [&] { number = 2; };
  co_await run_blocking(nothing);
  CHECK(number == 2);
  const auto reference = [&]() -> int& { return number; };
  int& same = co_await run_blocking(reference);
  CHECK(&same == &number);
  auto owned = [p = std::make_unique<int>(3)]() mutable { return std::move(p); };
  const auto moved = co_await run_blocking(std::move(owned));
  CHECK(*moved == 3);
  const auto text = co_await run_blocking(std::function<std::string()>([] { return "x"; }));
  CHECK(text == "x");
}

LEAT_REAL_TIME_TEST("run_blocking: throws the exception of the function") {
  const auto f = []() -> int { throw std::out_of_range("no such row"); };
  CHECK(co_await message_of<std::out_of_range>(run_blocking(f)) == "no such row");
  const auto [ec, value] = co_await leat::as_tuple(run_blocking(f));
  CHECK(ec == leat::to_error_code(std::make_exception_ptr(std::out_of_range(""))));
  CHECK(value == 0);
}

LEAT_REAL_TIME_TEST("run_blocking: other tasks run while the function blocks") {
  gate g;
  const auto block = [](gate& b) -> task<> { co_await run_blocking(std::ref(b)); };
  const auto open = [](gate& b) -> task<> {
    co_await leat::sleep_for(2ms);
    b.open = true;
  };
  co_await leat::when_all(block(g), open(g));
  CHECK(g.calls == 1);
}

LEAT_REAL_TIME_TEST("run_blocking: a hundred functions complete on one thread of a pool") {
  leat::blocking_pool pool({.threads = 1});
  std::atomic<int> running{0};
  int sum = 0;
  bool alone = true;
  task_group group;
  const auto add = [&](int i) -> task<> {
    const auto f = [&running, i] { return running++ == 0 ? (running--, i) : -1'000'000; };
    const int n = co_await run_blocking(pool, f);
    alone = alone && n >= 0;
    sum += n;
  };
  for (int i = 0; i < 100; ++i) group.spawn(add(i));
  co_await group.join();
  CHECK(alone);
  CHECK(sum == 99 * 100 / 2);
}

// --------------------------------------------------------------------------------- stop and limits

LEAT_REAL_TIME_TEST("run_blocking: after a stop, throws cancelled and does not call the function") {
  int calls = 0;
  std::string error;
  task_group group;
  group.spawn([](int& c, std::string& e) -> task<> {
    const auto f = [&c] { ++c; };
    while (!leat::this_task::stop_requested()) co_await leat::this_task::yield();
    e = co_await message_of(run_blocking(f));
  }(calls, error));
  co_await leat::this_task::yield();
  group.request_stop();
  co_await group.join();
  CHECK(calls == 0);
  CHECK(error == "run_blocking: the function was not called: cancelled");
}

LEAT_REAL_TIME_TEST("run_blocking: a stop withdraws a function that waits for a thread") {
  leat::blocking_pool pool({.threads = 1});
  gate first;
  gate second;
  std::string error;
  task_group blocked;
  co_await occupy(pool, first, blocked);
  task_group group;
  group.spawn(
      [&]() -> task<> { error = co_await message_of(run_blocking(pool, std::ref(second))); });
  co_await leat::sleep_for(1ms);
  CHECK(pool.statistics().waiting == 1);
  group.request_stop();
  co_await group.join();
  CHECK(pool.statistics().waiting == 0);
  CHECK(error == "run_blocking: the function was not called: cancelled");
  first.open = true;
  co_await blocked.join();
  CHECK(second.calls == 0);
}

LEAT_REAL_TIME_TEST("run_blocking: a limit withdraws a function that waits for a thread") {
  leat::blocking_pool pool({.threads = 1});
  gate first;
  gate second;
  task_group blocked;
  co_await occupy(pool, first, blocked);
  const std::string error =
      co_await message_of(leat::with_timeout(run_blocking(pool, std::ref(second)), 1ms));
  CHECK(error.starts_with("run_blocking: the function was not called (limit of 1 ms at "));
  const auto [ec] =
      co_await leat::as_tuple(leat::with_timeout(run_blocking(pool, std::ref(second)), 1ms));
  CHECK(ec == errc::deadline_exceeded);
  first.open = true;
  co_await blocked.join();
  CHECK(second.calls == 0);
}

/// Calls `end` on a thread after a limit has expired. Repeats this with a longer limit until the
/// thread was fast enough. Returns the result or error of the last call.
template <class End>
task<std::string> outcome_after_limit(End end) {
  for (leat::duration limit = 1ms;; limit *= 2) {
    std::atomic<bool> entered{false};
    std::string outcome;
    const auto f = [&](std::stop_token stop) {
      entered = true;
      wait_for_stop(std::move(stop));
      return end();
    };
    try {
      const int value = co_await leat::with_timeout(run_blocking(f), limit);
      outcome = std::to_string(value);
    } catch (const std::exception& e) {
      outcome = e.what();
    }
    if (entered) co_return outcome;
  }
}

TEST_CASE("run_blocking: a function that returns despite its limit wins") {
  CHECK(leat::block_on(outcome_after_limit([] { return 7; })) == "7");
}

TEST_CASE(
    "run_blocking: a function that throws cancelled after a limit has the code of the limit") {
  const auto cancelled = []() -> int { throw leat::failure(errc::cancelled, "query"); };
  const std::string error = leat::block_on(outcome_after_limit(cancelled));
  CHECK(error.starts_with("run_blocking: the function ended early (limit of "));
  CHECK(error.ends_with(": deadline exceeded"));
}

TEST_CASE("run_blocking: a function that fails after a limit throws its own error") {
  const auto failed = []() -> int { throw leat::failure(errc::data_loss, "row 3"); };
  CHECK(leat::block_on(outcome_after_limit(failed)) == "row 3: data loss");
}

LEAT_REAL_TIME_TEST(
    "run_blocking: under a stop that was requested before, the function is not called") {
  int calls = 0;
  const auto f = [&] { return ++calls; };
  std::stop_source source;
  source.request_stop();
  const auto [ec, value] =
      co_await leat::as_tuple(leat::with_stop(run_blocking(f), source.get_token()));
  CHECK(ec == errc::cancelled);
  CHECK(value == 0);
  CHECK(calls == 0);
}

LEAT_REAL_TIME_TEST("run_blocking: cancelled without a stop is an error of the function") {
  const auto f = [] { throw leat::failure(errc::cancelled, "by the server"); };
  CHECK(co_await message_of(leat::with_timeout(run_blocking(f), 1h)) == "by the server: cancelled");
}

LEAT_REAL_TIME_TEST("run_blocking: a stop of the task stops the token of the function") {
  int value = 0;
  std::atomic<bool> entered{false};
  task_group group;
  group.spawn([](int& v, std::atomic<bool>& e) -> task<> {
    const auto f = [&](std::stop_token stop) {
      e = true;
      return wait_for_stop(std::move(stop));
    };
    v = co_await run_blocking(f);
  }(value, entered));
  while (!entered) co_await leat::sleep_for(100us);
  group.request_stop();
  co_await group.join();
  CHECK(value == 7);
}

LEAT_REAL_TIME_TEST(
    "run_blocking: a limit of zero still calls a function if a thread takes it first") {
  std::atomic<int> calls{0};
  const auto f = [&] { ++calls; };
  int completed = 0;
  for (int i = 0; i < 200; ++i) {
    const auto [ec] = co_await leat::as_tuple(leat::with_timeout(run_blocking(f), 0s));
    completed += !ec;
    const bool known = !ec || ec == errc::deadline_exceeded;
    CHECK(known);
  }
  CHECK(calls == completed);
}

// ------------------------------------------------------------------------------------------ select

LEAT_REAL_TIME_TEST("run_blocking: select returns the function's result or the other operation's") {
  const auto f = [] { return 3; };
  const auto done = co_await leat::select(run_blocking(f), leat::sleep_for(1h));
  CHECK(done.index() == 0);
  CHECK(std::get<0>(done) == 3);
}

LEAT_REAL_TIME_TEST("run_blocking: a function that loses a select decides by its end") {
  for (const bool has_effect : {false, true}) {
    std::atomic<bool> entered{false};
    std::stop_source ended;
    const auto f = [&](std::stop_token stop) -> int {
      entered = true;
      wait_for_stop(std::move(stop));
      if (has_effect) return 7;
      throw leat::failure(errc::cancelled, "");
    };
    task_group group;
    group.spawn([](std::atomic<bool>& e, std::stop_source source) -> task<> {
      while (!e) co_await leat::sleep_for(100us);
      source.request_stop();
    }(entered, ended));
    const auto first =
        co_await leat::select(leat::wait_for_stop(ended.get_token()), run_blocking(f));
    CHECK(first.index() == (has_effect ? 1U : 0U));
    co_await group.join();
  }
}

LEAT_REAL_TIME_TEST(
    "run_blocking: select does not start the function if another operation is complete") {
  int calls = 0;
  const auto f = [&] { ++calls; };
  std::stop_source source;
  source.request_stop();
  const auto done = co_await leat::select(run_blocking(f), leat::wait_for_stop(source.get_token()));
  CHECK(done.index() == 1);
  CHECK(calls == 0);
}

// ------------------------------------------------------------------------- where it can be awaited

TEST_CASE("run_blocking: works in async_run, with a completion token") {
  asio::io_context io;
  auto future = leat::async_run(
      io.get_executor(), [] { return run_blocking([] { return 4; }); }, asio::use_future);
  io.run();
  CHECK(future.get() == 4);
}

TEST_CASE("run_blocking: a coroutine of another library resumes on its scheduler") {
  leat_test::asio_loop loop;
  leat::scheduler& sched = loop.get_scheduler();
  const leat::scheduler* resumed_on = nullptr;
  int value = 0;
  const auto body = [](leat::scheduler& s, const leat::scheduler*& on,
                       int& v) -> leat_test::foreign_coroutine {
    co_await leat::resume_on(s);
    const auto f = [] { return 6; };
    v = co_await run_blocking(f);
    on = leat::scheduler::current();
  };
  const auto coroutine = body(sched, resumed_on, value);
  loop.context().run();
  coroutine.handle.destroy();
  CHECK(value == 6);
  CHECK(resumed_on == &sched);
}

TEST_CASE("run_blocking: on a thread without a scheduler, throws failed_precondition") {
  std::string error;
  const auto body = [](std::string& e) -> leat_test::foreign_coroutine {
    try {
      const auto f = [] {};
      co_await run_blocking(f);
    } catch (const leat::failure& f) {
      e = f.what();
    }
  };
  body(error).handle.destroy();
  CHECK(error.starts_with("co_await on a leat operation on a thread without a scheduler"));
}

// -------------------------------------------------------------------------------------- simulation

LEAT_TEST("run_blocking: on virtual time, calls the function in a later turn of the same thread") {
  const std::thread::id here = std::this_thread::get_id();
  std::thread::id there;
  const auto f = [&] {
    there = std::this_thread::get_id();
    return 8;
  };
  CHECK(co_await run_blocking(f) == 8);
  CHECK(there == here);
}

LEAT_TEST("run_blocking: on virtual time, a stop before that turn prevents the call") {
  int calls = 0;
  std::string error;
  task_group group;
  group.spawn([](int& c, std::string& e) -> task<> {
    const auto f = [&c] { ++c; };
    e = co_await message_of(run_blocking(f));
  }(calls, error));
  group.request_stop();
  co_await group.join();
  CHECK(calls == 0);
  CHECK(error == "run_blocking: the function was not called: cancelled");
}

}  // namespace run_blocking_test
