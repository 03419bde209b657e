#include "leat/sync/queue_registry.hpp"

#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "sync/weighed_queues.hpp"

namespace queue_registry_test {

using leat::queue_registry;
using fifo_of_int = leat::fifo_queue<int>;
using shuffled_ints = leat::random_shuffle_queue<int>;

template <class F>
std::string refusal(F f) {
  try {
    f();
  } catch (const leat::failure& e) {
    CHECK(e.code() == errc::invalid_argument);
    return e.what();
  }
  return {};
}

template <class Queue>
std::string refusal(queue_registry& shared, const typename Queue::options_type& options) {
  return refusal([&] { static_cast<void>(shared.get<Queue>(options)); });
}

bool says(const std::string& text, const std::string& part) { return text.find(part) != text.npos; }

TEST_CASE("queue_registry: E69 queues of one name are one queue", "[sync]") {
  queue_registry shared;
  const auto q = shared.get<fifo_of_int>({.capacity = 1, .name = "jobs"});
  const auto q2 = shared.get<fifo_of_int>({.capacity = 1, .name = "jobs"});
  CHECK(q->try_push(10));
  CHECK(q->size() == 1);
  CHECK(q2->size() == 1);
  CHECK(q2->try_pop() == 10);
  CHECK(q2->try_push(20));
  CHECK(q->try_pop() == 20);
  CHECK(q->name() == "jobs");
  CHECK(shared.size() == 1);
}

TEST_CASE("queue_registry: other names, registries and queues of one's own share nothing",
          "[sync]") {
  queue_registry shared;
  queue_registry elsewhere;
  const auto q = shared.get<fifo_of_int>({.capacity = 1, .name = "a"});
  const auto other = shared.get<fifo_of_int>({.capacity = 1, .name = "b"});
  const auto far = elsewhere.get<fifo_of_int>({.capacity = 1, .name = "a"});
  fifo_of_int own({.capacity = 1, .name = "a"});
  CHECK(q->try_push(1));
  CHECK(own.try_push(2));
  CHECK(own.try_pop() == 2);
  CHECK(other->size() == 0);
  CHECK(far->size() == 0);
  CHECK(q->try_pop() == 1);
}

TEST_CASE("queue_registry: E70 who asks for another queue of the name hears what differs",
          "[sync]") {
  queue_registry shared;
  leat::memory_budget ram(100, "ram");
  const auto q = shared.get<fifo_of_int>({.capacity = 10, .name = "q"});
  CHECK(says(refusal<fifo_of_int>(shared, {.capacity = 15, .name = "q"}),
             "shared queue 'q': capacity is 10, not 15"));
  CHECK(says(refusal<fifo_of_int>(shared, {.capacity = leat::unbounded, .name = "q"}),
             "capacity is 10, not unbounded"));
  CHECK(says(refusal<leat::fifo_queue<float>>(shared, {.capacity = 10, .name = "q"}),
             "item type is "));
  CHECK(says(refusal<shuffled_ints>(shared, {.capacity = 10, .name = "q"}),
             "kind is fifo_queue, not random_shuffle_queue"));
  CHECK(says(refusal<leat::priority_queue<int>>(shared, {.capacity = 10, .name = "q"}),
             "not priority_queue"));
  CHECK(says(refusal<weighed_fifo::queue>(shared, {.capacity = 10, .name = "q"}),
             "comparison or weigher"));
  using weighed = weighed_fifo::queue;
  const auto w = shared.get<weighed>({.capacity = 10, .max_weight = 5, .name = "w"});
  CHECK(says(refusal<weighed>(shared, {.capacity = 10, .max_weight = 6, .name = "w"}),
             "max_weight is 5, not 6"));
  CHECK(
      says(refusal<weighed>(shared, {.capacity = 10, .max_weight = 5, .budget = &ram, .name = "w"}),
           "budget is another one"));
  CHECK(shared.size() == 2);
  CHECK(ram.statistics().queues == 0);
}

TEST_CASE("queue_registry: F17, F18 a shuffle queue is recognised by minimum and seed", "[sync]") {
  queue_registry shared;
  const auto q = shared.get<shuffled_ints>(
      {.capacity = 10, .min_after_dequeue = 5, .seed = 98765432, .name = "q"});
  CHECK(says(refusal<shuffled_ints>(
                 shared, {.capacity = 10, .min_after_dequeue = 0, .seed = 98765432, .name = "q"}),
             "min_after_dequeue is 5, not 0"));
  CHECK(says(refusal<shuffled_ints>(
                 shared, {.capacity = 10, .min_after_dequeue = 5, .seed = 21, .name = "q"}),
             "seed is 98765432, not 21"));
  const auto any = shared.get<shuffled_ints>({.capacity = 10, .min_after_dequeue = 5, .name = "q"});
  CHECK(q->try_push(1));
  CHECK(q->size() == 1);
  CHECK(any->size() == 1);
  const auto unseeded = shared.get<shuffled_ints>({.capacity = 10, .name = "r"});
  CHECK(says(refusal<shuffled_ints>(shared, {.capacity = 10, .seed = 1, .name = "r"}),
             "seed is random, not 1"));
}

TEST_CASE("queue_registry: a name is needed, and what no queue can be made of is refused",
          "[sync]") {
  queue_registry shared;
  CHECK(says(refusal<fifo_of_int>(shared, {.capacity = 10}), "an empty name shares nothing"));
  CHECK(says(refusal<fifo_of_int>(shared, {.name = "q"}), "capacity of 0"));
  CHECK(shared.size() == 0);
}

TEST_CASE("queue_registry: what is forgotten lives on with who holds it", "[sync]") {
  queue_registry shared;
  const auto old = shared.get<fifo_of_int>({.capacity = 1, .name = "q"});
  CHECK(old->try_push(1));
  old->close();
  CHECK(shared.erase("q"));
  CHECK_FALSE(shared.erase("q"));
  const auto fresh = shared.get<fifo_of_int>({.capacity = 3, .name = "q"});
  CHECK_FALSE(fresh->is_closed());
  CHECK(old->try_pop() == 1);
  const std::weak_ptr<fifo_of_int> gone =
      shared.get<fifo_of_int>({.capacity = 1, .name = "nobody's"});
  CHECK_FALSE(gone.expired());  // the registry holds it
  shared.clear();
  CHECK(gone.expired());
  CHECK(shared.size() == 0);
  CHECK(fresh->try_push(2));
}

TEST_CASE("queue_registry: comparison and weigher are passed on", "[sync]") {
  struct factor {
    std::size_t by = 1;
    std::size_t operator()(int item) const { return by * static_cast<std::size_t>(item); }
  };
  using queue = leat::priority_queue<int, std::greater<int>, factor>;
  queue_registry shared;
  const auto q = shared.get<queue>({.capacity = 9, .max_weight = 50, .name = "q"},
                                   std::greater<int>(), factor{10});
  CHECK(q->try_push(2));
  CHECK(q->try_push(3));
  CHECK_FALSE(q->try_push(1));
  CHECK(q->try_pop() == 3);
}

TEST_CASE("queue_registry: threads that ask at the same time get one queue", "[sync]") {
  queue_registry shared;
  std::vector<std::shared_ptr<fifo_of_int>> got(8);
  {
    std::vector<std::jthread> threads;
    for (auto& q : got) {
      threads.emplace_back(
          [&q, &shared] { q = shared.get<fifo_of_int>({.capacity = 8, .name = "q"}); });
    }
  }
  for (const auto& q : got) CHECK(q == got[0]);
  CHECK(shared.size() == 1);
}

}  // namespace queue_registry_test
