// An independent program parses the complete text: tests/oracle/prometheus_text.py.

#include "leat/pipeline/metrics/prometheus_text.hpp"

#include "leat/queue/fifo_queue.hpp"
#include "leat/queue/random_shuffle_queue.hpp"
#include "support/leat_test.hpp"

namespace prometheus_text_test {

using leat::prometheus_text;
using leat::queue_base;
using leat::stage_metrics;

struct by_value {
  std::size_t operator()(int i) const { return static_cast<std::size_t>(i); }
};

std::string text_of(const stage_metrics& stage, std::optional<leat::time_point> now = {}) {
  const stage_metrics* const stages[] = {&stage};
  return prometheus_text(stages, {}, now);
}

std::string text_of(const queue_base& queue) {
  const queue_base* const queues[] = {&queue};
  return prometheus_text({}, queues);
}

task<> wait_long(stage_metrics& stage) {
  leat::scheduler& sched = leat::this_task::get_scheduler();
  const leat::stage_wait_timer w(stage, sched, leat::stage_wait_timer::for_output);
  co_await leat::sleep_for(1h);
}

task<> pop_many(leat::fifo_queue<int>& queue, std::size_t count) { co_await queue.pop_many(count); }

TEST_CASE("prometheus_text: without metrics the text is empty", "[pipeline]") {
  CHECK(prometheus_text({}, {}).empty());
}

TEST_CASE("prometheus_text: writes the metrics of a stage", "[pipeline]") {
  stage_metrics stage("readers");
  stage.add_task();
  stage.add_task();
  stage.add(12, 3456);
  stage.add_left_over(7);
  stage.add_input_wait(1s + 1ns);
  stage.add_output_wait(90min);
  CHECK(text_of(stage) ==
        "# HELP leat_stage_tasks Tasks that share the work of the stage.\n"
        "# TYPE leat_stage_tasks gauge\n"
        "leat_stage_tasks{stage=\"readers\"} 2\n"
        "# HELP leat_stage_records_total Records that passed through the stage.\n"
        "# TYPE leat_stage_records_total counter\n"
        "leat_stage_records_total{stage=\"readers\"} 12\n"
        "# HELP leat_stage_bytes_total Bytes of these records.\n"
        "# TYPE leat_stage_bytes_total counter\n"
        "leat_stage_bytes_total{stage=\"readers\"} 3456\n"
        "# HELP leat_stage_left_over_bytes_total Bytes of incomplete records at the ends of files, "
        "which were skipped.\n"
        "# TYPE leat_stage_left_over_bytes_total counter\n"
        "leat_stage_left_over_bytes_total{stage=\"readers\"} 7\n"
        "# HELP leat_stage_input_wait_seconds_total Time during which tasks of the stage waited "
        "for input; the sum over all tasks.\n"
        "# TYPE leat_stage_input_wait_seconds_total counter\n"
        "leat_stage_input_wait_seconds_total{stage=\"readers\"} 1.000000001\n"
        "# HELP leat_stage_room_wait_seconds_total Time during which tasks of the stage waited for "
        "free capacity in their output; the sum over all tasks.\n"
        "# TYPE leat_stage_room_wait_seconds_total counter\n"
        "leat_stage_room_wait_seconds_total{stage=\"readers\"} 5400.000000000\n");
}

TEST_CASE("prometheus_text: omits metrics that a stage does not measure", "[pipeline]") {
  stage_metrics stage("parse");
  stage.add(12);
  std::string text = text_of(stage);
  CHECK(contains(text, "leat_stage_records_total{stage=\"parse\"} 12\n"));
  for (const char* const name : {"bytes_total", "at_work", "room_wait", "held", "fullness"}) {
    CHECK_FALSE(contains(text, std::string("leat_stage_") + name));
  }
  stage.add(1, 0);
  stage.add_output_wait(0s);
  stage.set_capacity(4);
  stage.add_held(1);
  text = text_of(stage);
  CHECK(contains(text, "leat_stage_bytes_total{stage=\"parse\"} 0\n"));
  CHECK(contains(text, "leat_stage_room_wait_seconds_total{stage=\"parse\"} 0.000000000\n"));
  CHECK(contains(text, "leat_stage_held_items{stage=\"parse\"} 1\n"));
  CHECK(contains(text, "leat_stage_fullness_ratio{stage=\"parse\"} 0.25\n"));
}

LEAT_TEST("prometheus_text: counts waits in progress up to now", "[pipeline]") {
  leat::scheduler& sched = leat::this_task::get_scheduler();
  stage_metrics stage("readers");
  leat::task_group group;
  group.spawn(wait_long(stage));
  co_await leat::sleep_for(10min);
  const std::string before = text_of(stage);
  const std::string now = text_of(stage, sched.now());
  CHECK(contains(before, "leat_stage_room_wait_seconds_total{stage=\"readers\"} 0.000000000\n"));
  CHECK(contains(now, "leat_stage_room_wait_seconds_total{stage=\"readers\"} 600.000000000\n"));
  group.request_stop();
  co_await group.join();
}

TEST_CASE("prometheus_text: writes the metrics of a queue with its fill level", "[pipeline]") {
  leat::random_shuffle_queue<int> queue(
      {.capacity = 32, .min_after_dequeue = 10, .seed = 1, .name = "shuffle_batch"});
  for (int i = 0; i < 22; ++i) REQUIRE(queue.try_push(int{i}));
  REQUIRE(queue.try_pop());
  const std::string text = text_of(queue);
  const auto line = [&](const std::string& name, const std::string& value) {
    return contains(text, "\nleat_queue_" + name + "{queue=\"shuffle_batch\"} " + value + "\n");
  };
  CHECK(line("items", "21"));
  CHECK(line("capacity_items", "32"));
  CHECK(line("min_items", "10"));
  CHECK(line("peak_items", "22"));
  CHECK(line("fullness_ratio", "0.5"));
  CHECK(line("closed", "0"));
  CHECK(line("pushed_items_total", "22"));
  CHECK(line("taken_items_total", "1"));
  CHECK_FALSE(contains(text, "weight"));
  queue.close();
  CHECK(contains(text_of(queue), "leat_queue_closed{queue=\"shuffle_batch\"} 1\n"));
}

TEST_CASE("prometheus_text: writes a missing limit as infinite", "[pipeline]") {
  leat::fifo_queue<int, by_value> queue({.capacity = leat::unbounded, .name = "q"});
  REQUIRE(queue.try_push(7));
  const std::string text = text_of(queue);
  CHECK(contains(text, "leat_queue_capacity_items{queue=\"q\"} +Inf\n"));
  CHECK(contains(text, "leat_queue_max_weight{queue=\"q\"} +Inf\n"));
  CHECK(contains(text, "leat_queue_weight{queue=\"q\"} 7\n"));
}

LEAT_TEST("prometheus_text: the count of removed items never falls, even if a batch returns items",
          "[pipeline]") {
  leat::fifo_queue<int> queue(8, "q");
  leat::task_group group;
  for (int i = 0; i < 3; ++i) REQUIRE(queue.try_push(int{i}));
  group.spawn(pop_many(queue, 5));
  co_await leat::this_task::yield();
  const std::string held = text_of(queue);
  CHECK(contains(held, "leat_queue_taken_items_total{queue=\"q\"} 3\n"));
  group.request_stop();
  co_await group.join();
  const std::string given_back = text_of(queue);
  CHECK(contains(given_back, "leat_queue_items{queue=\"q\"} 3\n"));
  CHECK(contains(given_back, "leat_queue_taken_items_total{queue=\"q\"} 3\n"));
  CHECK(contains(given_back, "leat_queue_returned_items_total{queue=\"q\"} 3\n"));
}

TEST_CASE("prometheus_text: escapes names in labels", "[pipeline]") {
  const stage_metrics odd("a\\b\"c\nd");
  CHECK(contains(text_of(odd), "leat_stage_tasks{stage=\"a\\\\b\\\"c\\nd\"} 0\n"));
  const stage_metrics accented(
      "stra\xC3\x9F"
      "e");
  CHECK(contains(text_of(accented),
                 "{stage=\"stra\xC3\x9F"
                 "e\"} 0\n"));
  const stage_metrics no_text("\xFFx\xC3");
  CHECK(contains(text_of(no_text), "{stage=\"?x?\"} 0\n"));

  const stage_metrics a("a");
  const stage_metrics b("a");
  const stage_metrics c("a#2");
  const stage_metrics* const stages[] = {&a, &b, &c};
  const std::string text = prometheus_text(stages, {});
  CHECK(contains(text,
                 "leat_stage_tasks{stage=\"a\"} 0\nleat_stage_tasks{stage=\"a#2\"} 0\n"
                 "leat_stage_tasks{stage=\"a#2#2\"} 0\n"));
}

}  // namespace prometheus_text_test
