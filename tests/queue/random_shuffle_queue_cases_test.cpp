// Where random_shuffle_queue behaves like TensorFlow's RandomShuffleQueue, and where it differs.

#include <map>
#include <set>

#include "leat/queue/random_shuffle_queue.hpp"
#include "queue/operation/queue_actors.hpp"
#include "support/leat_test.hpp"

namespace random_shuffle_queue_cases_test {

using queue = leat::random_shuffle_queue<int>;
using list = std::vector<int>;

leat::shuffle_options options(std::size_t capacity, std::size_t minimum, std::uint64_t seed = 7) {
  return {.capacity = capacity, .min_after_dequeue = minimum, .seed = seed, .name = "q"};
}

list joined(const std::initializer_list<list>& parts) {
  list all;
  for (const list& p : parts) all.insert(all.end(), p.begin(), p.end());
  return sorted(all);
}

LEAT_TEST("random_shuffle_queue: the minimum size ends with the close") {
  for (const bool wait : {false, true}) {
    queue q(options(10, 2));
    fill(q, numbers(4));
    list out;
    for (int i = 0; i < 2; ++i) out.push_back((co_await q.pop()).value());
    actors a(q);
    const outcome* third = nullptr;
    if (wait) {
      third = &a.pop();
      co_await settle();
      CHECK_FALSE(third->ended);
    }
    q.close();
    co_await a.join();
    if (third) out.insert(out.end(), third->items.begin(), third->items.end());
    while (const auto item = co_await q.pop()) out.push_back(*item);
    CHECK(sorted(out) == numbers(4));
  }
}

LEAT_TEST("random_shuffle_queue: too few items for a batch stay in the queue") {
  queue q(options(10, 0));
  fill(q, numbers(4));
  actors a(q);
  const outcome& first = a.pop_many(3);
  const outcome& second = a.pop_many(3);
  co_await settle();
  q.close();
  co_await a.join();
  CHECK(first.items.size() == 3);
  CHECK(second.empty);
  CHECK(joined({first.items, drain(q)}) == numbers(4));
}

LEAT_TEST("random_shuffle_queue: a waiting batch takes items down to the minimum size") {
  queue q(options(10, 2));
  fill(q, numbers(4));
  actors a(q);
  const outcome& batch = a.pop_many(3);
  co_await settle();
  CHECK(q.size() == 2);
  CHECK(q.try_push(4));
  co_await a.join();
  CHECK(batch.items.size() == 3);
  CHECK(q.size() == 2);
}

LEAT_TEST("random_shuffle_queue: a close completes a batch that waits for the minimum size") {
  queue q(options(10, 5));
  fill(q, numbers(7));
  actors a(q);
  const outcome& batch = a.pop_many(5);
  co_await settle();
  CHECK(q.size() == 5);
  CHECK_FALSE(batch.ended);
  q.close();
  co_await a.join();
  CHECK(batch.items.size() == 5);
  CHECK(q.size() == 2);
}

LEAT_TEST("random_shuffle_queue: does not choose items of waiting pushes") {
  queue q(options(4, 0));
  fill(q, {10, 20, 30, 40});
  actors a(q);
  const outcome& push = a.push(50);
  co_await settle();
  q.close();
  CHECK_FALSE(q.is_closed());
  const int first = (co_await q.pop()).value();
  CHECK(first != 50);
  co_await a.join();
  CHECK(push.accepted);
  CHECK(q.is_closed());
  CHECK_FALSE(co_await q.push(60));
  CHECK(joined({{first}, drain(q)}) == list{10, 20, 30, 40, 50});

  queue runs(options(4, 0));
  fill(runs, {1, 2, 3});
  actors b(runs);
  const outcome& run = b.push_many({50, 60});
  co_await settle();
  CHECK(runs.size() == 4);
  CHECK_FALSE(run.ended);
  runs.close();
  CHECK_FALSE(runs.is_closed());
  co_await runs.pop();
  co_await b.join();
  CHECK(run.pushed == 2);
  list more = {7};
  CHECK(co_await runs.push_many(more) == 0);
}

LEAT_TEST("random_shuffle_queue: different seeds produce different orders") {
  std::set<list> orders;
  for (const std::uint64_t seed : {1729U, 87'539'319U}) {
    queue q(options(10, 5, seed));
    fill(q, {1, 2, 3, 4, 5, 1, 2, 3, 4, 5});
    orders.insert((co_await q.pop_many(5)).value());
    CHECK(q.size() == 5);
    CHECK_FALSE(q.try_pop());  // keeps the minimum size
    q.close();
    orders.insert((co_await q.pop_many(5)).value());
  }
  CHECK(orders.size() == 4);
  std::set<list> unseeded;
  for (int i = 0; i < 2; ++i) {
    queue q({.capacity = 1000});
    fill(q, numbers(1000));
    unseeded.insert((co_await q.pop_many(1000)).value());
  }
  CHECK(unseeded.size() == 2);
}

TEST_CASE("random_shuffle_queue: rejects an invalid minimum size") {
  constexpr auto minus_one = static_cast<std::size_t>(-1);
  for (const std::size_t minimum : {minus_one, std::size_t{5}, std::size_t{6}}) {
    const std::string said = refusal([&] { return queue(options(5, minimum)).size(); });
    CHECK(contains(said, "queue 'q': min_after_dequeue (" + std::to_string(minimum) +
                             ") must be below the capacity (5)"));
  }
  CHECK_NOTHROW(queue(options(leat::unbounded, 9)));
  queue q(options(minus_one, 0));
  fill(q, numbers(100'000));
  CHECK(q.size() == 100'000);
  CHECK(q.statistics().capacity == leat::unbounded);
  CHECK(sorted(drain(q)) == numbers(100'000));
}

LEAT_TEST("random_shuffle_queue: a pop waits for more items than the minimum size") {
  queue q(options(10, 2));
  fill(q, numbers(3));
  co_await q.pop();
  actors a(q);
  const outcome& second = a.pop();
  co_await settle();
  CHECK_FALSE(second.ended);
  CHECK(q.try_push(3));
  co_await a.join();
  CHECK(second.items.size() == 1);
}

TEST_CASE("random_shuffle_queue: all items are equally likely") {
  std::map<int, int> times;
  for (std::uint64_t seed = 1; seed <= 1000; ++seed) {
    queue q(options(10, 0, seed));
    fill(q, numbers(10));
    ++times[q.try_pop().value()];
  }
  CHECK(times.size() == 10);
  for (const auto& [item, count] : times) {
    CHECK(count >= 60);
    CHECK(count <= 140);
  }
}

}  // namespace random_shuffle_queue_cases_test
