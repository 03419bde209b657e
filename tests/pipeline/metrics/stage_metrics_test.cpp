#include "leat/pipeline/metrics/stage_metrics.hpp"

#include "leat/async/sleep.hpp"
#include "leat/async/this_task.hpp"
#include "leat/queue/fifo_queue.hpp"
#include "support/leat_test.hpp"

namespace stage_metrics_test {

using namespace std::chrono_literals;
using leat::at_work;
using leat::stage_metrics;
using leat::task;
using leat::waiting;

// Waits for an item, in vain once the queue is closed.
task<> wait_for_input(stage_metrics& stage, leat::fifo_queue<int>& queue) {
  leat::scheduler& sched = co_await leat::this_task::get_scheduler();
  const at_work here(stage, sched);
  waiting w(stage, sched, waiting::for_input);
  co_await queue.pop();
  w.stop();
  co_await leat::sleep_for(5s);
}

LEAT_TEST("stage_metrics: counts what goes through and how long it waits", "[pipeline]") {
  leat::scheduler& sched = co_await leat::this_task::get_scheduler();
  stage_metrics stage("reader");
  stage.add_task();
  stage.add(3, 100);
  stage.add(2, 50);
  CHECK(stage.name() == "reader");
  CHECK(stage.tasks() == 1);
  CHECK(stage.records() == 5);
  CHECK(stage.bytes() == 150);
  {
    waiting input(stage, sched, waiting::for_input);
    co_await leat::sleep_for(2s);
    input.stop();
    co_await leat::sleep_for(1s);
    input.stop();  // once is enough
    const waiting room(stage, sched, waiting::for_room);
    co_await leat::sleep_for(3s);
  }
  stage.add_wait_for_room(1s);
  CHECK((stage.waited_for_input() == 2s));
  CHECK((stage.waited_for_room() == 4s));
  CHECK((stage.time_at_work() == 0s));
}

LEAT_TEST("stage_metrics: a wait that lasts is told by who knows the time", "[pipeline]") {
  leat::scheduler& sched = co_await leat::this_task::get_scheduler();
  stage_metrics stage("reader");
  leat::fifo_queue<int> queue(1);
  leat::task_group group;
  for (int i = 0; i < 3; ++i) group.spawn(wait_for_input(stage, queue));
  co_await leat::sleep_for(4s);
  CHECK((stage.waited_for_input() == 0s));
  CHECK((stage.waited_for_input(sched.now()) == 12s));
  CHECK((stage.time_at_work(sched.now()) == 12s));
  queue.close();
  co_await group.join();
  CHECK((stage.waited_for_input() == 12s));
  CHECK((stage.waited_for_input(sched.now()) == 12s));
  CHECK((stage.time_at_work() == 27s));
}

LEAT_TEST("stage_metrics: a wait that is cancelled has ended", "[pipeline]") {
  leat::scheduler& sched = co_await leat::this_task::get_scheduler();
  stage_metrics stage("reader");
  leat::fifo_queue<int> queue(1);
  leat::task_group group;
  group.spawn(wait_for_input(stage, queue));
  co_await leat::sleep_for(4s);
  group.request_stop();
  co_await group.join();
  co_await leat::sleep_for(4s);
  CHECK((stage.waited_for_input(sched.now()) == 4s));
  CHECK((stage.time_at_work(sched.now()) == 4s));
}

}  // namespace stage_metrics_test
