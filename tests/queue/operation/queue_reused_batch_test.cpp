// A batch in the memory of an earlier one.

#include <thread>

#include "queue/operation/queue_tasks.hpp"
#include "queue/weight/weighed_queues.hpp"
#include "support/leat_test.hpp"

namespace queue_reused_batch_test {

// A vector that has items already, and more capacity than a batch needs.
std::vector<int> used_memory() {
  std::vector<int> memory{-1, -2, -3};
  memory.reserve(8);
  return memory;
}

template <class Queue>
task<> pop_into(Queue& q, std::size_t count, std::vector<int>& memory, outcome& o) {
  const int* const place = memory.data();
  try {
    auto batch = co_await q.pop_many(count, std::move(memory));
    o.empty = !batch;
    if (batch) {
      o.accepted = batch->data() == place;  // the same memory
      o.items = *batch;
      memory = std::move(*batch);
    }
  } catch (const leat::failure& e) {
    o.cancelled = e.code() == errc::cancelled;
  }
  o.ended = true;
}

LEAT_TYPED_LIST_TEST("queue: a batch in reused memory has the new items only", all_queues) {
  auto q = TestType::make(8);
  co_await q.push_many({1, 2, 3, 4, 5, 6});
  std::vector<int> memory = used_memory();
  const int* const place = memory.data();
  auto first = co_await q.pop_many(4, std::move(memory));
  REQUIRE(first);
  CHECK(first->size() == 4);
  CHECK(first->data() == place);
  std::vector<int> all = *first;
  q.close();
  auto rest = co_await q.pop_up_to(4, std::move(*first));
  REQUIRE(rest);
  CHECK(rest->size() == 2);
  CHECK(rest->data() == place);
  all.insert(all.end(), rest->begin(), rest->end());
  CHECK(sorted(all) == std::vector<int>{1, 2, 3, 4, 5, 6});
  CHECK_FALSE(co_await q.pop_up_to(4, std::move(*rest)));
}

LEAT_TYPED_LIST_TEST("queue: a batch that waits reuses memory, and grows it if needed",
                     all_queues) {
  auto q = TestType::make(16);
  std::vector<int> memory = used_memory();
  outcome small;
  task_group group;
  group.spawn(pop_into(q, 4, memory, small));
  co_await settle();
  for (int i = 0; i < 4; ++i) co_await q.push(i);
  co_await group.join();
  CHECK(small.accepted);
  CHECK(sorted(small.items) == numbers(4));
  co_await q.push_many(numbers(10));
  outcome large;
  co_await pop_into(q, 10, memory, large);
  CHECK_FALSE(large.accepted);
  CHECK(sorted(large.items) == numbers(10));
  CHECK(memory.capacity() >= 10);
}

LEAT_TYPED_LIST_TEST("queue: a cancelled batch in reused memory returns all its items",
                     all_queues) {
  auto q = TestType::make(8);
  std::vector<int> memory = used_memory();
  outcome o;
  task_group group;
  group.spawn(pop_into(q, 4, memory, o));
  co_await settle();
  co_await q.push_many({1, 2, 3});
  co_await settle();
  group.request_stop();
  co_await group.join();
  CHECK(o.cancelled);
  CHECK(memory.empty());
  const auto all = co_await q.pop_many(3);
  CHECK(sorted(all) == std::vector<int>{1, 2, 3});
  CHECK_FALSE(q.try_pop());
}

LEAT_TYPED_LIST_TEST("queue: a late batch in reused memory returns all its items", all_queues) {
  auto q = TestType::make(8);
  co_await q.push_many({1, 2});
  CHECK(co_await code_of(leat::with_timeout(q.pop_up_to(3, used_memory()), 1s)) ==
        errc::deadline_exceeded);
  CHECK(q.size() == 2);
  const auto first = co_await leat::select(q.pop_many(2, used_memory()), leat::sleep_for(1s));
  REQUIRE(first.index() == 0);
  CHECK(sorted(*std::get<0>(first)) == std::vector<int>{1, 2});
}

LEAT_TYPED_LIST_TEST("queue with weights: a batch in reused memory keeps its weights",
                     weighed_holding_queues) {
  auto q = TestType::make({.max_weight = 100});
  std::vector<int> memory = used_memory();
  outcome o;
  task_group group;
  group.spawn(pop_into(q, 3, memory, o));
  co_await settle();
  co_await q.push_many({10, 20});
  co_await settle();
  CHECK(q.statistics().weight == 0);
  group.request_stop();
  co_await group.join();
  CHECK(q.statistics().weight == 30);
  memory = used_memory();
  outcome complete;
  co_await pop_into(q, 2, memory, complete);
  CHECK(complete.accepted);
  CHECK(sorted(complete.items) == std::vector<int>{10, 20});
  CHECK(q.statistics().weight == 0);
}

LEAT_TEST("queue: a pop destroys the items of the memory that it reuses") {
  leat::fifo_queue<std::shared_ptr<int>> q(2);
  std::vector<std::shared_ptr<int>> memory{std::make_shared<int>(1)};
  const std::weak_ptr<int> old = memory.front();
  auto pop = q.pop_many(1, std::move(memory));
  CHECK(old.expired());
  CHECK(q.try_push(std::make_shared<int>(2)));
  const auto batch = co_await std::move(pop);
  REQUIRE(batch);
  CHECK(*batch->front() == 2);
}

TEMPLATE_LIST_TEST_CASE("queue: the blocking forms reuse the memory of a batch", "[queue]",
                        all_queues) {
  auto q = TestType::make(4);
  std::thread producer([&q] {
    for (int i = 0; i < 9; ++i) leat::block_on(q.push(int{i}));
    q.close();
  });
  std::vector<int> memory = used_memory();
  const int* const place = memory.data();
  std::vector<int> all;
  bool same = true;
  const auto keep = [&](std::vector<int>&& batch) {
    same = same && batch.data() == place;
    all.insert(all.end(), batch.begin(), batch.end());
    return std::move(batch);
  };
  memory = keep(*leat::block_on(q.pop_many(2, std::move(memory))));
  memory = keep(*leat::block_on(q.pop_many(2, std::move(memory)), 10s));
  memory = keep(*leat::block_on(q.pop_up_to(4, std::move(memory))));
  memory = keep(*leat::block_on(q.pop_up_to(4, std::move(memory)), 10s));
  CHECK_FALSE(leat::block_on(q.pop_up_to(4, std::move(memory))));
  producer.join();
  CHECK(same);
  CHECK(sorted(all) == numbers(9));
}

}  // namespace queue_reused_batch_test
