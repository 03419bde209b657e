#include "leat/queue/priority_queue.hpp"

#include <functional>

#include "queue/operation/queue_actors.hpp"
#include "support/leat_test.hpp"

namespace priority_queue_test {

LEAT_TEST("priority_queue: returns the smallest item first") {
  leat::priority_queue<int> q(100);
  fill(q, {3, -1, 0, -100});
  CHECK(co_await q.pop() == -100);
  CHECK(co_await q.pop() == -1);
  q.close();
}

LEAT_TEST("priority_queue: accepts a user-defined comparison") {
  leat::priority_queue<int, std::greater<int>> q(10);
  fill(q, {1, 3, 2});
  const auto all = co_await q.pop_many(3);
  CHECK(all == std::vector<int>{3, 2, 1});
}

LEAT_TEST("priority_queue: a batch has the smallest of the stored items") {
  leat::priority_queue<int> q(10);
  actors a(q);
  const outcome& batch = a.pop_many(3);
  co_await settle();
  co_await q.push(9);
  co_await q.push(8);
  CHECK(q.size() == 2);  // a waiting batch holds no items
  fill(q, {7, 1, 2});
  co_await a.join();
  CHECK(batch.items == std::vector<int>{1, 2, 7});
  CHECK(q.size() == 2);
}

LEAT_TEST("priority_queue: rejects a batch of more than the capacity at once") {
  leat::priority_queue<int> q(3, "small");
  const std::string message = "queue 'small': pop of 4 items exceeds the capacity of 3: pop fewer";
  CHECK(contains(co_await message_of(q.pop_many(4), errc::invalid_argument), message));
  CHECK(contains(co_await message_of(q.pop_up_to(4), errc::invalid_argument), message));
  fill(q, {3, 1, 2});
  const auto all = co_await q.pop_many(3);
  CHECK(all == std::vector<int>{1, 2, 3});
}

LEAT_TEST("priority_queue: a cancelled batch removes no item") {
  leat::priority_queue<int> q(4);
  fill(q, {4, 2, 3});
  actors a(q);
  const outcome& batch = a.pop_many(4);
  co_await settle();
  co_await a.cancel();
  CHECK(batch.cancelled);
  CHECK(q.statistics().popped == 0);
  const auto all = co_await q.pop_many(3);
  CHECK(all == std::vector<int>{2, 3, 4});
}

LEAT_TEST("priority_queue: waiting pushes enter in order of arrival, then are sorted") {
  leat::priority_queue<int> q(2);
  actors a(q);
  const std::vector<int> in = {5, 4, 3, 2, 1};
  a.push_many(in);
  co_await settle();
  CHECK(co_await q.pop() == 4);  // the smaller of 5 and 4; then 3 is added
  CHECK(co_await q.pop() == 3);
  CHECK(co_await q.pop() == 2);
  CHECK(co_await q.pop() == 1);
  CHECK(co_await q.pop() == 5);
  co_await a.join();
}

}  // namespace priority_queue_test
