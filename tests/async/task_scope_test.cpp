#include "leat/async/task_scope.hpp"

#include <exception>
#include <thread>

#include "async/manual_event.hpp"
#include "async/task_steps.hpp"
#include "support/leat_test.hpp"

namespace task_scope_test {

using leat_test::manual_event;
using task_steps::sleep;

/// A scope that exposes all its functions and records the errors of its tasks.
class open_scope final : public leat::task_scope {
 public:
  explicit open_scope(std::string_view name = "", leat::task_context* parent = nullptr)
      : task_scope("open scope", name, parent) {}

  using task_scope::add_hold;
  using task_scope::idle;
  using task_scope::is_idle;
  using task_scope::remove_hold;
  using task_scope::request_scope_stop;
  using task_scope::reset_stop;
  using task_scope::stopped;

  void spawn_on(leat::scheduler& s, task<void> t, std::string_view name = "",
                std::source_location where = std::source_location::current()) {
    task_scope::spawn_on(s, std::move(t), name, where);
  }
  void spawn(task<void> t, std::string_view name = "",
             std::source_location where = std::source_location::current()) {
    spawn_on(*leat::scheduler::current(), std::move(t), name, where);
  }
  task<bool> until(unsigned conditions, leat::time_point deadline = leat::no_deadline) {
    co_return co_await wait_until(conditions, deadline, std::source_location::current());
  }
  bool block_until(unsigned conditions, leat::time_point deadline) {
    return task_scope::block_until(conditions, deadline, std::source_location::current());
  }

  std::vector<std::exception_ptr> errors;

