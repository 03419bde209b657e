// Functions of run_blocking() that run while their scheduler is destroyed or the process ends.

#include <atomic>
#include <csignal>
#include <stop_token>
#include <thread>
#include <unistd.h>

#include "support/child_process.hpp"
#include "support/foreign_coroutine.hpp"
#include "support/leat_test.hpp"
#include "support/loops.hpp"

namespace run_blocking_end_test {

using leat::run_blocking;

/// Runs until its token is stopped, and a little longer.
struct stoppable {
  std::atomic<bool>& entered;
  std::atomic<bool>& left;

  void operator()(std::stop_token stop) const {
    entered = true;
    while (!stop.stop_requested()) std::this_thread::sleep_for(50us);
    std::this_thread::sleep_for(2ms);
    left = true;
  }
};

/// Notes at the end of a frame whether the function had returned before.
struct end_of_frame {
  std::atomic<bool>& left;
  bool& destroyed;
  ~end_of_frame() { destroyed = left; }
};

template <class Loop>
void run_until(Loop& loop, const std::atomic<bool>& flag) {
  while (!flag) loop.run_ready();
}

LEAT_LOOP_TEST("run_blocking: a destroyed loop stops the function and waits for it") {
  std::atomic<bool> entered{false};
  std::atomic<bool> left{false};
  bool destroyed = false;
  task_group group;
  TestType loop;
  SECTION("awaited alone") {
    group.spawn_on(loop.get_scheduler(), [&]() -> task<> {
      const end_of_frame local{left, destroyed};
      co_await run_blocking(stoppable{entered, left});
    });
    run_until(loop, entered);
    loop.end();
  }
  SECTION("under a limit") {
    group.spawn_on(loop.get_scheduler(), [&]() -> task<> {
      const end_of_frame local{left, destroyed};
      co_await leat::with_timeout(run_blocking(stoppable{entered, left}), 1h);
    });
    run_until(loop, entered);
    loop.end();
  }
  SECTION("after another operation has ended it") {
    std::atomic<bool> open{false};
    std::stop_source source;
    group.spawn_on(loop.get_scheduler(), [&]() -> task<> {
      const end_of_frame local{left, destroyed};
      const auto f = [&] {
        entered = true;
        while (!open) std::this_thread::sleep_for(50us);
        left = true;
      };
      co_await leat::with_stop(run_blocking(f), source.get_token());
    });
    run_until(loop, entered);
    source.request_stop();
    if (GENERATE(true, false)) loop.run_ready();
    const std::jthread opener([&] {
      std::this_thread::sleep_for(3ms);
      open = true;
    });
    loop.end();
  }
  CHECK(left);
  CHECK(destroyed);
  CHECK(leat_test::is_cancelled(group));
}

LEAT_LOOP_TEST("run_blocking: a destroyed loop withdraws functions that wait for a thread") {
  leat::blocking_pool pool({.threads = 1});
  std::atomic<bool> entered{false};
  std::atomic<bool> left{false};
  std::atomic<int> calls{0};
  task_group group;
  TestType loop;
  group.spawn_on(loop.get_scheduler(),
                 [&]() -> task<> { co_await run_blocking(pool, stoppable{entered, left}); });
  run_until(loop, entered);
  for (int i = 0; i < 10; ++i) {
    group.spawn_on(loop.get_scheduler(),
                   [](leat::blocking_pool& p, std::atomic<int>& c, bool limited) -> task<> {
                     const auto f = [&] { ++c; };
                     if (limited) {
                       co_await leat::with_timeout(run_blocking(p, f), 1h);
                     } else {
                       co_await run_blocking(p, f);
                     }
                   }(pool, calls, i % 2 == 0));
  }
  while (pool.statistics().waiting != 10) loop.run_ready();
  loop.end();
  CHECK(left);
  CHECK(calls == 0);
  CHECK(leat_test::is_cancelled(group));
}

/// Notes in `state` when it is used after its destruction.
struct captured {
  std::atomic<int>& state;
  explicit captured(std::atomic<int>& s) noexcept : state(s) { state = 1; }
  captured(const captured& other) noexcept : state(other.state) { ++state; }
  ~captured() { --state; }
};

LEAT_LOOP_TEST("run_blocking: a destroyed loop keeps what a running function has captured") {
  std::atomic<bool> entered{false};
  std::atomic<int> copies{0};     // of the capture
  std::atomic<int> at_return{0};  // of them, when the function returns
  const bool limited = GENERATE(false, true);
  task_group group;
  TestType loop;
  const auto make = [&] {
    return [&entered, &at_return, own = captured(copies)](std::stop_token stop) {
      entered = true;
      while (!stop.stop_requested()) std::this_thread::sleep_for(50us);
      std::this_thread::sleep_for(2ms);
      at_return = own.state.load();
      return std::string(100, 'r');
    };
  };
  group.spawn_on(loop.get_scheduler(), [&]() -> task<> {
    if (limited) {
      co_await leat::with_timeout(run_blocking(make()), 1h);
    } else {
      co_await run_blocking(make());
    }
  });
  run_until(loop, entered);
  const int before = copies;
  loop.end();
  CHECK(before > 0);
  CHECK(at_return == before);
  CHECK(copies == 0);
  CHECK(leat_test::is_cancelled(group));
}

TEST_CASE("run_blocking: a destroyed loop stops all functions at once") {
  std::atomic<int> entered{0};
  std::atomic<int> stopped{0};
  task_group group;
  leat_test::asio_loop loop;
  constexpr int count = 8;
  for (int i = 0; i < count; ++i) {
    group.spawn_on(loop.get_scheduler(), [&]() -> task<> {
      // Returns when all functions were asked to stop.
      const auto f = [&](std::stop_token stop) {
        ++entered;
        while (!stop.stop_requested()) std::this_thread::sleep_for(50us);
        ++stopped;
        while (stopped < count) std::this_thread::sleep_for(50us);
      };
      co_await run_blocking(f);
    });
  }
  while (entered < count) loop.run_ready();
  loop.end();
  CHECK(stopped == count);
  CHECK(leat_test::is_cancelled(group));
}

LEAT_LOOP_TEST("run_blocking: a destroyed loop waits for the function of another coroutine") {
  std::atomic<bool> entered{false};
  std::atomic<bool> left{false};
  bool resumed = false;
  TestType loop;
  const auto body = [](leat::scheduler& s, std::atomic<bool>& e, std::atomic<bool>& l,
                       bool& r) -> leat_test::foreign_coroutine {
    co_await leat::resume_on(s);
    co_await run_blocking(stoppable{e, l});
    r = true;
  };
  const auto coroutine = body(loop.get_scheduler(), entered, left, resumed);
  run_until(loop, entered);
  loop.end();
  CHECK(left);
  CHECK_FALSE(resumed);
  coroutine.handle.destroy();
}

// -------------------------------------------------------------------------- the end of the process

TEST_CASE("run_blocking: SIGTERM under run() stops the function through its token") {
  const std::string answer = leat_test::run_in_child([] {
    std::atomic<bool> entered{false};
    std::atomic<bool> left{false};
    const int code = leat::run([&]() -> task<> {
      task_group group;
      group.spawn([&]() -> task<> {
        while (!entered) co_await leat::sleep_for(1ms);
        ::kill(::getpid(), SIGTERM);
      });
      co_await run_blocking(stoppable{entered, left});
    });
    return std::to_string(code) + (left ? " left" : " running");
  });
  CHECK(answer.ends_with(" left"));
}

TEST_CASE("run_blocking: a child of fork destroys a loop with a function that runs in its parent") {
  std::atomic<bool> entered{false};
  std::atomic<bool> left{false};
  task_group group;
  std::optional<leat_test::embedded_loop> loop(std::in_place);
  group.spawn_on(loop->get_scheduler(),
                 [&]() -> task<> { co_await run_blocking(stoppable{entered, left}); });
  run_until(*loop, entered);
  const std::string answer = leat_test::run_in_child([&] {
    ::alarm(60);
    loop->end();
    return std::string(leat_test::is_cancelled(group) ? "cancelled" : "completed");
  });
  CHECK(answer == "cancelled");
  CHECK_FALSE(left);
  loop->end();
  CHECK(left);
  CHECK(leat_test::is_cancelled(group));
}

LEAT_REAL_TIME_TEST(
    "run_blocking: a report of a group names a task whose function does not return") {
  std::atomic<bool> open{false};
  std::atomic<bool> entered{false};
  const auto f = [&] {
    entered = true;
    while (!open) std::this_thread::sleep_for(50us);
  };
  const auto query = [&]() -> task<> { co_await run_blocking(f); };
  task_group group;
  group.spawn(query(), "query");
  while (!entered) co_await leat::sleep_for(100us);
  group.request_stop();
  const auto [ec] = co_await leat::as_tuple(leat::with_timeout(group.join(), 5ms));
  CHECK(ec == errc::deadline_exceeded);
  std::string text;
  for (const auto& report : group.report()) text = report.name + ": " + report.position;
  open = true;
  co_await group.join();
  CAPTURE(text);
  CHECK(text.starts_with("query: run_blocking (running for 0."));
  CHECK(contains(text, ", asked to stop 0."));
  CHECK(contains(text, " s ago), at run_blocking_end_test.cpp:"));
}

}  // namespace run_blocking_end_test
