#include "leat/train/summary/stage_rates.hpp"

#include <cmath>
#include <map>

#include "leat/queue/fifo_queue.hpp"
#include "leat/train/summary/add_fullness.hpp"
#include "leat/train/summary/step_rate.hpp"
#include "support/leat_test.hpp"

namespace stage_rates_test {

using leat::stage_metrics;
using leat::summary;

std::map<std::string, float> values_of(const summary& s) {
  std::map<std::string, float> values;
  for (const leat::summary_value& v : s.values) values[v.tag] = std::get<float>(v.value);
  return values;
}

TEST_CASE("step_rate: steps per second since the last sample [33]", "[train]") {
  const leat::time_point begin{};
  leat::step_rate rate(begin, 100);
  CHECK(rate.sample(begin + 120s, 340) == summary().add_scalar("global_step/sec", 2));
  CHECK(rate.sample(begin + 130s, 340) == summary().add_scalar("global_step/sec", 0));
  CHECK(rate.sample(begin + 140s, 330) == summary().add_scalar("global_step/sec", -1));
  const float at_once = values_of(rate.sample(begin + 140s, 400)).at("global_step/sec");
  CHECK(std::isinf(at_once));
}

TEST_CASE("step_rate: the tag contains the name of the step [34]", "[train]") {
  leat::step_rate rate(leat::time_point{}, 0, "bar/foo");
  CHECK(rate.sample(leat::time_point{} + 1s, 5) == summary().add_scalar("bar/foo/sec", 5));
}

TEST_CASE("add_fullness: adds each queue under its tag", "[train]") {
  leat::fifo_queue<int> half(4, "half");
  CHECK(half.try_push(1));
  CHECK(half.try_push(2));
  const leat::fifo_queue<int> empty(8, "empty");
  const leat::queue_base* const queues[] = {&half, &empty};
  summary s;
  leat::add_fullness(s, queues);
  CHECK(s == summary()
                 .add_scalar("half/fraction_of_4_full", 0.5)
                 .add_scalar("empty/fraction_of_8_full", 0));
}

LEAT_TEST("stage_rates: records and waits since the last sample", "[train]") {
  leat::scheduler& sched = leat::this_task::get_scheduler();
  stage_metrics stage("decode");
  stage.add_task();
  stage.add_task();
  stage.add(1000, 1'000'000);  // before it began
  const stage_metrics* const stages[] = {&stage};
  leat::stage_rates rates(stages, sched.now());

  stage.add(50, 5000);
  leat::stage_wait_timer input(stage, sched, leat::stage_wait_timer::for_input);
  co_await leat::sleep_for(5s);
  input.stop();
  leat::stage_wait_timer room(stage, sched, leat::stage_wait_timer::for_output);  // lasts
  co_await leat::sleep_for(5s);
  auto values = values_of(rates.sample(sched.now()));
  CHECK(values.at("decode/records_per_second") == 5);
  CHECK(values.at("decode/bytes_per_second") == 500);
  CHECK(values.at("decode/waiting_for_input") == 0.25F);  // one of two tasks, half of the time
  CHECK(values.at("decode/waiting_for_room") == 0.25F);

  values = values_of(rates.sample(sched.now()));  // no time has passed
  for (const auto& [tag, value] : values) CHECK(value == 0);
  CHECK(values.size() == 4);

  co_await leat::sleep_for(2s);
  room.stop();
  values = values_of(rates.sample(sched.now()));
  CHECK(values.at("decode/records_per_second") == 0);
  CHECK(values.at("decode/waiting_for_room") == 0.5F);
  CHECK(values.at("decode/waiting_for_input") == 0);
}

TEST_CASE("stage_rates: numbers the second of two stages with the same name", "[train]") {
  stage_metrics a("consumer");
  stage_metrics b("consumer");
  const stage_metrics* const stages[] = {&a, &b};
  leat::stage_rates rates(stages, leat::time_point{});
  a.add(10, 0);
  b.add(20, 0);
  const auto values = values_of(rates.sample(leat::time_point{} + 10s));
  CHECK(values.size() == 8);
  CHECK(values.at("consumer/records_per_second") == 1);
  CHECK(values.at("consumer#2/records_per_second") == 2);
}

}  // namespace stage_rates_test
