// A monitored session that several tasks use. Different tasks construct, open and run it, one stops
// it without permission, one saves it during another's step, and one requests a stop while it
// waits.

#include <functional>

#include "leat/train/monitored/standard_hooks.hpp"
#include "train/monitored/monitored.hpp"

namespace monitored_tasks_test {

using namespace leat_test;
using leat::monitored_session;
using leat::run_context;

// Awaits `t` in another task. After a second, calls `stop` with its group, and checks that the task
// then ends within a second. Returns the message of its exception, or an empty string.
task<std::string> stopped(leat::sim::world& w, task<> t,
                          std::function<void(leat::task_group&)> stop) {
  std::string why;
  leat::task_group group;
  group.spawn([](task<> running, std::string& to) -> task<> {
    to = co_await message_of(std::move(running));
  }(std::move(t), why));
  co_await leat::sleep_for(1s);
  const auto begin = w.now();
  stop(group);
  co_await group.join();
  CHECK(w.now() - begin < 1s);
  co_return why;
}

void stop_task(leat::task_group& group) { group.request_stop(); }

TEST_CASE("monitored_session: created in one task, stopped through the task that runs it",
          "[train]") {
  in_world([](leat::sim::world& w) -> task<> {
    monitored_learner l;
    monitored_session s(l.monitored());  // here
    const std::function<task<>()> body = []() -> task<> { co_await leat::sleep_for(10h); };
    CHECK(contains(co_await stopped(w, s.managed(body), &stop_task), "cancel"));
    CHECK(l.open == 0);
  });
}

TEST_CASE("monitored_session: opened in one task, run in another task that is stopped", "[train]") {
  in_world([](leat::sim::world& w) -> task<> {
    monitored_learner l;
    monitored_session s(l.monitored());
    co_await s.open();
    const std::function<task<>()> waits = []() -> task<> { co_await leat::sleep_for(10h); };
    CHECK(contains(co_await stopped(w, s.run(waits), &stop_task), "cancel"));
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
    CHECK(contains(co_await message_of(s.managed(body)),
                   "supervisor stopped while its monitored_session is open"));
    CHECK(l.open == 0);

    monitored_learner other;
    std::string why;
    leat::monitored_session_options o = other.monitored("/other");
    o.hooks.push_back(hook_of({.end = [&](run_context& run) -> task<> {
      why = co_await message_of(run.get_supervisor().stop());
    }}));
    monitored_session mine(std::move(o));
    const std::function<task<>()> one = [&]() -> task<> { co_await mine.run(other.learning()); };
    CHECK(co_await message_of(mine.managed(one)) == "");
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
      run = co_await message_of(s.run(step));
      const std::function<task<>()> end = [&]() -> task<> { co_await s.close(); };
      close = co_await message_of(end());
    };
    const std::function<task<>()> body = [&]() -> task<> {
      s.get_supervisor().coord().spawn(service(), "service");
      co_await leat::sleep_for(1s);
    };
    CHECK(co_await message_of(s.managed(body)) == "");
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
    CHECK(co_await message_of(s.managed(body)) == "");
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
    const auto stop = [&s](leat::task_group&) { s.request_stop(); };
    CHECK(co_await stopped(w, s.managed(body), stop) == "");
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
      task<> waiting = managed ? s.managed(body) : s.open();
      const auto stop = [&s](leat::task_group&) { s.request_stop(); };
      const std::string why = co_await stopped(w, std::move(waiting), stop);
      CHECK_FALSE(called);
      CHECK(l.open == 0);
      CHECK(contains(why, "stop requested before the session was ready") == !managed);
    }
  });
}

}  // namespace monitored_tasks_test
