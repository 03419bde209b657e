// The batch operations that do not wait.

#include <functional>
#include <new>

#include "queue/operation/queue_actors.hpp"
#include "support/leat_test.hpp"

namespace queue_try_test {
struct counted_item {
  int value;
  static inline std::function<void()> before_memory = {};
};
}  // namespace queue_try_test

// Calls a function just before it allocates the memory of a batch.
template <>
struct std::allocator<queue_try_test::counted_item> {
  using value_type = queue_try_test::counted_item;
  value_type* allocate(std::size_t n) {
    if (auto f = std::exchange(queue_try_test::counted_item::before_memory, {})) f();
    return static_cast<value_type*>(::operator new(n * sizeof(value_type)));
  }
  void deallocate(value_type* p, std::size_t) noexcept { ::operator delete(p); }
  friend bool operator==(const allocator&, const allocator&) { return true; }
};

namespace queue_try_test {

TEST_CASE("queue: try_pop_up_to takes items that arrive while it allocates") {
  struct smaller {
    bool operator()(const counted_item& a, const counted_item& b) const {
      return a.value < b.value;
    }
  };
  leat::priority_queue<counted_item, smaller> q(4);
  CHECK(q.try_push(counted_item{5}));
  counted_item::before_memory = [&q] { CHECK(q.try_push(counted_item{3})); };
  const auto both = q.try_pop_up_to(2);  // no pop can take 3 alone
  REQUIRE(both);
  REQUIRE(both->size() == 2);
  CHECK(both->at(0).value == 3);
  CHECK(both->at(1).value == 5);
}

TEMPLATE_LIST_TEST_CASE("queue: try_push_many adds as many items as fit", "[queue]", all_queues) {
  auto q = TestType::make(4);
  std::vector<int> items = numbers(6);
  CHECK(q.try_push_many(items) == 4);
  CHECK(q.try_push_many(items) == 0);
  CHECK(q.size() == 4);
  CHECK(sorted(q.try_pop_many(4)) == numbers(4));
  CHECK(q.try_push_many({}) == 0);
  CHECK(q.statistics().pushed == 4);
}

TEST_CASE("queue: try_push_many does not move from items that do not fit") {
  leat::fifo_queue<std::string> q(1);
  std::vector<std::string> items{"first", "second"};
  CHECK(q.try_push_many(items) == 1);
  CHECK(items[1] == "second");
  CHECK(q.try_pop() == "first");
}

LEAT_TYPED_LIST_TEST("queue: try_push_many to waiting pops can exceed the capacity",
                     holding_queues) {
  auto q = TestType::make(2);
  actors a(q);
  const outcome& batch = a.pop_many(5);
  const outcome& single = a.pop();
  co_await settle();
  std::vector<int> items = numbers(10);
  CHECK(q.try_push_many(items) == 8);
  CHECK(q.size() == 2);
  co_await a.join();
  CHECK(batch.items.size() == 5);
  CHECK(single.items.size() == 1);
}

LEAT_TYPED_LIST_TEST("queue: try batches never overtake waiting operations", all_queues) {
  auto q = TestType::make(2);
  actors a(q);
  const outcome& batch = a.pop_many(2);
  co_await settle();
  CHECK(q.try_push(1));
  CHECK_FALSE(q.try_pop_many(1));
  CHECK_FALSE(q.try_pop_up_to(1));
  CHECK(q.try_push(2));
  co_await a.join();
  CHECK(sorted(batch.items) == std::vector<int>{1, 2});

  std::vector<int> two = numbers(2);
  CHECK(q.try_push_many(two) == 2);
  const outcome& push = a.push_many(numbers(3));
  co_await settle();
  CHECK(q.try_push_many(two) == 0);
  CHECK(q.try_pop_many(2));  // adds two of the three items
  CHECK(q.try_push_many(two) == 0);
  CHECK(q.try_pop_up_to(5).value().size() == 2);
  co_await a.join();
  CHECK(push.pushed == 3);
  CHECK(q.try_push_many(two) == 1);
}

TEMPLATE_LIST_TEST_CASE("queue: try_pop_many takes all requested items or none", "[queue]",
                        all_queues) {
  auto q = TestType::make(4);
  std::vector<int> items = numbers(3);
  CHECK(q.try_push_many(items) == 3);
  CHECK_FALSE(q.try_pop_many(4));
  CHECK_FALSE(q.try_pop_many(SIZE_MAX));
  CHECK(q.size() == 3);
  CHECK(q.try_pop_many(0).value().empty());
  CHECK(q.try_pop_many(2).value().size() == 2);
  CHECK(q.statistics().returned == 0);
}

TEMPLATE_LIST_TEST_CASE("queue: try_pop_up_to takes the available items", "[queue]", all_queues) {
  auto q = TestType::make(4);
  CHECK_FALSE(q.try_pop_up_to(1));
  CHECK(q.try_pop_up_to(0).value().empty());
  std::vector<int> items = numbers(3);
  CHECK(q.try_push_many(items) == 3);
  CHECK(q.try_pop_up_to(2).value().size() == 2);
  CHECK(q.try_pop_up_to(SIZE_MAX).value().size() == 1);
  CHECK(q.try_push(7));
  q.close();
  CHECK(q.try_push_many(items) == 0);
  CHECK(q.try_pop_up_to(5).value() == std::vector<int>{7});
  CHECK_FALSE(q.try_pop_up_to(5));
}

TEST_CASE("random_shuffle_queue: try batches keep the minimum size until the close") {
  leat::random_shuffle_queue<int> q({.capacity = 10, .min_after_dequeue = 2, .seed = 7});
  std::vector<int> items = numbers(5);
  CHECK(q.try_push_many(items) == 5);
  CHECK_FALSE(q.try_pop_many(4));
  CHECK(q.try_pop_up_to(5).value().size() == 3);
  CHECK_FALSE(q.try_pop_up_to(5));
  q.close();
  CHECK(q.try_pop_up_to(5).value().size() == 2);
}

}  // namespace queue_try_test
