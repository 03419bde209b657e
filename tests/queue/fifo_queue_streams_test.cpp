// Numbered cases of FIFOQueue with many items, for users who know TensorFlow's queue.

#include <algorithm>
#include <thread>

#include "leat/base/random.hpp"
#include "leat/queue/fifo_queue.hpp"
#include "queue/operation/queue_actors.hpp"
#include "support/leat_test.hpp"

namespace fifo_queue_streams_test {

using queue = leat::fifo_queue<int>;
using list = std::vector<int>;

TEST_CASE("fifo_queue: items pushed by ten threads all leave") {
  queue q(10);
  std::vector<std::jthread> threads;
  for (int p = 0; p < 10; ++p)
    threads.emplace_back([&q, p] { CHECK(leat::block_on(q.push(p % 7))); });
  list out;
  for (int i = 0; i < 10; ++i) out.push_back(*leat::block_on(q.pop()));
  threads.clear();
  CHECK(sorted(out) == list{0, 0, 1, 1, 2, 2, 3, 4, 5, 6});
  CHECK(q.size() == 0);
}

TEST_CASE("fifo_queue: ten threads can push_many while ten pop batches") {
  queue q(1000);
  std::vector<std::jthread> threads;
  for (int p = 0; p < 10; ++p) {
    threads.emplace_back([&q, p] {
      list run(100, p);
      leat::block_on(q.push_many(run));
    });
  }
  threads.clear();
  const list all = *leat::block_on(q.pop_many(1000));
  for (std::size_t i = 0; i < all.size(); i += 100) {  // the items of each push are contiguous
    CHECK(std::all_of(all.begin() + static_cast<std::ptrdiff_t>(i),
                      all.begin() + static_cast<std::ptrdiff_t>(i + 100),
                      [&](int v) { return v == all[i]; }));
  }
  list numbers_in = numbers(1000);
  leat::block_on(q.push_many(numbers_in));
  std::vector<list> out(10);
  for (auto& o : out) threads.emplace_back([&] { o = *leat::block_on(q.pop_many(100)); });
  threads.clear();
  list together;
  for (const auto& o : out) together.insert(together.end(), o.begin(), o.end());
  CHECK(sorted(together) == numbers(1000));
}

TEST_CASE("fifo_queue: equal numbers of pops and pushes keep the size") {
  queue q(50);
  fill(q, numbers(49));
  std::vector<std::jthread> threads;
  for (int i = 0; i < 10; ++i) {
    threads.emplace_back([&q] {
      for (int k = 0; k < 100; ++k) leat::block_on(q.push(k));
    });
    threads.emplace_back([&q] {
      for (int k = 0; k < 100; ++k) static_cast<void>(leat::block_on(q.pop()));
    });
  }
  threads.clear();
  CHECK(q.size() == 49);
}

LEAT_TEST("fifo_queue: push and push_many keep the order") {
  queue q(10);
  task_group g;
  g.spawn([](queue& to) -> task<> {
    leat::random_engine random(1);
    for (int next = 0; next < 250;) {
      const bool single = random.uniform_below(2) == 0;
      if (single) {
        co_await to.push(next++);
        continue;
      }
      list run;
      for (auto n = random.uniform_below(21); n > 0 && next < 250; --n) run.push_back(next++);
      const std::size_t asked = run.size();
      CHECK(co_await to.push_many(run) == asked);
    }
  }(q));
  for (int i = 0; i < 250; ++i) CHECK(co_await q.pop() == i);
  co_await g.join();
  CHECK(q.close());
  CHECK(q.size() == 0);
}

LEAT_TEST("fifo_queue: single pops and batches of any size keep the order") {
  queue q(10);
  task_group g;
  g.spawn([](queue& to) -> task<> {
    list run = numbers(250);
    CHECK(co_await to.push_many(run) == 250);
  }(q));
  list out;
  leat::random_engine random(2);
  std::size_t largest = 0;
  while (out.size() < 250) {
    const bool single = random.uniform_below(2) == 0;
    if (single) {
      out.push_back(*co_await q.pop());
      continue;
    }
    const std::size_t count = std::min<std::size_t>(random.uniform_below(21), 250 - out.size());
    const auto batch = co_await q.pop_many(count);
    REQUIRE(batch);
    CHECK(batch->size() == count);
    largest = std::max(largest, count);
    out.insert(out.end(), batch->begin(), batch->end());
  }
  co_await g.join();
  CHECK(out == numbers(250));
  CHECK(largest > q.capacity());
}

}  // namespace fifo_queue_streams_test
