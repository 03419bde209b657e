// Supervised jobs whose event loop is destroyed before they have stopped.

#include <thread>

#include "leat/train/monitored/monitored_session.hpp"
#include "leat/train/supervisor/supervisor.hpp"
#include "support/loops.hpp"
#include "support/temp_dir.hpp"
#include "train/supervised.hpp"

namespace supervisor_end_test {

using leat::supervisor;
using leat_test::learner;

task<> learn_on(learner& l, std::string logdir) {
  supervisor sv(l.options(std::move(logdir)));
  co_await sv.managed([&]() -> task<> {
    for (;;) {
      {
        const auto here = co_await sv.step();
        co_await leat::sleep_for(1ms);
        l.learn();
      }
      if (l.step == 3) co_await sv.save();
    }
  });
}

TEMPLATE_TEST_CASE("supervisor: the next job resumes after the event loop was destroyed", "[train]",
                   leat_test::asio_loop, leat_test::embedded_loop) {
  const temp_dir dir;
  const std::string logdir = dir / "run";
  {
    learner l;
    leat::task_group group;
    TestType loop;
    group.spawn_on(loop.get_scheduler(), learn_on(l, logdir), "job");
    for (int i = 0; i < 20'000 && l.step < 6; ++i) {
      loop.run_ready();
      std::this_thread::sleep_for(200us);
    }
    REQUIRE(l.step >= 6);
    loop.end();
    CHECK_THROWS_AS(leat::block_on(group.join()), leat::failure);
  }
  learner l;
  leat::block_on([](learner& next, std::string where) -> task<> {
    supervisor sv(next.options(std::move(where)));
    co_await sv.managed([]() -> task<> { co_return; });
  }(l, logdir));
  CHECK(l.step == 3);
}

// The program of an early exit: the supervisor is declared before the loop, and outlives it.
template <class Loop>
void run_until_learned(Loop& loop, const learner& l) {
  for (int i = 0; i < 20'000 && l.step < 6; ++i) {
    loop.run_ready();
    std::this_thread::sleep_for(200us);
  }
  REQUIRE(l.step >= 6);
}

task<> step_by_step(supervisor& sv, learner& l) {
  const leat::session opened = co_await sv.prepare_or_wait_for_session();
  for (;;) {
    const auto here = co_await sv.step();
    co_await leat::sleep_for(1ms);
    l.learn();
  }
}

TEMPLATE_TEST_CASE("supervisor: may outlive its event loop", "[train]", leat_test::asio_loop,
                   leat_test::embedded_loop) {
  const temp_dir dir;
  learner l;
  leat::supervisor_options options = l.options(dir / "run");
  bool managed = true;
  SECTION("managed") {}
  SECTION("step by step") { managed = false; }
  SECTION("managed, without a directory") { options.logdir.clear(); }
  SECTION("step by step, without a directory") {
    options.logdir.clear();
    managed = false;
  }
  supervisor sv(std::move(options));
  leat::task_group group;
  {
    TestType loop;
    const auto body = [&]() -> task<> {
      for (;;) {
        const auto here = co_await sv.step();
        co_await leat::sleep_for(1ms);
        l.learn();
      }
    };
    group.spawn_on(loop.get_scheduler(), managed ? sv.managed(body) : step_by_step(sv, l), "job");
    run_until_learned(loop, l);
    loop.end();
  }
  CHECK(leat_test::is_cancelled(group));
  CHECK_FALSE(sv.stopped());
  sv.request_stop_after_step();
  sv.request_stop();
}

TEMPLATE_TEST_CASE("supervisor: allows the destruction of its event loop during the start",
                   "[train]", leat_test::asio_loop, leat_test::embedded_loop) {
  const temp_dir dir;
  learner l;
  supervisor sv(l.options(dir / "run"));
  leat::task_group group;
  TestType loop;
  group.spawn_on(loop.get_scheduler(), sv.managed([]() -> task<> { co_await leat::sleep_for(1h); }),
                 "job");
  const int turns = GENERATE(0, 1, 2, 3, 5, 8);
  for (int i = 0; i < turns; ++i) loop.run_one_turn();
  loop.end();
  CHECK(leat_test::is_cancelled(group));
}

TEMPLATE_TEST_CASE("monitored_session: may outlive its event loop", "[train]", leat_test::asio_loop,
                   leat_test::embedded_loop) {
  const temp_dir dir;
  learner l;
  leat::monitored_session_options options;
  options.supervised = l.options(dir / "run");
  const bool managed = GENERATE(true, false);
  leat::monitored_session m(std::move(options));
  leat::task_group group;
  {
    TestType loop;
    const auto step = [&l](leat::run_context&) -> task<> {
      co_await leat::sleep_for(1ms);
      l.learn();
    };
    const auto by_hand = [&]() -> task<> {
      co_await m.open();
      while (!m.should_stop()) co_await m.run(step);
    };
    const auto body = [&]() -> task<> {
      while (!m.should_stop()) co_await m.run(step);
    };
    group.spawn_on(loop.get_scheduler(), managed ? m.managed(body) : by_hand(), "job");
    run_until_learned(loop, l);
    loop.end();
  }
  CHECK(leat_test::is_cancelled(group));
  m.request_stop();
}

}  // namespace supervisor_end_test
