#include "leat/queue/tensor_priority_queue.hpp"

#include <type_traits>

#include "leat/queue.hpp"
#include "queue/tensors.hpp"
#include "support/leat_test.hpp"

namespace tensor_priority_queue_test {

using leat::dtype;
using leat::element_spec;
using leat::tensor;
using leat::tensor_priority_queue;
using leat::tensor_tuple;

element_spec with_payload(leat::partial_shape payload = {}) {
  return element_spec(
      {{.type = dtype::int64, .shape = {}}, {.type = dtype::string, .shape = std::move(payload)}});
}

tensor_tuple job(std::int64_t priority, const char* payload) {
  return tensor_tuple(tensor::scalar(priority), tensor::scalar(payload));
}

template <class... Values>
tensor priorities(Values... values) {
  return tensor::of<std::int64_t>({static_cast<std::int64_t>(sizeof...(values))}, {values...});
}

template <class Queue, class Value>
concept accepts = requires(Queue& q, Value value) { q.try_push(std::move(value)); };

LEAT_TEST(
    "tensor_priority_queue: returns the smallest priority first, equal ones in the order of "
    "entry") {
  tensor_priority_queue q(with_payload(), 10);
  tensor_tuple run(priorities(3, -1, 3, 0), texts("d", "a", "e", "b"));
  CHECK(co_await q.push_many(std::move(run)) == 4);
  co_await q.push(job(1, "c"));
  CHECK(co_await q.pop() == job(-1, "a"));
  CHECK(co_await q.pop_many(4) == tensor_tuple(priorities(0, 1, 3, 3), texts("b", "c", "d", "e")));
}

TEST_CASE("tensor_priority_queue: rejects a priority of another type or shape") {
  tensor_priority_queue q(with_payload(), 2000);
  CHECK_FAILS(errc::invalid_argument, "Expected int64",
              leat::block_on(q.push_many(tensor_tuple(texts("1", "2"), texts("a", "b")))));
  CHECK_FAILS(errc::invalid_argument, "Expected []",
              leat::block_on(q.push(tensor_tuple(priorities(1, 2), tensor::scalar("a")))));
  CHECK_FAILS(
      errc::invalid_argument, "Expected [2]",
      leat::block_on(q.push_many(tensor_tuple(tensor(dtype::int64, {2, 2}), texts("a", "b")))));
  CHECK(q.size() == 0);
}

TEST_CASE(
    "tensor_priority_queue: without shapes it rejects batches and a priority that is not a "
    "scalar") {
  tensor_priority_queue q(element_spec({{.type = dtype::int64}, {.type = dtype::string}}), 10);
  CHECK_FAILS(errc::invalid_argument, "has an unknown rank", leat::block_on(q.pop_many(0)));
  CHECK_FAILS(errc::invalid_argument, "must be a scalar",
              leat::block_on(q.push(tensor_tuple(priorities(1, 2), tensor::scalar("a")))));
  CHECK(leat::block_on(q.push(job(1, "a"))));
}

TEST_CASE("tensor_priority_queue: rejects a spec without a priority") {
  for (const element_spec& spec : {scalars(), spec_of(dtype::int64, {any})}) {
    CHECK_FAILS(errc::invalid_argument,
                "queue 'jobs': the first component is the priority and must be an int64",
                tensor_priority_queue(spec, 10, "jobs"));
  }
}

LEAT_TEST("tensor_priority_queue: elements weigh the bytes of their values") {
  const std::size_t light = job(1, "a").byte_size();
  const std::size_t heavy = job(1, "a payload that is longer than that").byte_size();
  REQUIRE(light < heavy);
  tensor_priority_queue q(
      with_payload(),
      leat::queue_options{.capacity = 10, .max_weight = light + heavy, .name = "q"});
  CHECK(q.try_push(job(2, "a payload that is longer than that")));
  CHECK(q.try_push(job(1, "a")));
  CHECK(q.statistics().weight == light + heavy);
  CHECK_FALSE(q.try_push(job(0, "b")));
  CHECK(co_await q.pop() == job(1, "a"));
  CHECK(q.statistics().weight == heavy);
  CHECK(q.try_push(job(0, "b")));
}

TEST_CASE("tensor_priority_queue: with a budget only try operations can pop batches") {
  leat::memory_budget ram(1000, "ram");
  tensor_priority_queue q(with_payload(), {.capacity = 10, .budget = &ram, .name = "q"});
  leat::padding_fifo_queue other(spec_of(dtype::int32, {any}),
                                 {.capacity = 10, .budget = &ram, .name = "other"});
  CHECK(leat::block_on(q.push_many(tensor_tuple(priorities(2, 1), texts("b", "a")))) == 2);
  CHECK(ram.used() == q.statistics().weight);
  const std::int64_t rest = static_cast<std::int64_t>(1000 - ram.used()) / 4;
  CHECK_FALSE(other.try_push(one(tensor(dtype::int32, {rest + 1}))));
  CHECK_FAILS(errc::invalid_argument, "could deadlock on its memory budget",
              leat::block_on(q.pop_many(2)));
  CHECK_FAILS(errc::invalid_argument, "could deadlock on its memory budget",
              leat::block_on(q.pop_up_to(2)));
  CHECK(q.try_pop_many(2) == tensor_tuple(priorities(1, 2), texts("a", "b")));
  CHECK(ram.used() == 0);
  CHECK(other.try_push(one(tensor(dtype::int32, {rest + 1}))));
}

TEST_CASE("tensor_priority_queue: a C++ type with an invalid priority does not compile") {
  struct typed_job {
    std::int64_t priority;
    std::string payload;
  };
  struct smaller {
    bool operator()(const typed_job& a, const typed_job& b) const {
      return a.priority < b.priority;
    }
  };
  using typed = leat::priority_queue<typed_job, smaller>;
  STATIC_REQUIRE(accepts<typed, typed_job>);
  STATIC_REQUIRE_FALSE(accepts<typed, std::pair<std::string, std::string>>);
  STATIC_REQUIRE_FALSE(std::is_constructible_v<decltype(typed_job::priority), std::string>);
}

}  // namespace tensor_priority_queue_test
