// Queues of tensors whose capacity is the weight of their elements.

#include <thread>

#include "leat/queue.hpp"
#include "queue/operation/queue_tasks.hpp"
#include "queue/orders.hpp"
#include "queue/tensors.hpp"
#include "support/leat_test.hpp"

namespace weighed_tensor_queue_test {

using leat::dtype;
using leat::element_byte_size;
using leat::element_spec;
using leat::tensor;
using leat::tensor_tuple;
using batch = std::optional<tensor_tuple>;

// Equal elements leave in the order of their arrival.
struct all_equal {
  bool operator()(const tensor_tuple&, const tensor_tuple&) const noexcept { return false; }
};

template <class Order>
using weighed_tensors =
    leat::tensor_queue<typename Order::template queue<tensor_tuple, element_byte_size, all_equal>>;
using fifo = weighed_tensors<queue_orders::fifo>;
using shuffled = weighed_tensors<queue_orders::shuffle>;
using queues = queue_orders::each<weighed_tensors>;

template <class Queue>
typename Queue::options_type limits(std::size_t max_weight, leat::memory_budget* budget = nullptr) {
  typename Queue::options_type o;
  o.capacity = 100;
  o.max_weight = max_weight;
  o.budget = budget;
  o.name = "q";
  return o;
}

task<> push_run(fifo& q, tensor_tuple run, std::size_t& in) {
  in = co_await q.push_many(std::move(run));
}

task<> pop_three(fifo& q, bool& none) {
  const batch three = co_await q.pop_many(3);
  none = !three;
}

TEMPLATE_LIST_TEST_CASE("tensor_queue: counts the weights of batches", "[queue]", queues) {
  TestType q(scalars(), limits<TestType>(1000));
  CHECK(leat::block_on(q.push_many(run_of(0, 5))) == 5);
  const tensor_tuple kept = one(5);
  CHECK(q.try_push(kept));
  CHECK(q.statistics().weight == 6 * sizeof(int));
  const batch four = leat::block_on(q.pop_many(4));
  REQUIRE(four);
  CHECK((*four)[0].shape() == leat::shape{4});
  CHECK(q.statistics().weight == 2 * sizeof(int));
  q.close();
  const batch rest = leat::block_on(q.pop_up_to(4));
  REQUIRE(rest);
  int sum = 0;
  for (const int v : (*four)[0].values<int>()) sum += v;
  for (const int v : (*rest)[0].values<int>()) sum += v;
  CHECK(sum == 15);
  CHECK(q.statistics().weight == 0);
  CHECK_FALSE(leat::block_on(q.pop_many(1)));
}

LEAT_TEST("tensor_queue: a copied push waits for free weight") {
  fifo q(spec_of(dtype::int32, {any}), limits<fifo>(8));
  const tensor_tuple pair = one(ints(1, 2));
  CHECK(co_await q.push(pair));
  task_group g;
  bool in = false;
  g.spawn([](fifo& to, const tensor_tuple& element, bool& done) -> task<> {
    done = co_await to.push(element);
  }(q, pair, in));
  co_await settle();
  CHECK_FALSE(in);
  CHECK(q.statistics().entering_weight == 8);
  const batch out = co_await q.pop();
  CHECK(out == pair);
  co_await g.join();
  CHECK(in);
}

LEAT_TEST("tensor_queue: a push_many waits for free weight") {
  fifo q(scalars(), limits<fifo>(2 * sizeof(int)));
  std::size_t in = 0;
  task_group g;
  g.spawn(push_run(q, run_of(0, 5), in));
  co_await settle();
  CHECK(q.size() == 2);
  const batch all = co_await q.pop_many(5);
  co_await g.join();
  CHECK(in == 5);
  CHECK(all == run_of(0, 5));
  CHECK(q.statistics().peak_weight == 2 * sizeof(int));
}

LEAT_TEST("tensor_queue: a cancelled batch returns its weight") {
  fifo q(spec_of(dtype::int32, {any}), limits<fifo>(100));
  bool none = false;
  task_group g;
  g.spawn(pop_three(q, none));
  co_await settle();
  CHECK(q.try_push(one(ints(1))));
  CHECK(q.try_push(one(ints(2, 2))));
  CHECK(q.statistics().weight == 0);
  q.close();
  co_await g.join();
  CHECK(none);
  CHECK(q.statistics().weight == 12);
  CHECK(q.statistics().returned_weight == 12);
  CHECK(q.try_pop() == one(ints(1)));
  CHECK(q.statistics().weight == 8);
}

TEST_CASE("tensor_queue: elements that cannot be stacked return with their weight") {
  const element_spec spec(
      {{.type = dtype::int32, .shape = {any, any}}, {.type = dtype::int32, .shape = {any}}});
  fifo q(spec, limits<fifo>(100));
  CHECK(q.try_push(tensor_tuple(tall_tensor(), ints(1))));
  CHECK(q.try_push(tensor_tuple(wide_tensor(), ints(1, 2))));
  CHECK_FAILS(errc::invalid_argument, "more values", leat::block_on(q.pop_many(2)));
  CHECK(q.size() == 2);
  CHECK(q.statistics().weight == 12);
  const batch first = q.try_pop();
  REQUIRE(first);
  CHECK((*first)[1] == ints(1));
  CHECK(q.statistics().weight == 8);
}

TEST_CASE("tensor_queue: rejects a whole batch with an element that is too heavy") {
  fifo q(element_spec({{.type = dtype::string, .shape = {}}}), limits<fifo>(1000));
  const std::string heavy(2000, 'x');
  CHECK_FAILS(errc::resource_exhausted, "exceeds the max_weight of 1000",
              leat::block_on(q.push_many(one(texts("light", heavy)))));
  CHECK(q.size() == 0);
  CHECK(leat::block_on(q.push_many(one(texts("light", "too")))) == 2);
}

TEST_CASE("tensor_queue: several queues can share a budget") {
  leat::memory_budget ram(4 * sizeof(int), "ram");
  fifo a(scalars(), limits<fifo>(leat::unbounded, &ram));
  shuffled b(scalars(), limits<shuffled>(leat::unbounded, &ram));
  CHECK(leat::block_on(a.push_many(run_of(0, 3))) == 3);
  std::jthread producer([&] { CHECK(leat::block_on(b.push_many(run_of(10, 2))) == 2); });
  CHECK(leat::block_on(b.pop_many(1)));
  CHECK(leat::block_on(a.pop_many(3)) == run_of(0, 3));
  producer.join();
  CHECK(leat::block_on(b.pop()));
  CHECK(ram.used() == 0);
  CHECK(ram.statistics().peak <= 4 * sizeof(int));
}

}  // namespace weighed_tensor_queue_test
