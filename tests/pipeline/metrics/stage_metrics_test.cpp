#include "leat/pipeline/metrics/stage_metrics.hpp"

#include "leat/queue/fifo_queue.hpp"
#include "support/leat_test.hpp"

namespace stage_metrics_test {

using leat::stage_metrics;
using leat::stage_wait_timer;
using leat::stage_work_timer;

// Waits for an item, or for the queue to be closed.
task<> wait_for_input(stage_metrics& stage, leat::fifo_queue<int>& queue) {
  leat::scheduler& sched = leat::this_task::get_scheduler();
  const stage_work_timer here(stage, sched);
  stage_wait_timer w(stage, sched, stage_wait_timer::for_input);
  co_await queue.pop();
  w.stop();
  co_await leat::sleep_for(5s);
}

LEAT_TEST("stage_metrics: counts records, bytes and waiting times", "[pipeline]") {
  leat::scheduler& sched = leat::this_task::get_scheduler();
  stage_metrics stage("reader");
  stage.add_task();
  stage.add(3, 100);
  stage.add(2, 50);
  CHECK(stage.name() == "reader");
  CHECK(stage.tasks() == 1);
  CHECK(stage.records() == 5);
  CHECK(stage.bytes() == 150);
  {
    stage_wait_timer input(stage, sched, stage_wait_timer::for_input);
    co_await leat::sleep_for(2s);
    input.stop();
    co_await leat::sleep_for(1s);
    input.stop();  // a second call has no effect
    const stage_wait_timer room(stage, sched, stage_wait_timer::for_output);
    co_await leat::sleep_for(3s);
  }
  stage.add_output_wait(1s);
  CHECK((stage.waited_for_input() == 2s));
  CHECK((stage.waited_for_output() == 4s));
  CHECK((stage.work_time() == 0s));
}

LEAT_TEST("stage_metrics: counts a wait in progress if the current time is passed", "[pipeline]") {
  leat::scheduler& sched = leat::this_task::get_scheduler();
  stage_metrics stage("reader");
  leat::fifo_queue<int> queue(1);
  leat::task_group group;
  for (int i = 0; i < 3; ++i) group.spawn(wait_for_input(stage, queue));
  co_await leat::sleep_for(4s);
  CHECK((stage.waited_for_input() == 0s));
  CHECK((stage.waited_for_input(sched.now()) == 12s));
  CHECK((stage.work_time(sched.now()) == 12s));
  queue.close();
  co_await group.join();
  CHECK((stage.waited_for_input() == 12s));
  CHECK((stage.waited_for_input(sched.now()) == 12s));
  CHECK((stage.work_time() == 27s));
}

LEAT_TEST("stage_metrics: a cancelled wait ends the measurement", "[pipeline]") {
  leat::scheduler& sched = leat::this_task::get_scheduler();
  stage_metrics stage("reader");
  leat::fifo_queue<int> queue(1);
  leat::task_group group;
  group.spawn(wait_for_input(stage, queue));
  co_await leat::sleep_for(4s);
  group.request_stop();
  co_await group.join();
  co_await leat::sleep_for(4s);
  CHECK((stage.waited_for_input(sched.now()) == 4s));
  CHECK((stage.work_time(sched.now()) == 4s));
}

}  // namespace stage_metrics_test
