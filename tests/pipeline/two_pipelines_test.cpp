// Several concurrent pipelines, such as training and evaluation, with or without a common
// coordinator.

#include <map>

#include "leat/coordination/coordinator.hpp"
#include "leat/input/range_input_producer.hpp"
#include "leat/input/tensor_batcher.hpp"
#include "pipeline/batching.hpp"
#include "support/leat_test.hpp"

namespace two_pipelines_test {

using namespace batching;
using leat::coordinator;

struct numbers_from {
  leat::range_input_producer* producer;

  task<element> operator()() {
    const std::optional<std::int32_t> n = co_await producer->queue().pop();
    if (!n) co_return std::nullopt;
    co_return one(*n);
  }
};

// A pipeline of the numbers below `limit` in each epoch, in batches of eight, and its results.
struct number_pipeline {
  number_pipeline(std::int64_t limit, std::int64_t epochs, std::string name)
      : producer(limit, {.num_epochs = epochs, .seed = 5, .capacity = 4}),
        batcher(number_spec(), {.batch_size = 8, .capacity = 8, .name = std::move(name)}) {
    batcher.add(numbers_from{&producer});
  }

  void start(coordinator& coord) {
    producer.start(coord);
    batcher.start(coord);
  }

  // Returns false at the end.
  task<bool> take_batch() {
    const std::optional<column_batch> batch = co_await batcher.next();
    if (!batch) co_return false;
    const auto values = (*batch)[0].values<std::int64_t>();
    seen.insert(seen.end(), values.begin(), values.end());
    co_return true;
  }

  leat::range_input_producer producer;
  leat::tensor_batcher batcher;
  numbers seen;
};

void check_each_came(const number_pipeline& p, std::int64_t limit, int times) {
  std::map<std::int64_t, int> expected;
  for (std::int64_t i = 0; i < limit; ++i) expected[i] = times;
  CHECK(counted(p.seen) == expected);
}

// Alternates between batches of both until the evaluation ends, long before the training.
task<> take_turns(number_pipeline& training, number_pipeline& evaluation) {
  for (bool more = true; more;) {
    more = co_await evaluation.take_batch();
    const bool more_to_learn = co_await training.take_batch();
    REQUIRE(more_to_learn);
  }
  check_each_came(evaluation, 20, 1);
  CHECK(training.seen.size() == 4 * 8);
}

task<> take_the_rest(number_pipeline& training) {
  for (bool more = true; more;) more = co_await training.take_batch();
  check_each_came(training, 50, 2);
}

LEAT_TEST("two pipelines: each ends independently under one coordinator", "[pipeline]") {
  coordinator coord;
  number_pipeline training(50, 2, "training");
  number_pipeline evaluation(20, 1, "evaluation");
  training.start(coord);
  evaluation.start(coord);
  co_await take_turns(training, evaluation);
  CHECK_FALSE(coord.should_stop());
  CHECK(coord.live_tasks() > 0);
  co_await take_the_rest(training);
  CHECK_FALSE(coord.should_stop());
  co_await coord.join();
  CHECK_FALSE(coord.should_stop());
}

LEAT_TEST("two pipelines: under separate coordinators, one is joined before the other ends",
          "[pipeline]") {
  coordinator of_training;
  coordinator of_evaluation;
  number_pipeline training(50, 2, "training");
  number_pipeline evaluation(20, 1, "evaluation");
  training.start(of_training);
  evaluation.start(of_evaluation);
  co_await take_turns(training, evaluation);
  of_evaluation.request_stop();
  co_await of_evaluation.join();
  CHECK(of_evaluation.live_tasks() == 0);
  CHECK_FALSE(of_training.should_stop());
  CHECK(of_training.live_tasks() > 0);
  co_await take_the_rest(training);
  co_await of_training.join();
}

}  // namespace two_pipelines_test
