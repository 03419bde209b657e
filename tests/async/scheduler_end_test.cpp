// Tasks that have not finished when their scheduler is destroyed.

#include <atomic>
#include <csignal>
#include <sstream>
#include <stop_token>
#include <thread>

#include <asio/bind_executor.hpp>
#include <asio/detached.hpp>

#include "leat/base/internal/sanitizers.hpp"
#include "support/function_item.hpp"
#include "support/leat_test.hpp"
#include "support/loops.hpp"

namespace scheduler_end_test {

using leat_test::asio_loop;

// Appends its name to `out` when it is destroyed.
struct witness {
  witness(std::string& o, char n) noexcept : out(o), name(n) {}
  witness(const witness&) = delete;
  witness& operator=(const witness&) = delete;
  ~witness() { out += name; }
  std::string& out;
  const char name;
};

std::string join_error(task_group& group) {
  try {
    leat::block_on(group.join());
  } catch (const std::exception& e) {
    CHECK(leat::to_error_code(std::current_exception()) == errc::cancelled);
    return e.what();
  }
  return "";
}

task<> sleep_with(std::string& out, char name) {
  const witness w(out, name);
  co_await leat::sleep_for(1h);
}

// Tasks that wait on a loop, which the case destroys, and the objects for which they wait.
template <class Loop>
struct waiting {
  std::string destroyed;
  std::stop_source stop;
  task_group other{"other"};  // for joins
  asio_loop elsewhere;
  task_group group;
  Loop loop;

