// Supervised jobs whose event loop is destroyed before they have stopped.

#include <chrono>
#include <string>
#include <thread>

#include "leat/core/sleep.hpp"
#include "leat/core/sync_wait.hpp"
#include "leat/core/task_group.hpp"
#include "leat/train/monitored_session.hpp"
#include "leat/train/supervisor.hpp"
#include "support/loops.hpp"
#include "support/temp_dir.hpp"
#include "train/supervised.hpp"

namespace supervisor_end_test {

using namespace std::chrono_literals;
using leat::supervisor;
using leat::task;
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

TEMPLATE_TEST_CASE("supervisor: its event loop may be destroyed, and the next job goes on",
                   "[train]", leat_test::asio_loop, leat_test::embedded_loop) {
  const temp_dir dir;
  const std::string logdir = dir / "run";
  {
    learner l;
    leat::task_group group;
    TestType loop;
    group.spawn_on(loop.home(), learn_on(l, logdir), "job");
    for (int i = 0; i < 20'000 && l.step < 6; ++i) {
      loop.run_ready();
      std::this_thread::sleep_for(200us);
    }
    REQUIRE(l.step >= 6);
    loop.end();
    CHECK_THROWS_AS(group.wait_join(), leat::failure);
  }
  learner l;
  leat::sync_wait([](learner& next, std::string where) -> task<> {
    supervisor sv(next.options(std::move(where)));
    co_await sv.managed([]() -> task<> { co_return; });
  }(l, logdir));
  CHECK(l.step == 3);
}

}  // namespace supervisor_end_test
