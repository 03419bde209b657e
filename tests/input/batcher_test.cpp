#include "leat/input/batcher.hpp"

#include <algorithm>
#include <source_location>
#include <thread>

#include "leat/input/range_input_producer.hpp"
#include "support/leat_test.hpp"

namespace batcher_test {

struct counter {
  int limit;
  int next = 0;

  template <class Queue>
  task<bool> step(Queue& queue) {
    if (next == limit) co_return false;
    const bool in = co_await queue.push(int{next});
    ++next;
    co_return in;
  }
};

template <class Batcher>
task<std::vector<std::vector<int>>> batches_of(Batcher& b) {
  std::vector<std::vector<int>> all;
  while (auto batch = co_await b.next()) all.push_back(std::move(*batch));
  co_return all;
}

// Runs the sources to their end.
template <class Batcher>
task<std::vector<std::vector<int>>> run_to_end(Batcher& b) {
  leat::coordinator coord;
  b.start(coord);
  auto all = co_await batches_of(b);
  co_await coord.join();
  co_return all;
}

LEAT_TEST("batcher: items in order, the last batch may be smaller") {
  leat::batcher<int> b({.batch_size = 4, .capacity = 3});
  counter c{10};
  b.add([&] { return c.step(b.queue()); });
  const auto all = co_await run_to_end(b);
  CHECK(all == std::vector<std::vector<int>>{{0, 1, 2, 3}, {4, 5, 6, 7}, {8, 9}});
  CHECK(b.dropped() == 0);
}

LEAT_TEST("batcher: counts the items that it drops at the end") {
  leat::batcher<int> b({.batch_size = 4, .remainder = leat::batch_remainder::drop});
  counter c{10};
  b.add([&] { return c.step(b.queue()); });
  const auto all = co_await run_to_end(b);
  CHECK(all.size() == 2);
  CHECK(b.dropped() == 2);
}

LEAT_TEST("shuffle_batcher: every item once, not in order, from several operations") {
  leat::shuffle_batcher<int> b(
      {.batch_size = 8, .capacity = 32, .min_after_dequeue = 16, .seed = 1});
  std::vector<counter> counters(3, counter{100});
  for (auto& c : counters) b.add([&b, &c] { return c.step(b.queue()); });
  const auto batches = co_await run_to_end(b);
  std::vector<int> all;
  for (const auto& batch : batches) all.insert(all.end(), batch.begin(), batch.end());
  CHECK_FALSE(std::is_sorted(all.begin(), all.end()));
  std::sort(all.begin(), all.end());
  REQUIRE(all.size() == 300);
  for (std::size_t i = 0; i < 300; ++i) REQUIRE(all[i] == static_cast<int>(i / 3));
}

TEST_CASE("batcher: a thread that blocks in next() respects its limit") {
  for (const leat::batch_remainder remainder :
       {leat::batch_remainder::keep, leat::batch_remainder::drop}) {
    leat::batcher<int> b({.batch_size = 2, .remainder = remainder});
    CHECK(leat::block_on(b.queue().push(1)));
    CHECK_THROWS_AS(leat::block_on(b.next(), 1ms), leat::failure);
    CHECK(b.queue().size() == 1);
    CHECK(leat::block_on(b.queue().push(2)));
    CHECK(leat::block_on(b.next(), 24h) == std::vector<int>{1, 2});
  }
}

TEST_CASE("shuffle_batcher: refuses invalid options") {
  CHECK_THROWS_AS(leat::shuffle_batcher<int>({.batch_size = 0, .capacity = 4}), leat::failure);
  CHECK_THROWS_AS(
      leat::shuffle_batcher<int>({.batch_size = 2, .capacity = 4, .min_after_dequeue = 4}),
      leat::failure);
  CHECK_THROWS_AS(leat::batcher<int>({.batch_size = 2, .capacity = 0}), leat::failure);
}

// Moves the next element of a producer's queue.
task<bool> forward(leat::range_input_producer& from, leat::fifo_queue<int>& into) {
  const auto number = co_await from.queue().pop();
  if (!number) co_return false;
  co_return co_await into.push(static_cast<int>(*number));
}

LEAT_TEST("batcher: names a producer that was never started after 60 s") {
  leat::batcher<int> b({.batch_size = 2, .name = "pairs"});
  leat::range_input_producer numbers(4, {.num_epochs = 1, .shuffle = false, .name = "numbers"});
  b.add([&] { return forward(numbers, b.queue()); });
  leat::coordinator coord;
  b.start(coord);
  leat::scheduler& sched = leat::this_task::get_scheduler();
  const leat::time_point begin = sched.now();
  const std::string said = co_await message_of(b.next(), errc::deadline_exceeded);
  INFO(said);
  CHECK(contains(said, "batcher 'pairs': no batch for 60"));
  CHECK(contains(said, "call start(coordinator) of producer 'numbers'"));
  CHECK(sched.now() - begin == std::chrono::seconds(60));
  numbers.start(coord);
  const std::vector<std::vector<int>> expected{{0, 1}, {2, 3}};
  CHECK(co_await batches_of(b) == expected);
  co_await coord.join();
}

LEAT_TEST("batcher: next() fails after 60 s if start() was never called") {
  leat::batcher<int> b({.batch_size = 2, .name = "pairs"});
  leat::range_input_producer numbers(4, {.num_epochs = 1, .shuffle = false, .name = "numbers"});
  b.add([&] { return forward(numbers, b.queue()); });
  const std::string said = co_await message_of(b.next(), errc::deadline_exceeded);
  CHECK(contains(said, "batcher 'pairs': no batch for 60 s"));
  CHECK(contains(said, "the queue has 0 of the 2 required elements: start() was never called"));
}

LEAT_TEST("batcher: start_patience replaces the 60 s") {
  leat::batcher<int> b({.batch_size = 2, .name = "pairs", .start_patience = 1500ms});
  leat::range_input_producer numbers(4, {.num_epochs = 1});
  b.add([&] { return forward(numbers, b.queue()); });
  CHECK(contains(co_await message_of(b.next(), errc::deadline_exceeded), "no batch for 1.5 s"));
}

TEST_CASE("batcher: rejects a start_patience of 0") {
  CHECK_FAILS(errc::invalid_argument, "patience must be above 0",
              leat::batcher<int>({.batch_size = 1, .start_patience = 0s}));
}

LEAT_TEST("batcher: a started source may take longer than 60 s") {
  leat::batcher<int> b({.batch_size = 2});
  leat::range_input_producer unused(4, {.num_epochs = 1, .shuffle = false, .name = "unused"});
  counter c{2};
  b.add([&]() -> task<bool> {
    co_await leat::sleep_for(std::chrono::seconds(100));
    co_return co_await c.step(b.queue());
  });
  const auto all = co_await run_to_end(b);
  CHECK(all == std::vector<std::vector<int>>{{0, 1}});
}

}  // namespace batcher_test
