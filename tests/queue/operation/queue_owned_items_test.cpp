// A push of many items that the operation owns.

#include "leat/queue/detail/owned_items.hpp"

#include "queue/operation/queue_tasks.hpp"
#include "support/leat_test.hpp"

namespace queue_owned_items_test {

LEAT_TYPED_LIST_TEST("queue: push_many and try_push_many accept a list in braces", all_queues) {
  auto q = TestType::make(4);
  const std::size_t count = co_await q.push_many({3, 1, 2});
  CHECK(count == 3);
  CHECK(q.try_push_many({5, 6}) == 1);
  const auto all = co_await q.pop_many(4);
  CHECK(sorted(all) == std::vector<int>{1, 2, 3, 5});
}

LEAT_TEST("queue: push_many and try_push_many copy a const range and move a vector") {
  leat::fifo_queue<std::string> q(8);
  const std::vector<std::string> constant{"a", "b"};
  CHECK(q.try_push_many(constant) == 2);
  CHECK(co_await q.push_many(constant) == 2);
  CHECK(constant == std::vector<std::string>{"a", "b"});
  std::vector<std::string> mine{"c", "d"};
  CHECK(q.try_push_many(mine) == 2);  // moved from
  CHECK(mine[0].empty());
  CHECK(co_await q.push_many(std::vector<std::string>(2, "e")) == 2);
  std::string all;
  while (const auto item = q.try_pop()) all += *item;
  CHECK(all == "ababcdee");
}

LEAT_TEST("queue: push_many of a list waits, and accepts move-only items") {
  leat::fifo_queue<std::unique_ptr<int>> q(1);
  task_group group;
  group.spawn([](auto& to) -> task<> {
    co_await to.push_many({std::make_unique<int>(1), std::make_unique<int>(2)});
    to.close();
  }(q));
  int sum = 0;
  while (const auto item = co_await q.pop()) sum += **item;
  CHECK(sum == 3);
  co_await group.join();
}

TEST_CASE("queue: an array is a range even if arrays convert to an item") {
  leat::fifo_queue<bool> q(4);
  bool items[] = {false, true, false};
  CHECK(q.try_push_many(items) == 3);
}

TEST_CASE("random_shuffle_queue: can be constructed from a capacity alone") {
  leat::random_shuffle_queue<int> q(4);
  CHECK(q.capacity() == 4);
  leat::random_shuffle_queue<int> named(4, "mixed");
  CHECK(named.name() == "mixed");
}

}  // namespace queue_owned_items_test