  void spawn(task<> t, std::string_view name = "") {
    group.spawn_on(loop.get_scheduler(), std::move(t), name);
    loop.run_ready();
    CHECK(destroyed.empty());
  }
  // Returns the error of the join.
  std::string end(std::string_view witnesses = "w") {
    loop.end();
    CHECK(destroyed == witnesses);
    CHECK(group.live_tasks() == 0);
    const std::string error = join_error(group);
    CHECK_FALSE(error.empty());
    elsewhere.run_ready();
    return error;
  }
  void let_other_end() {
    other.request_stop();
    elsewhere.run_ready();
    REQUIRE(other.live_tasks() == 0);
  }
};

LEAT_LOOP_TEST("scheduler end: destroys a sleeping task and reports it to its owner") {
  waiting<TestType> t;
  t.spawn(sleep_with(t.destroyed, 'a'), "sleeper");
  const std::string error = t.end("a");
  CHECK(contains(error, "sleeper: destroyed with its " + std::string(TestType::name)));
}

LEAT_LOOP_TEST("scheduler end: a task that was never started is destroyed") {
  std::string destroyed;
  const auto holding = [](std::unique_ptr<witness>) -> task<> { co_return; };
  task_group group;
  TestType loop;
  group.spawn_on(loop.get_scheduler(), holding(std::make_unique<witness>(destroyed, 'a')));
  std::thread([&] {
    group.spawn_on(loop.get_scheduler(), holding(std::make_unique<witness>(destroyed, 'b')));
  }).join();
  loop.end();
  CHECK(destroyed.size() == 2);
  CHECK_FALSE(join_error(group).empty());
}

LEAT_LOOP_TEST("scheduler end: frames are destroyed from the inside out") {
  const auto outer = [](std::string& out) -> task<> {
    const witness first(out, 'c');
    const auto middle = [](std::string& o) -> task<> {
      const witness second(o, 'b');
      co_await sleep_with(o, 'a');
    };
    co_await middle(out);
  };
  waiting<TestType> t;
  t.spawn(outer(t.destroyed));
  t.end("abc");
}

LEAT_LOOP_TEST("scheduler end: tasks of a group end before the task that contains it") {
  const auto owner = [](std::string& out) -> task<> {
    const witness w(out, 'o');
    co_await leat::with_task_group([&out](task_group& inner) -> task<> {
      const witness body(out, 'b');
      inner.spawn(sleep_with(out, 't'));
      co_await leat::sleep_for(1h);
    });
  };
  waiting<TestType> t;
  t.spawn(owner(t.destroyed));
  t.loop.end();
  CHECK(t.destroyed.size() == 3);
  CHECK(t.destroyed.back() == 'o');
  CHECK_FALSE(join_error(t.group).empty());
}

// ---- Every kind of wait of the core, in each of its states.

template <class Loop>
task<> sleeps(waiting<Loop>& t) {
  const witness w(t.destroyed, 'w');
  co_await leat::sleep_for(10ms);
}
template <class Loop>
task<> waits_for_stop(waiting<Loop>& t) {
  const witness w(t.destroyed, 'w');
  co_await leat::wait_for_stop(t.stop.get_token());
}
template <class Loop>
task<> joins(waiting<Loop>& t) {
  const witness w(t.destroyed, 'w');
  co_await t.other.join();
}
template <class Loop>
task<> joins_in_time(waiting<Loop>& t) {
  const witness w(t.destroyed, 'w');
  co_await leat::with_timeout(t.other.join(), 1h);
}
template <class Loop>
task<> selects(waiting<Loop>& t) {
  const witness w(t.destroyed, 'w');
  co_await leat::select(t.other.join(), leat::wait_for_stop(t.stop.get_token()),
                        leat::sleep_for(1h));
}

LEAT_LOOP_TEST("scheduler end: destroys a task whose timer is due but was not processed") {
  waiting<TestType> t;
  t.spawn(sleeps(t));
  std::this_thread::sleep_for(20ms);
  t.end();
}

TEST_CASE("scheduler end: destroys a task that yields") {
  task_group group;
  std::string destroyed;
  leat_test::embedded_loop loop;
  leat::embedded_scheduler& sched = static_cast<leat::embedded_scheduler&>(loop.get_scheduler());
  group.spawn_on(sched, [](std::string& out) -> task<> {
    const witness w(out, 'w');
    for (;;) co_await leat::this_task::yield();
  }(destroyed));
  sched.run_ready(3);
  loop.end();
  CHECK(destroyed == "w");
  CHECK_FALSE(join_error(group).empty());
}

LEAT_LOOP_TEST("scheduler end: destroys a task that waits for a stop") {
  waiting<TestType> t;
  t.spawn(waits_for_stop(t));
  SECTION("waits") {}
  SECTION("has ended") { t.stop.request_stop(); }
  SECTION("has ended on another thread") {
    std::thread([&] { t.stop.request_stop(); }).join();
  }
  t.end();
  t.stop.request_stop();
}

LEAT_LOOP_TEST("scheduler end: destroys a task in join()") {
  waiting<TestType> t;
  t.other.spawn_on(t.elsewhere.get_scheduler(), []() -> task<> { co_await leat::sleep_for(1h); });
  const auto body = GENERATE(&joins<TestType>, &joins_in_time<TestType>, &selects<TestType>);
  t.elsewhere.run_ready();
  t.spawn(body(t));
  SECTION("waits") {}
  SECTION("has ended") { t.let_other_end(); }
  SECTION("has ended on another thread") {
    std::thread([&] { t.let_other_end(); }).join();
  }
  SECTION("was asked to stop") { t.group.request_stop(); }
  if (t.group.stop_requested()) {
    t.loop.end();
    CHECK(t.destroyed == "w");
    leat::block_on(t.group.join());  // does not throw after a stop request
  } else {
    t.end();
  }
  t.let_other_end();
}

// --------------------------------------------------------------------------------- further cases

LEAT_LOOP_TEST("scheduler end: a destructor may spawn, and its task is destroyed too") {
  struct spawner {
    task_group& group;
    leat::scheduler& sched;
    std::string& out;
    ~spawner() { group.spawn_on(sched, sleep_with(out, 's')); }
  };
  waiting<TestType> t;
  t.spawn([](waiting<TestType>& all) -> task<> {
    const witness w(all.destroyed, 'w');
    const spawner at_end{all.group, all.loop.get_scheduler(), all.destroyed};
    co_await leat::sleep_for(1h);
  }(t));
  t.end();  // the other task never began, so it adds no name
}

TEST_CASE("scheduler end: a task may destroy another io_context") {
  std::string destroyed;
  task_group group;
  asio_loop loop;
  asio_loop other;
  group.spawn_on(other.get_scheduler(), sleep_with(destroyed, 'a'));
  other.run_ready();
  task_group destroyers;
  destroyers.spawn_on(loop.get_scheduler(), [](asio_loop& o) -> task<> {
    o.end();
    co_await leat::this_task::yield();  // the destroying task's scheduler is still the current one
  }(other));
  loop.run_ready();
  CHECK(destroyed == "a");
  leat::block_on(destroyers.join());
  CHECK_FALSE(join_error(group).empty());
}

TEST_CASE("scheduler end: the handler of async_run is destroyed and not called") {
  std::string destroyed;
  bool called = false;
  {
    asio_loop loop;
    auto owned = std::make_unique<witness>(destroyed, 'h');
    leat::async_run(
        loop.context(), sleep_with(destroyed, 't'),
        [&called, keep = std::move(owned)](const std::exception_ptr&) { called = true; });
    loop.run_ready();
    loop.end();
  }
  CHECK(destroyed == "th");
  CHECK_FALSE(called);
}

TEST_CASE("scheduler end: calls the handler of async_run in another context") {
  std::string destroyed;
  std::exception_ptr error;
  asio_loop other;
  asio_loop loop;
  leat::async_run(loop.context(), sleep_with(destroyed, 't'),
                  asio::bind_executor(other.context().get_executor(),
                                      [&](const std::exception_ptr& e) { error = e; }));
  loop.run_ready();
  loop.end();
  CHECK(destroyed == "t");
  CHECK_FALSE(error);
  other.run_ready();
  CHECK(leat::to_error_code(error) == errc::cancelled);
}

LEAT_LOOP_TEST("scheduler end: posted items still run") {
  int ran = 0;
  leat_test::function_item first([&] { ++ran; });
  leat_test::function_item second([&] { ++ran; });
  TestType loop;
  loop.get_scheduler().post(first);
  std::thread([&] { loop.get_scheduler().post(second); }).join();
  loop.end();
  CHECK(ran == 2);
}

TEST_CASE("scheduler end: a foreign wait ends the process with the task's name") {
  struct never {
    bool await_ready() const noexcept { return false; }
    void await_suspend(std::coroutine_handle<>) const noexcept {}
    void await_resume() const noexcept {}
  };
  const std::string said = leat_test::abort_message([] {
    task_group group;
    asio_loop loop;
    group.spawn_on(loop.get_scheduler(), []() -> task<> { co_await never(); }, "stuck");
    loop.run_ready();
    loop.end();
  });
  CHECK(contains(said,
                 "stuck was destroyed with its scheduler while it awaited an operation of another "
                 "library, which leat cannot cancel, at scheduler_end_test.cpp:"));
}

TEST_CASE("scheduler end: a task that another library has resumed is destroyed") {
  struct resumed_elsewhere {
    bool await_ready() const noexcept { return false; }
    void await_suspend(std::coroutine_handle<> h) const {
      std::thread([h] { h.resume(); }).join();
    }
    void await_resume() const noexcept {}
  };
  std::coroutine_handle<> next;
  struct gate {
    std::coroutine_handle<>& next;
    bool await_ready() const noexcept { return false; }
    void await_suspend(std::coroutine_handle<> h) const noexcept { next = h; }
    void await_resume() const noexcept {}
  };
  waiting<asio_loop> t;
  t.spawn([](std::string& o, std::coroutine_handle<>& n) -> task<> {
    const witness w(o, 'w');
    co_await gate{n};
    co_await resumed_elsewhere();
  }(t.destroyed, next));
  next.resume();
  t.end();
}

TEST_CASE("scheduler end: tasks elsewhere end the process with the owner's name") {
  const std::string said = leat_test::abort_message([] {
    std::string destroyed;
    asio_loop other;
    task_group group;
    asio_loop loop;
    group.spawn_on(
        loop.get_scheduler(),
        [](leat::scheduler& s, std::string& o) -> task<> {
          task_group inner("inner");
          inner.spawn_on(s, sleep_with(o, 's'), "sleeper");
          co_await inner.join();
        }(other.get_scheduler(), destroyed),
        "owner");
    loop.run_ready();
    loop.end();
  });
  CHECK(contains(said, "task group 'inner' destroyed"));
  CHECK(contains(said, "it belongs to owner, which was destroyed with its io_context"));
  CHECK(contains(said, "sleeper"));
}

#if !LEAT_TSAN  // the thread sanitizer defers signals

LEAT_LOOP_TEST("scheduler end: stop_on_signal can be destroyed before or after") {
  struct sigaction before{};
  ::sigaction(SIGUSR1, nullptr, &before);
  task_group group;
  {
    TestType loop;
    std::optional<leat::stop_on_signal> guard;
    guard.emplace(loop.get_scheduler(), group, std::initializer_list<int>{SIGUSR1});
    SECTION("before, and the loop runs no more") { guard.reset(); }
    SECTION("after") {}
    SECTION("after, and a signal has come") { CHECK((::raise(SIGUSR1), guard->signal()) != 0); }
    loop.end();
    guard.reset();
  }
  struct sigaction now{};
  ::sigaction(SIGUSR1, nullptr, &now);
  CHECK(now.sa_handler == before.sa_handler);
}

#endif

TEST_CASE("scheduler end: other threads can stop its tasks, dump and complete waits") {
  for (int round = 0; round < 200; ++round) {
    std::string destroyed;
    std::stop_source stop;
    task_group group;
    auto loop = std::make_unique<asio_loop>();
    for (int i = 0; i < 20; ++i) {
      group.spawn_on(loop->get_scheduler(), [](std::string& o, std::stop_token t) -> task<> {
        const witness w(o, 'w');
        co_await leat::select(leat::wait_for_stop(t), leat::sleep_for(1h));
        co_await leat::sleep_for(1h);
      }(destroyed, stop.get_token()));
    }
    loop->run_ready();
    std::atomic<int> ready{0};
    const auto meet = [&ready] {
      for (++ready; ready < 4;) std::this_thread::yield();
    };
    std::thread stopper([&] {
      meet();
      stop.request_stop();
    });
    std::thread group_stopper([&] {
      meet();
      group.request_stop();
    });
    std::thread dumper([&] {
      meet();
      if (LEAT_TSAN) return;  // see tests/stress/dump_of_ending_contexts_test.cpp
      std::ostringstream out;
      leat::dump(out, 10s);
    });
    meet();
    loop.reset();
    stopper.join();
    group_stopper.join();
    dumper.join();
    CHECK(destroyed.size() == 20);
    CHECK(group.live_tasks() == 0);
  }
}

TEST_CASE("scheduler end: many tasks that were all woken are destroyed in linear time") {
  constexpr std::size_t count = 20'000;
  std::string destroyed;
  std::stop_source stop;
  task_group group;
  asio_loop loop;
  for (std::size_t i = 0; i < count; ++i) {
    group.spawn_on(loop.get_scheduler(), [](std::string& o, std::stop_token t) -> task<> {
      const witness w(o, 'w');
      co_await leat::wait_for_stop(t);
    }(destroyed, stop.get_token()));
  }
  loop.run_ready();
  stop.request_stop();
  const auto before = std::chrono::steady_clock::now();
  loop.end();
  CHECK(std::chrono::steady_clock::now() - before < 10s);
  CHECK(destroyed.size() == count);
}

}  // namespace scheduler_end_test
