#include "leat/queue/random_shuffle_queue.hpp"

#include <numeric>

#include "support/leat_test.hpp"

namespace random_shuffle_queue_test {

std::vector<int> drawn(std::uint64_t seed) {
  leat::random_shuffle_queue<int> q({.capacity = 10, .min_after_dequeue = 5, .seed = seed});
  std::vector<int> items(10);
  std::iota(items.begin(), items.end(), 0);
  leat::block_on(q.push_many(items));
  return *leat::block_on(q.pop_many(5));
}

task<> pop_one(leat::random_shuffle_queue<int>& q, bool& done) {
  co_await q.pop();
  done = true;
}

TEST_CASE("random_shuffle_queue: rejects options without a capacity") {
  CHECK_THROWS_WITH(leat::random_shuffle_queue<int>({.seed = 1}),
                    Catch::Contains("capacity is 0: use 1 or more"));
  leat::random_shuffle_queue<int> q({.capacity = 1, .seed = 1});  // no minimum size
  CHECK(q.statistics().min_after_dequeue == 0);
  CHECK(q.try_push(1));
  CHECK(q.try_pop() == 1);
}

// Returns the order of five items that are popped after a first one. The pop of the first item
// waits for it or finds it in the queue.
task<std::vector<int>> drawn_after_the_first(bool pop_waits) {
  leat::random_shuffle_queue<int> q({.capacity = 10, .seed = 3});
  bool done = false;
  task_group g;
  if (pop_waits) g.spawn(pop_one(q, done));
  co_await leat::this_task::yield();
  co_await q.push(0);
  if (!pop_waits) g.spawn(pop_one(q, done));
  co_await g.join();
  std::vector<int> items{1, 2, 3, 4, 5};
  co_await q.push_many(items);
  co_return *co_await q.pop_many(5);
}

LEAT_TEST("random_shuffle_queue: the order does not depend on waiting operations") {
  const auto waited = co_await drawn_after_the_first(true);
  const auto found = co_await drawn_after_the_first(false);
  CHECK(waited == found);
}

TEST_CASE("random_shuffle_queue: a seed determines the order") {
  CHECK(drawn(1) == drawn(1));
  CHECK(drawn(1) != drawn(2));
  CHECK(drawn(1) == std::vector<int>{5, 6, 7, 3, 2});  // on every compiler and platform
}

}  // namespace random_shuffle_queue_test
