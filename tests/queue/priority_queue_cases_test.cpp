// Where priority_queue behaves like TensorFlow's PriorityQueue, and where it differs.

#include <algorithm>
#include <map>
#include <thread>

#include "leat/base/random.hpp"
#include "leat/queue/priority_queue.hpp"
#include "queue/operation/queue_actors.hpp"
#include "support/leat_test.hpp"

namespace priority_queue_cases_test {

using queue = leat::priority_queue<int>;
using list = std::vector<int>;

// A priority and its value.
using entry = std::pair<int, std::string>;
struct priority_less {
  bool operator()(const entry& a, const entry& b) const { return a.first < b.first; }
};
using entry_queue = leat::priority_queue<entry, priority_less>;

entry make_entry(int number) {
  leat::random_engine random(static_cast<std::uint64_t>(number) + 1);
  const int priority = static_cast<int>(random.uniform_below(10)) - 5;
  return {priority, std::to_string(priority) + "#" + std::to_string(number)};
}

void check_entries(const std::vector<entry>& out, std::size_t count) {
  CHECK(out.size() == count);
  CHECK(std::is_sorted(out.begin(), out.end(), priority_less()));
  std::map<std::string, int> times;
  for (const entry& e : out) {
    ++times[e.second];
    CHECK(e.second.starts_with(std::to_string(e.first) + "#"));
  }
  CHECK(times.size() == count);
}

TEST_CASE("priority_queue: returns payloads by ascending priority") {
  for (const bool concurrent : {false, true}) {
    entry_queue q(2000);
    std::vector<entry> out;
    std::vector<std::jthread> threads;
    if (concurrent) threads.emplace_back([&] { out = *leat::block_on(q.pop_many(100)); });
    for (int i = 0; i < 100; ++i) {
      if (concurrent) {
        threads.emplace_back([&q, i] { leat::block_on(q.push(make_entry(i))); });
      } else {
        leat::block_on(q.push(make_entry(i)));
      }
    }
    if (!concurrent) out = *leat::block_on(q.pop_many(100));
    threads.clear();
    check_entries(out, 100);
  }
}

TEST_CASE("priority_queue: batches and single pops are ascending") {
  for (const bool batches : {true, false}) {
    entry_queue q(2000);
    std::vector<entry> in;
    for (int i = 0; i < 1000; ++i) in.push_back(make_entry(i));
    CHECK(leat::block_on(q.push_many(in)) == 1000);
    std::vector<entry> out;
    while (out.size() < 1000) {
      if (batches) {
        const auto some = *leat::block_on(q.pop_many(100));
        out.insert(out.end(), some.begin(), some.end());
      } else {
        out.push_back(*leat::block_on(q.pop()));
      }
    }
    check_entries(out, 1000);
  }
}

LEAT_TEST("priority_queue: serves a batch at the head of the wait queue first") {
  queue q(10);
  actors a(q);
  const outcome& batch = a.pop_many(2);
  const outcome& single = a.pop();
  co_await settle();
  CHECK(q.try_push(5));
  co_await settle();
  CHECK_FALSE(batch.ended);
  CHECK(q.try_push(1));
  co_await settle();
  CHECK(batch.items == list{1, 5});
  CHECK_FALSE(single.ended);
  CHECK(q.try_push(0));
  co_await a.join();
  CHECK(single.items == list{0});
}

LEAT_TEST("priority_queue: after a close, pop_many leaves too few items and pop_up_to takes them") {
  queue q(10);
  fill(q, {2, 3, 1});
  q.close();
  CHECK(co_await q.pop_many(4) == std::nullopt);
  CHECK(q.size() == 3);
  const auto whole = co_await q.pop_many(3);
  CHECK(whole == list{1, 2, 3});
  for (const std::size_t count : {3U, 4U}) {  // 4 exceeds the stored items
    queue rest(10);
    fill(rest, {2, 3, 1});
    rest.close();
    const auto rest_of_it = co_await rest.pop_up_to(count);
    CHECK(rest_of_it == list{1, 2, 3});
    CHECK(co_await rest.pop_up_to(3) == std::nullopt);
  }
}

LEAT_TEST("priority_queue: pop_up_to on an open queue waits for all items and takes later ones") {
  queue q(10);
  fill(q, {1, 2, 3});
  actors a(q);
  const outcome& batch = a.pop_up_to(4);
  co_await settle();
  CHECK_FALSE(batch.ended);
  CHECK(q.size() == 3);
  CHECK(q.try_push(0));
  co_await a.join();
  CHECK(batch.items == list{0, 1, 2, 3});
}

LEAT_TEST("priority_queue: equal items leave in the order of entry") {
  entry_queue q(100);
  for (int i = 0; i < 5; ++i) co_await q.push(entry(7, std::to_string(i)));
  const auto all = co_await q.pop_many(5);
  for (std::size_t i = 0; i < 5; ++i) CHECK((*all)[i].second == std::to_string(i));
}

TEST_CASE("priority_queue: works with forty producers and forty consumers of batches") {
  queue q(10);
  leat::random_engine random(3);
  std::vector<std::jthread> threads;
  std::vector<list> in(40);
  std::vector<list> out(40);
  for (list& run : in) {
    for (auto n = random.uniform_below(10); n > 0; --n)
      run.push_back(static_cast<int>(random.uniform_below(5)));
  }
  list all;
  for (const list& run : in) all.insert(all.end(), run.begin(), run.end());
  for (std::size_t i = 0; i < 40; ++i) {
    threads.emplace_back([&q, run = in[i]]() mutable { leat::block_on(q.push_many(run)); });
    threads.emplace_back(
        [&q, &o = out[i], count = in[39 - i].size()] { o = *leat::block_on(q.pop_many(count)); });
  }
  threads.clear();
  list taken;
  for (const list& batch : out) {
    CHECK(std::is_sorted(batch.begin(), batch.end()));
    taken.insert(taken.end(), batch.begin(), batch.end());
  }
  CHECK(sorted(taken) == sorted(all));
}

}  // namespace priority_queue_cases_test
