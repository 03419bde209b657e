#include "leat/async/loop/scheduler_executor.hpp"

#include <thread>

#include <asio/dispatch.hpp>
#include <asio/this_coro.hpp>

#include "support/asio_test.hpp"
#include "support/function_item.hpp"
#include "support/loops.hpp"

namespace scheduler_executor_test {

using leat::get_executor;
using leat::scheduler;
using leat_test::asio_loop;
using leat_test::embedded_loop;

LEAT_LOOP_TEST("scheduler_executor: a posted function runs on the scheduler") {
  TestType loop;
  scheduler* ran_on = nullptr;
  asio::post(get_executor(loop.get_scheduler()), [&] { ran_on = scheduler::current(); });
  CHECK(ran_on == nullptr);
  loop.run_ready();
  CHECK(ran_on == &loop.get_scheduler());
}

TEST_CASE("scheduler_executor: two executors of a scheduler are equal") {
  asio::io_context io;
  asio::io_context other;
  scheduler& s = leat::get_scheduler(io);
  CHECK(get_executor(s) == get_executor(s));
  CHECK(get_executor(s) != get_executor(leat::get_scheduler(other)));
  CHECK(&get_executor(s).get_scheduler() == &s);
  CHECK(asio::any_io_executor(get_executor(s)) == asio::any_io_executor(get_executor(s)));
}

TEST_CASE("scheduler_executor: belongs to the io_context, or to the system if there is none") {
  asio::io_context io;
  CHECK(&asio::query(get_executor(leat::get_scheduler(io)), asio::execution::context) == &io);
  leat::embedded_scheduler embedded;
  asio::execution_context& system = asio::system_executor().context();
  CHECK(&asio::query(get_executor(embedded), asio::execution::context) == &system);
  leat::sim::virtual_scheduler simulated;
  asio::execution_context& own = asio::query(get_executor(simulated), asio::execution::context);
  CHECK(&own != &system);
  CHECK(&asio::query(get_executor(simulated), asio::execution::context) == &own);
}

TEST_CASE("scheduler_executor: a task runs a dispatched function at once and a posted one later") {
  asio::io_context io;
  std::vector<int> order;
  task_group group;
  group.spawn_on(leat::get_scheduler(io), [](std::vector<int>& out) -> task<> {
    const auto executor = get_executor(*scheduler::current());
    asio::post(executor, [&out] { out.push_back(3); });
    asio::dispatch(executor, [&out] { out.push_back(1); });
    out.push_back(2);
    co_return;
  }(order));
  io.run();
  CHECK(order == std::vector{1, 2, 3});
}

TEST_CASE("scheduler_executor: a handler of the context runs a dispatched function at once") {
  asio::io_context io;
  scheduler& s = leat::get_scheduler(io);
  scheduler* ran_on = nullptr;
  asio::post(io, [&] {
    asio::dispatch(get_executor(s), [&] { ran_on = scheduler::current(); });
    CHECK(ran_on == &s);
    CHECK(scheduler::current() == nullptr);
  });
  io.run();
  CHECK(ran_on == &s);
}

TEST_CASE("scheduler_executor: tasks that a dispatched function wakes run in the same handler") {
  asio::io_context io;
  scheduler& s = leat::get_scheduler(io);
  task_group group;
  bool done = false;
  asio::post(io, [&] {
    asio::dispatch(get_executor(s), [&] {
      group.spawn_on(s, [](bool& d) -> task<> {
        co_await leat::this_task::yield();
        d = true;
      }(done));
    });
    CHECK(done);
  });
  io.run();
  CHECK(done);
}

TEST_CASE("scheduler: run_here() refuses on another thread and inside a turn") {
  asio::io_context io;
  scheduler& s = leat::get_scheduler(io);
  leat_test::function_item never([] { FAIL_CHECK("must not run"); });
  CHECK_FALSE(s.run_here(never));
  bool refused = false;
  leat_test::function_item inside([&] { refused = !s.run_here(never); });
  asio::post(io, [&] {
    s.post(inside);
    CHECK_FALSE(s.run_here(never));  // a turn will run soon
  });
  io.run();
  CHECK(refused);
  leat::embedded_scheduler embedded;
  CHECK_FALSE(embedded.run_here(never));
}

TEST_CASE("scheduler: a short turn leaves timers and items of other threads to the next turn") {
  asio::io_context io;
  scheduler& s = leat::get_scheduler(io, {.max_items_per_turn = 2});
  task_group group;
  int steps = 0;
  asio::post(io, [&] {
    asio::dispatch(get_executor(s), [&] {
      for (int i = 0; i < 5; ++i) {
        group.spawn_on(s, [](int& n) -> task<> {
          ++n;
          co_await leat::sleep_for(1us);
          ++n;
        }(steps));
      }
      std::thread([&] { asio::post(get_executor(s), [&] { ++steps; }); }).join();
    });
    CHECK(steps == 1);
  });
  io.run();
  CHECK(steps == 11);
}

TEST_CASE("scheduler_executor: functions of several threads run one after the other") {
  asio::io_context io;
  const auto executor = get_executor(leat::get_scheduler(io));
  int count = 0;
  constexpr int rounds = 2000;
  for (int i = 0; i < rounds; ++i) {
    asio::post(io, [&] { asio::dispatch(executor, [&] { ++count; }); });
  }
  {
    std::vector<std::jthread> threads;
    for (int t = 0; t < 2; ++t) threads.emplace_back([&] { io.run(); });
    threads.emplace_back([&] {
      for (int i = 0; i < rounds; ++i) asio::post(executor, [&] { ++count; });
    });
  }
  io.restart();
  io.run();
  CHECK(count == 2 * rounds);
}

TEST_CASE("scheduler_executor: is the executor of timers, strands and awaitables") {
  asio::io_context io;
  scheduler& s = leat::get_scheduler(io);
  asio::steady_timer timer(get_executor(s), 1ms);
  int on_scheduler = 0;
  timer.async_wait([&](std::error_code) { on_scheduler += scheduler::current() == &s; });
  asio::post(asio::make_strand(get_executor(s)),
             [&] { on_scheduler += scheduler::current() == &s; });
  const auto body = [](scheduler& sched, int& n) -> asio::awaitable<void> {
    asio::steady_timer t(co_await asio::this_coro::executor, 1ms);
    co_await t.async_wait(asio::use_awaitable);
    n += scheduler::current() == &sched;
  };
  asio::co_spawn(get_executor(s), body(s, on_scheduler), asio::detached);
  io.run();
  CHECK(on_scheduler == 3);
}

// ---- The scheduler is destroyed.

struct destroyed_count {
  explicit destroyed_count(int& n) noexcept : count(&n) {}
  destroyed_count(destroyed_count&& other) noexcept : count(std::exchange(other.count, nullptr)) {}
  destroyed_count& operator=(destroyed_count&&) = delete;
  ~destroyed_count() { count ? ++*count : 0; }
  int* count;
};

LEAT_LOOP_TEST("scheduler end: destroys posted functions without calling them") {
  TestType loop;
  int destroyed = 0;
  bool called = false;
  const auto post = [&] {
    asio::post(get_executor(loop.get_scheduler()),
               [&called, d = destroyed_count(destroyed)] { called = true; });
  };
  post();
  std::thread(post).join();
  loop.end();
  CHECK(destroyed == 2);
  CHECK_FALSE(called);
}

LEAT_LOOP_TEST("scheduler end: a destructor can neither post nor dispatch a function") {
  TestType loop;
  bool called = false;
  struct at_end {
    ~at_end() {
      const auto executor = get_executor(s);
      asio::post(executor, [c = &called] { *c = true; });
      asio::dispatch(executor, [c = &called] { *c = true; });
    }
    scheduler& s;
    bool& called;
  };
  task_group group;
  group.spawn_on(loop.get_scheduler(), [](scheduler& s, bool& c) -> task<> {
    const at_end last{s, c};
    co_await leat::sleep_for(1h);
  }(loop.get_scheduler(), called));
  loop.run_ready();
  loop.end();
  CHECK_FALSE(called);
  CHECK(leat_test::is_cancelled(group));
}

}  // namespace scheduler_executor_test
