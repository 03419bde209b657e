// A monitored session that several tasks use. Different tasks construct, open and run it, one stops
// it without permission, one saves it during another's step, and one requests a stop while it
// waits.

#include <chrono>
#include <functional>
#include <memory>
#include <string>

#include "leat/async/task_group.hpp"
#include "leat/train/monitored/standard_hooks.hpp"
#include "train/monitored/monitored.hpp"

namespace monitored_tasks_test {

using namespace std::chrono_literals;
using leat::errc;
using leat::failure;
using leat::monitored_session;
using leat::run_context;
using leat::task;
using leat_test::contains;
using leat_test::has_file;
using leat_test::hook_of;
using leat_test::in_world;
using leat_test::monitored_learner;
using leat_test::thrown_by;

TEST_CASE("monitored_session: created in one task, stopped through the task that runs it",
          "[train]") {
  in_world([](leat::sim::world& w) -> task<> {
    monitored_learner l;
    monitored_session s(l.monitored());  // here
    const std::function<task<>()> body = []() -> task<> { co_await leat::sleep_for(10h); };
    std::string why;
    const std::function<task<>()> work = [&]() -> task<> {
      why = co_await thrown_by(s.managed(body));
    };
    leat::task_group group;
    group.spawn(work());
    co_await leat::sleep_for(1s);
    const auto begin = w.now();
    group.request_stop();
    co_await group.join();
    CHECK(contains(why, "cancel"));
    CHECK(w.now() - begin < 1s);
    CHECK(l.open == 0);
  });
}

TEST_CASE("monitored_session: opened in one task, run in another task that is stopped", "[train]") {
  in_world([](leat::sim::world& w) -> task<> {
    monitored_learner l;
    monitored_session s(l.monitored());
    co_await s.open();
    const std::function<task<>()> waits = []() -> task<> { co_await leat::sleep_for(10h); };
    std::string why;
    const std::function<task<>()> work = [&]() -> task<> {
      why = co_await thrown_by(s.run(waits));
    };
    leat::task_group group;
    group.spawn(work());
    co_await leat::sleep_for(1s);
    const auto begin = w.now();
    group.request_stop();
    co_await group.join();
    CHECK(contains(why, "cancel"));
    CHECK(w.now() - begin < 1s);
    co_await s.close();
  });
}

TEST_CASE("monitored_session: only the session stops its supervisor", "[train]") {
  in_world([](leat::sim::world&) -> task<> {
    monitored_learner l;
    monitored_session s(l.monitored());
    const std::function<task<>()> body = [&]() -> task<> {
      co_await s.run(l.learning());
      co_await s.get_supervisor().stop();
    };
    CHECK(contains(co_await thrown_by(s.managed(body)),
                   "supervisor stopped while its monitored_session is open"));
    CHECK(l.open == 0);

    monitored_learner other;
    std::string why;
    leat::monitored_session_options o = other.monitored("/other");
    leat::function_hook_options hook;
    hook.end = [&](run_context& run) -> task<> {
      why = co_await thrown_by(run.get_supervisor().stop());
    };
    o.hooks.push_back(hook_of(hook));
    monitored_session mine(std::move(o));
    const std::function<task<>()> one = [&]() -> task<> { co_await mine.run(other.learning()); };
    CHECK(co_await thrown_by(mine.managed(one)) == "");
    CHECK(contains(why, "would wait for itself"));
  });
}

TEST_CASE("monitored_session: a task of the coordinator cannot run or close it", "[train]") {
  in_world([](leat::sim::world&) -> task<> {
    monitored_learner l;
    monitored_session s(l.monitored());
    std::string run;
    std::string close;
    const std::function<task<>()> service = [&]() -> task<> {
      const std::function<task<>()> step = [&]() -> task<> {
        l.learn();
        co_return;
      };
      run = co_await thrown_by(s.run(step));
      const std::function<task<>()> end = [&]() -> task<> { co_await s.close(); };
      close = co_await thrown_by(end());
    };
    const std::function<task<>()> body = [&]() -> task<> {
      s.get_supervisor().coord().spawn(service(), "service");
      co_await leat::sleep_for(1s);
    };
    CHECK(co_await thrown_by(s.managed(body)) == "");
    CHECK(contains(run, "run() in a task of the coordinator"));
    CHECK(contains(close, "close() in a task of the coordinator"));
    CHECK(l.step == 0);
  });
}

TEST_CASE("checkpoint_saver_hook: waits for the end of another task's step", "[train]") {
  in_world([](leat::sim::world& w) -> task<> {
    monitored_learner l;
    leat::monitored_session_options o = l.monitored();
    o.save_checkpoint_steps = 1;
    o.supervised.save_at_end = false;
    monitored_session s(std::move(o));
    bool in_step = false;
    const std::function<task<>()> beside = [&]() -> task<> {
      const auto here = co_await s.get_supervisor().step();
      in_step = true;
      co_await leat::sleep_for(10s);
      in_step = false;
    };
    const std::function<task<>()> body = [&]() -> task<> {
      leat::task_group group;
      group.spawn(beside());
      co_await leat::sleep_for(1s);
      CHECK(in_step);
      co_await s.run(l.learning());
      CHECK_FALSE(in_step);
      CHECK(has_file(w, "/run/model.ckpt-1"));
      co_await group.join();
    };
    CHECK(co_await thrown_by(s.managed(body)) == "");
  });
}

TEST_CASE("monitored_session: a stop request ends the wait for the step of others", "[train]") {
  in_world([](leat::sim::world& w) -> task<> {
    monitored_learner l;
    leat::monitored_session_options o = l.monitored();
    o.hooks.push_back(std::make_shared<leat::step_waiter_hook>(100, 1h));
    monitored_session s(std::move(o));
    bool behind = false;
    const std::function<task<>()> body = [&]() -> task<> {
      co_await s.run(l.learning());
      behind = true;
    };
    leat::task_group group;
    const std::function<task<>()> work = [&]() -> task<> {
      CHECK(co_await thrown_by(s.managed(body)) == "");
    };
    group.spawn(work());
    co_await leat::sleep_for(1s);
    const auto begin = w.now();
    s.request_stop();
    co_await group.join();
    CHECK(w.now() - begin < 1s);
    CHECK_FALSE(behind);
    CHECK(l.step == 0);
    CHECK(l.open == 0);
  });
}

TEST_CASE("monitored_session: a stop request ends a worker's wait for the chief", "[train]") {
  in_world([](leat::sim::world& w) -> task<> {
    for (const bool managed : {true, false}) {
      monitored_learner l;
      leat::monitored_session_options o = l.monitored();
      o.supervised.is_chief = false;
      monitored_session s(std::move(o));
      bool called = false;
      const std::function<task<>()> body = [&]() -> task<> {
        called = true;
        co_return;
      };
      std::string why;
      const std::function<task<>()> work = [&]() -> task<> {
        task<> waiting = managed ? s.managed(body) : s.open();
        why = co_await thrown_by(std::move(waiting));
      };
      leat::task_group group;
      group.spawn(work());
      co_await leat::sleep_for(1s);
      const auto begin = w.now();
      s.request_stop();
      co_await group.join();
      CHECK(w.now() - begin < 1s);
      CHECK_FALSE(called);
      CHECK(l.open == 0);
      CHECK(contains(why, "stop requested before the session was ready") == !managed);
    }
  });
}

}  // namespace monitored_tasks_test