 private:
  void task_failed(std::exception_ptr e) noexcept override { errors.push_back(std::move(e)); }
};

// Runs `t` and increments `ended` when it has ended.
task<void> counted(task<void> t, std::size_t& ended) {
  struct at_end {
    ~at_end() { ++count; }
    std::size_t& count;
  } const end{ended};
  co_await std::move(t);
}

task<void> wait_for(manual_event& event) { co_await event.wait(); }

leat::time_point at(leat::duration d) { return leat::time_point{} + d; }

LEAT_TEST("task_scope: task_failed receives the error of a task") {
  open_scope scope;
  scope.spawn(sleep(1s), "good");
  scope.spawn(
      []() -> task<void> {
        throw leat::failure(errc::data_loss, "torn");
        co_return;
      }(),
      "bad");
  CHECK(co_await scope.until(open_scope::idle));
  REQUIRE(scope.errors.size() == 1);
  CHECK_THROWS_AS(std::rethrow_exception(scope.errors[0]), leat::failure);
}

LEAT_TEST("task_scope: a wait for idle returns at once without tasks") {
  open_scope scope;
  CHECK(scope.is_idle());
  CHECK(co_await scope.until(open_scope::idle));
}

LEAT_TEST("task_scope: a wait ends at its deadline if the condition does not become true") {
  leat::scheduler& sched = leat::this_task::get_scheduler();
  open_scope scope;
  scope.spawn(sleep(1h));
  CHECK_FALSE(co_await scope.until(open_scope::idle, at(5s)));
  CHECK(sched.now() == at(5s));
  CHECK(co_await scope.until(open_scope::idle, at(2h)));
  CHECK(sched.now() == at(1h));
}

LEAT_TEST("task_scope: a deadline in the past does not wait") {
  open_scope scope;
  scope.spawn(sleep(1h));
  CHECK_FALSE(co_await scope.until(open_scope::idle, at(-1s)));
  scope.request_scope_stop();
  CHECK(co_await scope.until(open_scope::idle));
}

LEAT_TEST("task_scope: a wait for the stop ends with the request") {
  open_scope scope;
  open_scope waiters;
  bool held = false;
  waiters.spawn([](open_scope& s, bool& h) -> task<void> {
    h = co_await s.until(open_scope::stopped);
  }(scope, held));
  co_await leat::this_task::yield();
  CHECK_FALSE(held);
  scope.request_scope_stop();
  CHECK(co_await waiters.until(open_scope::idle));
  CHECK(held);
}

LEAT_TEST("task_scope: a wait for the stop of another scope is cancelled with its own task") {
  open_scope scope;
  open_scope waiters;
  waiters.spawn([](open_scope& s) -> task<void> { co_await s.until(open_scope::stopped); }(scope));
  co_await leat::this_task::yield();
  waiters.request_scope_stop();
  CHECK(co_await waiters.until(open_scope::idle));
  REQUIRE(waiters.errors.size() == 1);
  CHECK_THROWS_AS(std::rethrow_exception(waiters.errors[0]), leat::failure);
}

LEAT_TEST("task_scope: a hold prevents idle") {
  open_scope scope;
  scope.add_hold();
  CHECK_FALSE(scope.is_idle());
  CHECK_FALSE(co_await scope.until(open_scope::idle, at(1s)));
  scope.remove_hold();
  CHECK(co_await scope.until(open_scope::idle));
}

LEAT_TEST("task_scope: a cleared stop can be requested again") {
  open_scope scope;
  manual_event event;
  scope.request_scope_stop();
  scope.reset_stop();
  CHECK_FALSE(scope.stop_requested());
  CHECK_FALSE(scope.get_stop_token().stop_requested());
  scope.spawn(wait_for(event));
  co_await leat::this_task::yield();
  CHECK(scope.live_tasks() == 1);
  CHECK(scope.request_scope_stop());
  CHECK(scope.get_stop_token().stop_requested());
  CHECK(co_await scope.until(open_scope::idle));
}

LEAT_TEST("task_scope: a stop can be requested again while the first is being delivered") {
  // Regression: a second insertion of the notice corrupted the run queue.
  open_scope scope;
  manual_event event;
  int others = 0;

  open_scope bystanders;
  for (int i = 0; i < 3; ++i) scope.spawn(wait_for(event));
  co_await leat::this_task::yield();
  bystanders.spawn(task_steps::count(others));
  scope.request_scope_stop();
  bystanders.spawn(task_steps::count(others));
  scope.reset_stop();
  scope.request_scope_stop();
  bystanders.spawn(task_steps::count(others));
  CHECK(co_await scope.until(open_scope::idle));
  CHECK(co_await bystanders.until(open_scope::idle));
  CHECK(others == 3);
}

LEAT_TEST("task_scope: a stop that is cleared before its delivery cancels no task") {
  open_scope scope;
  manual_event event;
  scope.spawn(wait_for(event));
  co_await leat::this_task::yield();
  scope.request_scope_stop();
  scope.reset_stop();
  for (int i = 0; i < 5; ++i) co_await leat::this_task::yield();
  CHECK(scope.live_tasks() == 1);
  event.set();
  CHECK(co_await scope.until(open_scope::idle));
  CHECK(scope.errors.empty());
}

// ---- A stop of more tasks than one step ends.

LEAT_TEST("task_scope: a stop of many tasks lets other tasks run in between") {
  open_scope scope;
  manual_event event;
  for (int i = 0; i < 1000; ++i) scope.spawn(wait_for(event));
  co_await leat::this_task::yield();
  scope.request_scope_stop();
  co_await leat::this_task::yield();
  co_await leat::this_task::yield();
  const std::size_t left = scope.live_tasks();
  CHECK(left > 0);
  CHECK(left < 1000);
  CHECK(co_await scope.until(open_scope::idle));
}

LEAT_TEST("task_scope: tasks may end while a stop is being delivered to them") {
  open_scope scope;
  manual_event event;
  const auto spin = [](open_scope& s) -> task<void> {
    while (!s.stop_requested()) co_await leat::this_task::yield();
  };
  std::size_t ended = 0;
  for (int i = 0; i < 500; ++i) {
    scope.spawn(counted(i % 3 == 0 ? wait_for(event) : spin(scope), ended));
  }
  co_await leat::this_task::yield();
  scope.request_scope_stop();
  CHECK(co_await scope.until(open_scope::idle));
  CHECK(ended == 500);
}

LEAT_TEST("task_scope: a stop that is cleared during delivery cancels no more tasks") {
  open_scope scope;
  manual_event event;
  std::size_t ended = 0;
  for (int i = 0; i < 1000; ++i) scope.spawn(counted(wait_for(event), ended));
  co_await leat::this_task::yield();
  scope.request_scope_stop();
  co_await leat::this_task::yield();
  scope.reset_stop();
  for (int i = 0; i < 100; ++i) co_await leat::this_task::yield();
  const std::size_t left = scope.live_tasks();
  CHECK(left > 0);
  CHECK(left < 1000);
  event.set();
  CHECK(co_await scope.until(open_scope::idle));
  CHECK(ended == 1000);
}

LEAT_TEST(
    "task_scope: a stop that is cleared and requested again during delivery reaches all tasks") {
  open_scope scope;
  manual_event event;
  int waited_again = 0;
  const auto wait_twice = [](open_scope& s, manual_event& e, int& again) -> task<void> {
    const bool cancelled = co_await throws<leat::failure>(e.wait());
    if (!cancelled || s.stop_requested()) co_return;
    if (++again == 10) s.request_scope_stop();  // the notice of the first stop is still queued
    co_await e.wait();
  };
  std::size_t ended = 0;
  for (int i = 0; i < 1000; ++i) {
    scope.spawn(counted(wait_twice(scope, event, waited_again), ended));
  }
  co_await leat::this_task::yield();
  scope.request_scope_stop();
  co_await leat::this_task::yield();
  scope.reset_stop();  // before the tasks whose waits have ended resume
  CHECK(co_await scope.until(open_scope::idle));
  CHECK(waited_again == 10);
  CHECK(ended == 1000);
}

LEAT_TEST("task_scope: the report has each task's name and location") {
  open_scope scope;
  manual_event event("mail");
  scope.spawn(wait_for(event), "a");
  scope.spawn(sleep(1h), "b");
  co_await leat::sleep_for(2s);
  auto reports = scope.report();
  REQUIRE(reports.size() == 2);
  if (reports[0].name != "a") std::swap(reports[0], reports[1]);
  CHECK(reports[0].name == "a");
  CHECK(reports[0].position.starts_with("wait for event 'mail', at task_scope_test.cpp:"));
  CHECK(contains(reports[1].position, "for 2.000 s"));
  event.set();
  scope.request_scope_stop();
  CHECK(co_await scope.until(open_scope::idle));
}

TEST_CASE("task_scope: block_until ends at its deadline, and with the condition") {
  leat::runtime rt;
  open_scope scope;
  scope.spawn_on(rt.get_scheduler(), sleep(1h));
  const auto now = std::chrono::steady_clock::now();
  CHECK_FALSE(scope.block_until(open_scope::idle, now));
  CHECK_FALSE(scope.block_until(open_scope::idle, now + 1ms));
  scope.request_scope_stop();
  CHECK(scope.block_until(open_scope::stopped, leat::no_deadline));
  CHECK(scope.block_until(open_scope::idle, leat::no_deadline));
}

TEST_CASE("task_scope: a blocking wait on a scheduler thread ends the process") {
  const std::string said = leat_test::abort_message([] {
    leat::sim::run([]() -> task<void> {
      open_scope scope;
      scope.block_until(open_scope::idle, leat::no_deadline);
      co_return;
    }());
  });
  CHECK(contains(said, "use co_await"));
}

TEST_CASE("task_scope: can outlive the schedulers of its tasks") {
  // Regression: a stop and a dump used every scheduler that the scope had ever used.
  open_scope scope("long-lived");
  manual_event event("mail");
  leat::sim::virtual_scheduler sched;
  {
    leat::sim::virtual_scheduler short_lived;
    scope.spawn_on(short_lived, sleep(1s));
    scope.spawn_on(sched, wait_for(event));
    short_lived.run_until_idle();
  }
  sched.run_until_idle();
  CHECK(scope.report(0ms).size() == 1);
  scope.request_scope_stop();
  sched.run_until_idle();
  CHECK(scope.is_idle());
  CHECK(sched.live_tasks() == 0);
}

TEST_CASE("task_scope: can spawn, stop and report on three threads at once") {
  leat::runtime rt({.threads = 2});
  for (int round = 0; round < 50; ++round) {
    open_scope scopes[2];
    std::size_t ended[2] = {};  // the tasks of a scope run on one scheduler
    std::thread asker([&] { static_cast<void>(scopes[0].report(100us)); });
    for (std::size_t i = 0; i < 20; ++i) {
      scopes[i % 2].spawn_on(rt.get_scheduler(i % 2), counted(sleep(1h), ended[i % 2]));
    }
    for (open_scope& s : scopes) s.request_scope_stop();
    asker.join();
    for (open_scope& s : scopes) s.block_until(open_scope::idle, leat::no_deadline);
    REQUIRE(ended[0] == 10);
  }
}

TEST_CASE("task_scope: the message of a destruction names an exception that passed a co_await") {
  const std::string said = leat_test::abort_message([] {
    leat::block_on([]() -> task<void> {
      open_scope scope;
      scope.spawn(sleep(1h));
      co_await []() -> task<void> {
        co_await leat::this_task::yield();
        throw std::runtime_error("the error of a child");
      }();
    }());
  });
  INFO(said);
  CHECK(contains(said, "propagating: the error of a child\n"));
}

}  // namespace task_scope_test
