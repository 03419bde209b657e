#include "leat/queue/queue_registry.hpp"

#include <functional>
#include <thread>

#include "leat/queue.hpp"
#include "queue/tensors.hpp"
#include "queue/weight/weighed_queues.hpp"
#include "support/leat_test.hpp"

namespace queue_registry_test {

using leat::dtype;
using leat::element_spec;
using leat::padding_fifo_queue;
using leat::queue_registry;
using leat::tensor_priority_queue;
using leat::tensor_tuple;
using fifo_of_int = leat::fifo_queue<int>;
using shuffled_ints = leat::random_shuffle_queue<int>;
using fifo_of_tensors = leat::tensor_queue<leat::fifo_queue<tensor_tuple>>;
using shuffled_tensors = leat::tensor_queue<leat::random_shuffle_queue<tensor_tuple>>;

TEST_CASE("queue_registry: returns the same queue for the same name") {
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

TEST_CASE("queue_registry: other names, registries and unshared queues are independent") {
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

TEST_CASE("queue_registry: rejects another type or options and names the difference") {
  queue_registry shared;
  leat::memory_budget ram(100, "ram");
  const auto q = shared.get<fifo_of_int>({.capacity = 10, .name = "q"});
  CHECK_FAILS(errc::invalid_argument, "shared queue 'q': capacity is 10, not 15",
              shared.get<fifo_of_int>({.capacity = 15, .name = "q"}));
  CHECK_FAILS(errc::invalid_argument, "capacity is 10, not unbounded",
              shared.get<fifo_of_int>({.capacity = leat::unbounded, .name = "q"}));
  CHECK_FAILS(errc::invalid_argument, "item type is ",
              shared.get<leat::fifo_queue<float>>({.capacity = 10, .name = "q"}));
  CHECK_FAILS(errc::invalid_argument, "kind is fifo_queue, not random_shuffle_queue",
              shared.get<shuffled_ints>({.capacity = 10, .name = "q"}));
  CHECK_FAILS(errc::invalid_argument, "not priority_queue",
              shared.get<leat::priority_queue<int>>({.capacity = 10, .name = "q"}));
  CHECK_FAILS(errc::invalid_argument, "comparison or weight function",
              shared.get<weighed_fifo::queue>({.capacity = 10, .name = "q"}));
  using weighed = weighed_fifo::queue;
  const auto w = shared.get<weighed>({.capacity = 10, .max_weight = 5, .name = "w"});
  CHECK_FAILS(errc::invalid_argument, "max_weight is 5, not 6",
              shared.get<weighed>({.capacity = 10, .max_weight = 6, .name = "w"}));
  CHECK_FAILS(errc::invalid_argument, "budget is a different object",
              shared.get<weighed>({.capacity = 10, .max_weight = 5, .budget = &ram, .name = "w"}));
  CHECK(shared.size() == 2);
  CHECK(ram.statistics().queues == 0);
}

TEST_CASE("queue_registry: compares the minimum size and seed of a shuffle queue") {
  queue_registry shared;
  const auto q = shared.get<shuffled_ints>(
      {.capacity = 10, .min_after_dequeue = 5, .seed = 98765432, .name = "q"});
  CHECK_FAILS(errc::invalid_argument, "min_after_dequeue is 5, not 0",
              shared.get<shuffled_ints>(
                  {.capacity = 10, .min_after_dequeue = 0, .seed = 98765432, .name = "q"}));
  CHECK_FAILS(
      errc::invalid_argument, "seed is 98765432, not 21",
      shared.get<shuffled_ints>({.capacity = 10, .min_after_dequeue = 5, .seed = 21, .name = "q"}));
  const auto any = shared.get<shuffled_ints>({.capacity = 10, .min_after_dequeue = 5, .name = "q"});
  CHECK(q->try_push(1));
  CHECK(q->size() == 1);
  CHECK(any->size() == 1);
  const auto unseeded = shared.get<shuffled_ints>({.capacity = 10, .name = "r"});
  CHECK_FAILS(errc::invalid_argument, "seed is random, not 1",
              shared.get<shuffled_ints>({.capacity = 10, .seed = 1, .name = "r"}));
}

TEST_CASE("queue_registry: rejects an empty name and invalid options") {
  queue_registry shared;
  CHECK_FAILS(errc::invalid_argument, "name is empty", shared.get<fifo_of_int>({.capacity = 10}));
  CHECK_FAILS(errc::invalid_argument, "capacity is 0", shared.get<fifo_of_int>({.name = "q"}));
  CHECK(shared.size() == 0);
}

TEST_CASE("queue_registry: a forgotten queue lives as long as its shared pointers") {
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
  CHECK_FALSE(gone.expired());  // the registry owns it
  shared.clear();
  CHECK(gone.expired());
  CHECK(shared.size() == 0);
  CHECK(fresh->try_push(2));
}

TEST_CASE("queue_registry: passes on the comparison and the weight function") {
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

TEST_CASE("queue_registry: threads that ask at the same time receive one queue") {
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

// ---- Queues of tensors.

element_spec floats(leat::partial_shape shape) {
  return element_spec({{.type = dtype::float32, .shape = std::move(shape)}});
}
const auto no_rank = leat::partial_shape::unknown_rank();

LEAT_TEST("queue_registry: returns the same tensor queue for the same name") {
  queue_registry shared;
  const element_spec numbers({{.type = dtype::int32, .shape = {any}}});
  const auto q = shared.get<padding_fifo_queue>(numbers, {.capacity = 10, .name = "rows"});
  const auto q2 = shared.get<padding_fifo_queue>(numbers, {.capacity = 10, .name = "rows"});
  CHECK(q == q2);
  CHECK(q->name() == "rows");
  CHECK(q->try_push(tensor_tuple(ints(1))));
  CHECK(q2->try_push(tensor_tuple(ints(2, 3))));
  const auto both = co_await q->pop_many(2);
  CHECK(both == one(leat::tensor::of({2, 2}, {1, 0, 2, 3})));

  const auto mixed =
      shared.get<shuffled_tensors>(numbers, {.capacity = 10, .seed = 1, .name = "mixed"});
  CHECK(mixed == shared.get<shuffled_tensors>(numbers, {.capacity = 10, .name = "mixed"}));
  CHECK(shared.size() == 2);
  CHECK(shared.erase("rows"));
  CHECK(q != shared.get<padding_fifo_queue>(numbers, {.capacity = 20, .name = "rows"}));
}

TEST_CASE("queue_registry: rejects another spec and names the difference") {
  queue_registry shared;
  const auto q = shared.get<fifo_of_tensors>(floats(no_rank), {.capacity = 10, .name = "q"});
  const auto other = [&](const element_spec& spec) {
    return refusal(
        [&] { return shared.get<fifo_of_tensors>(spec, {.capacity = 10, .name = "q"}); });
  };
  CHECK_FAILS(errc::invalid_argument, "shared queue 'q': capacity is 10, not 15",
              shared.get<fifo_of_tensors>(floats(no_rank), {.capacity = 15, .name = "q"}));
  CHECK(contains(other(element_spec({{.type = dtype::int32}})),
                 "shared queue 'q': component types are (float32), not (int32)"));
  CHECK(contains(other(element_spec({{.type = dtype::float32}, {.type = dtype::int32}})),
                 "component types are (float32), not (float32, int32)"));
  CHECK(contains(other(floats({1, 1, 2, 3})), "component shapes are (<unknown>), not ([1,1,2,3])"));
  CHECK(contains(other(element_spec({{.type = dtype::float32, .name = "x"}})),
                 "component names are (''), not ('x')"));

  const auto shaped =
      shared.get<fifo_of_tensors>(floats({1, 1, 2, 3}), {.capacity = 10, .name = "shaped"});
  const auto other_shape = [&](const leat::partial_shape& shape) {
    return refusal([&] {
      return shared.get<fifo_of_tensors>(floats(shape), {.capacity = 10, .name = "shaped"});
    });
  };
  CHECK(contains(other_shape(no_rank), "component shapes are ([1,1,2,3]), not (<unknown>)"));
  CHECK(contains(other_shape({1, 1, 2, 4}), "component shapes are ([1,1,2,3]), not ([1,1,2,4])"));
  CHECK(other_shape({1, 1, 2, 3}).empty());
  CHECK(shared.size() == 2);
}

TEST_CASE(
    "queue_registry: compares minimum size, seed, types and shapes of a tensor shuffle queue") {
  queue_registry shared;
  const auto q = shared.get<shuffled_tensors>(
      floats({2}), {.capacity = 10, .min_after_dequeue = 5, .seed = 12, .name = "q"});
  const auto other = [&](const element_spec& spec, const leat::shuffle_options& options) {
    return refusal([&] { return shared.get<shuffled_tensors>(spec, options); });
  };
  using options = leat::shuffle_options;
  CHECK(contains(other(floats({2}), options{.capacity = 10, .seed = 12, .name = "q"}),
                 "min_after_dequeue is 5, not 0"));
  CHECK(contains(
      other(floats({2}), options{.capacity = 10, .min_after_dequeue = 5, .seed = 21, .name = "q"}),
      "seed is 12, not 21"));
  const options same{.capacity = 10, .min_after_dequeue = 5, .seed = 12, .name = "q"};
  CHECK(contains(other(element_spec({{.type = dtype::int32, .shape = {2}}}), same),
                 "component types are (float32), not (int32)"));
  CHECK(contains(other(floats({3}), same), "component shapes are ([2]), not ([3])"));
  CHECK(other(floats({2}), same).empty());
}

TEST_CASE("queue_registry: an unknown dimension matches any other") {
  queue_registry shared;
  const auto q = shared.get<padding_fifo_queue>(floats({any}), {.capacity = 10, .name = "q"});
  CHECK(q == shared.get<padding_fifo_queue>(floats({3}), {.capacity = 10, .name = "q"}));
  CHECK_FAILS(errc::invalid_argument, "component shapes are ([?]), not ([2,2])",
              shared.get<padding_fifo_queue>(floats({2, 2}), {.capacity = 10, .name = "q"}));
  CHECK(q->spec() == floats({any}));
  CHECK_FAILS(errc::invalid_argument, "queue 'r': component 0 has an unknown rank",
              shared.get<padding_fifo_queue>(floats(no_rank), {.capacity = 10, .name = "r"}));
  CHECK(shared.size() == 1);
}

TEST_CASE("queue_registry: distinguishes kinds of tensor queues and queues without a spec") {
  queue_registry shared;
  const element_spec jobs({{.type = dtype::int64, .shape = {}}, {.type = dtype::string}});
  const leat::queue_options q{.capacity = 10, .name = "q"};
  const auto first = shared.get<tensor_priority_queue>(jobs, q);
  // The spec may omit the shape of a priority. It then denotes the same queue.
  CHECK(first == shared.get<tensor_priority_queue>(
                     element_spec({{.type = dtype::int64}, {.type = dtype::string}}), q));
  CHECK_FAILS(errc::invalid_argument,
              "kind is tensor_priority_queue of tensors with a spec, not fifo_queue of tensors",
              shared.get<fifo_of_tensors>(jobs, q));
  const element_spec scalars({{.type = dtype::int64, .shape = {}}});
  CHECK_FAILS(errc::invalid_argument, "not padding_fifo_queue of",
              shared.get<padding_fifo_queue>(scalars, q));
  CHECK_FAILS(errc::invalid_argument, "not priority_queue",
              shared.get<leat::priority_queue<int>>(q));

  const leat::queue_options f{.capacity = 10, .name = "f"};
  const auto plain = shared.get<leat::fifo_queue<tensor_tuple>>(f);
  CHECK_FAILS(errc::invalid_argument, "kind is fifo_queue, not fifo_queue of tensors with a spec",
              shared.get<fifo_of_tensors>(jobs, f));
  CHECK(shared.size() == 2);
}

TEMPLATE_TEST_CASE("queue_registry: compares the weight limits of a tensor queue", "[queue]",
                   padding_fifo_queue, tensor_priority_queue,
                   (leat::tensor_queue<leat::fifo_queue<tensor_tuple, leat::element_byte_size>>)) {
  leat::memory_budget ram(1000, "ram");
  leat::memory_budget other_ram(1000, "ram");
  queue_registry shared;
  const element_spec jobs({{.type = dtype::int64, .shape = {}}});
  using options = leat::queue_options;
  const options same{.capacity = 10, .max_weight = 50, .budget = &ram, .name = "q"};
  const auto q = shared.get<TestType>(jobs, same);
  CHECK(q->statistics().max_weight == 50);
  CHECK(q == shared.get<TestType>(jobs, same));
  CHECK_FAILS(errc::invalid_argument, "max_weight is 50, not 60",
              shared.get<TestType>(
                  jobs, options{.capacity = 10, .max_weight = 60, .budget = &ram, .name = "q"}));
  CHECK_FAILS(errc::invalid_argument, "max_weight is 50, not unbounded",
              shared.get<TestType>(jobs, options{.capacity = 10, .budget = &ram, .name = "q"}));
  CHECK_FAILS(
      errc::invalid_argument, "budget is a different object",
      shared.get<TestType>(
          jobs, options{.capacity = 10, .max_weight = 50, .budget = &other_ram, .name = "q"}));
  CHECK_FAILS(errc::invalid_argument, "budget is a different object",
              shared.get<TestType>(jobs, options{.capacity = 10, .max_weight = 50, .name = "q"}));
  CHECK(ram.statistics().queues == 1);
  CHECK(other_ram.statistics().queues == 0);
}

TEST_CASE("queue_registry: distinguishes tensor queues with and without a weight function") {
  using weighed = leat::tensor_queue<leat::fifo_queue<tensor_tuple, leat::element_byte_size>>;
  queue_registry shared;
  const leat::queue_options q{.capacity = 10, .name = "q"};
  const auto plain = shared.get<fifo_of_tensors>(floats({2}), q);
  CHECK_FAILS(errc::invalid_argument, "comparison or weight function",
              shared.get<weighed>(floats({2}), q));
}

}  // namespace queue_registry_test
