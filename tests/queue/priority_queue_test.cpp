#include "leat/queue/priority_queue.hpp"

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "leat/async/task_group.hpp"
#include "leat/base/random.hpp"
#include "queue/operation/queue_tasks.hpp"

namespace priority_queue_test {

struct job {
  std::int64_t priority = 0;
  int payload = 0;
};
struct priority_less {
  bool operator()(const job& a, const job& b) const { return a.priority < b.priority; }
};
using jobs = leat::priority_queue<job, priority_less>;

LEAT_TEST("priority_queue: returns the smallest item first", "[queue]") {
  leat::priority_queue<int> q(100);
  std::vector<int> in = {3, -1, 0, -100};
  co_await q.push_many(in);
  CHECK(co_await q.pop() == -100);
  CHECK(co_await q.pop() == -1);
  q.close();
}

LEAT_TEST("priority_queue: accepts a user-defined comparison", "[queue]") {
  leat::priority_queue<int, std::greater<int>> q(10);
  std::vector<int> in = {1, 3, 2};
  co_await q.push_many(in);
  const auto batch_1 = co_await q.pop_many(3);
  CHECK(batch_1 == std::vector<int>{3, 2, 1});
}

LEAT_TEST("priority_queue: batches and single pops are ascending over all", "[queue]") {
  leat::random_engine random(1);
  leat::priority_queue<int> q(1000);
  std::vector<int> in(1000);
  for (int& i : in) i = static_cast<int>(random.uniform_below(50));
  std::vector<int> expected = sorted(in);
  co_await q.push_many(in);
  std::vector<int> out;
  for (int i = 0; i < 5; ++i) {
    const auto batch = co_await q.pop_many(100);
    out.insert(out.end(), batch->begin(), batch->end());
  }
  while (out.size() < 1000) {
    const auto item = co_await q.pop();
    out.push_back(*item);
  }
  CHECK(out == expected);
}

LEAT_TEST("priority_queue: serves a waiting batch before a later single pop", "[queue]") {
  leat::priority_queue<int> q(10);
  outcome batch;
  outcome single;
  leat::task_group g;
  g.spawn(pop_some(q, 2, false, batch));
  co_await settle();
  g.spawn(pop_one(q, single));
  co_await settle();
  co_await q.push(5);
  co_await settle();
  CHECK_FALSE(batch.ended);
  CHECK_FALSE(single.ended);
  co_await q.push(1);
  co_await settle();
  CHECK(batch.items == std::vector<int>{1, 5});
  CHECK_FALSE(single.ended);
  co_await q.push(0);
  co_await g.join();
  CHECK(single.items == std::vector<int>{0});
}

LEAT_TEST("priority_queue: a batch has the smallest of the stored items", "[queue]") {
  leat::priority_queue<int> q(10);
  outcome batch;
  leat::task_group g;
  g.spawn(pop_some(q, 3, false, batch));
  co_await settle();
  co_await q.push(9);
  co_await q.push(8);
  CHECK(q.size() == 2);  // a waiting batch holds no items
  std::vector<int> in = {7, 1, 2};
  co_await q.push_many(in);
  co_await g.join();
  CHECK(batch.items == std::vector<int>{1, 2, 7});
  CHECK(q.size() == 2);
}

LEAT_TEST("priority_queue: rejects a batch of more than the capacity at once", "[queue]") {
  leat::priority_queue<int> q(3, "small");
  for (const bool up_to : {false, true}) {
    std::string what;
    try {
      if (up_to) {
        co_await q.pop_up_to(4);
      } else {
        co_await q.pop_many(4);
      }
    } catch (const leat::failure& e) {
      CHECK(e.code() == errc::invalid_argument);
      what = e.what();
    }
    CHECK(what.find("queue 'small': pop of 4 items exceeds the capacity of 3: pop fewer") !=
          std::string::npos);
  }
  std::vector<int> in = {3, 1, 2};
  co_await q.push_many(in);
  const auto batch_2 = co_await q.pop_many(3);
  CHECK(batch_2 == std::vector<int>{1, 2, 3});
}

LEAT_TEST("priority_queue: after a close, pop_many leaves too few items and pop_up_to takes them",
          "[queue]") {
  leat::priority_queue<int> q(10);
  std::vector<int> in = {3, 1, 2};
  co_await q.push_many(in);
  q.close();
  const auto none = co_await q.pop_many(4);
  CHECK_FALSE(none);
  CHECK(q.size() == 3);
  const auto batch_3 = co_await q.pop_up_to(4);
  CHECK(batch_3 == std::vector<int>{1, 2, 3});
  const auto end = co_await q.pop_up_to(3);
  CHECK_FALSE(end);
}

LEAT_TEST("priority_queue: pop_up_to on an open queue waits for all items", "[queue]") {
  leat::priority_queue<int> q(10);
  std::vector<int> in = {1, 2, 3};
  co_await q.push_many(in);
  outcome batch;
  leat::task_group g;
  g.spawn(pop_some(q, 4, true, batch));
  co_await settle();
  CHECK_FALSE(batch.ended);
  co_await q.push(0);
  co_await g.join();
  CHECK(batch.items == std::vector<int>{0, 1, 2, 3});
}

LEAT_TEST("priority_queue: a cancelled batch removes no item", "[queue]") {
  leat::priority_queue<int> q(4);
  std::vector<int> in = {4, 2, 3};
  co_await q.push_many(in);
  outcome batch;
  leat::task_group g;
  g.spawn(pop_some(q, 4, false, batch));
  co_await settle();
  g.request_stop();
  co_await g.join();
  CHECK(batch.cancelled);
  CHECK(q.statistics().popped == 0);
  const auto batch_4 = co_await q.pop_many(3);
  CHECK(batch_4 == std::vector<int>{2, 3, 4});
}

LEAT_TEST("priority_queue: waiting pushes enter in order of arrival, then are sorted", "[queue]") {
  leat::priority_queue<int> q(2);
  outcome o;
  leat::task_group g;
  const std::vector<int> in = {5, 4, 3, 2, 1};
  g.spawn(push_all(q, in, o));
  co_await settle();
  CHECK(co_await q.pop() == 4);  // the smaller of 5 and 4; then 3 is added
  CHECK(co_await q.pop() == 3);
  CHECK(co_await q.pop() == 2);
  CHECK(co_await q.pop() == 1);
  CHECK(co_await q.pop() == 5);
  co_await g.join();
}

}  // namespace priority_queue_test
