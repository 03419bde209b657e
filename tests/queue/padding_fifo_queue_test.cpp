#include "leat/queue/padding_fifo_queue.hpp"

#include <concepts>

#include "queue/tensors.hpp"
#include "support/leat_test.hpp"

// The elements that the queue accepts, and its batches.

namespace padding_fifo_queue_test {

using leat::dtype;
using leat::element_spec;
using leat::padding_fifo_queue;
using leat::shape;
using leat::tensor;
using leat::tensor_tuple;

using batch = std::optional<tensor_tuple>;

// Returns the message with which a push rejects an element or batch.
std::string refused(padding_fifo_queue& q, tensor_tuple element) {
  return refusal([&] { return q.try_push(std::move(element)); });
}
std::string run_refused(padding_fifo_queue& q, tensor_tuple elements) {
  return refusal([&] { return leat::block_on(q.push_many(std::move(elements))); });
}

template <std::same_as<int>... Values>
tensor row(Values... values) {
  return tensor::of({1, static_cast<std::int64_t>(sizeof...(values))}, {values...});
}

// Six elements of increasing width.
void fill_with_growing(padding_fifo_queue& q) {
  CHECK(q.try_push(tensor_tuple(texts("a"), row(1))));
  CHECK(q.try_push(tensor_tuple(texts("ab"), row(2))));
  CHECK(q.try_push(tensor_tuple(texts("abc"), row(3))));
  CHECK(q.try_push(tensor_tuple(texts("abc", "d"), row(1, 2))));
  CHECK(q.try_push(tensor_tuple(texts("abc", "d", "e"), row(1, 2, 3))));
  CHECK(q.try_push(tensor_tuple(texts("abc", "d", "e", "f"), row(1, 2, 3, 4))));
}

element_spec growing() {
  return element_spec(
      {{.type = dtype::string, .shape = {any}}, {.type = dtype::int32, .shape = {1, any}}});
}

void check_growing_batch(const batch& five) {
  CHECK(five == tensor_tuple(tensor::of({5, 3}, {"a", "", "", "ab", "", "", "abc", "", "", "abc",
                                                 "d", "", "abc", "d", "e"}),
                             tensor::of({5, 1, 3}, {1, 0, 0, 2, 0, 0, 3, 0, 0, 1, 2, 0, 1, 2, 3})));
}

LEAT_TEST("padding_fifo_queue: a batch is padded, an element is not") {
  padding_fifo_queue q(growing(), 10);
  fill_with_growing(q);
  const batch five = co_await q.pop_many(5);
  check_growing_batch(five);
  const batch last = co_await q.pop();
  REQUIRE(last);
  CHECK((*last)[0].shape() == shape{4});
  CHECK((*last)[1].shape() == shape{1, 4});
}

LEAT_TEST("padding_fifo_queue: pop_up_to pads a batch on an open queue") {
  padding_fifo_queue q(growing(), 10);
  fill_with_growing(q);
  const batch five = co_await q.pop_up_to(5);
  check_growing_batch(five);
}

LEAT_TEST("padding_fifo_queue: an empty batch has unknown dimensions of 0") {
  padding_fifo_queue q(spec_of(dtype::int32, {any}), 10);
  for (int i = 0; i < 2; ++i) {
    const batch none = co_await q.pop_many(0);
    const batch up_to_none = co_await q.pop_up_to(0);
    CHECK((*none)[0].shape() == shape{0, 0});
    CHECK(none == up_to_none);
    CHECK(q.size() == static_cast<std::size_t>(i));
    CHECK(q.try_push(one(ints(1))));
  }
}

TEST_CASE("padding_fifo_queue: rejects a component of unknown rank") {
  // A component has one shape or none, so a list with too few shapes cannot be written.
  const element_spec without({{.type = dtype::int32, .shape = {2}}, {.type = dtype::int32}});
  CHECK_FAILS(errc::invalid_argument, "queue 'pad': component 1 has an unknown rank",
              padding_fifo_queue(without, 10, "pad"));
  CHECK_FAILS(errc::invalid_argument, "capacity is 0", padding_fifo_queue(scalars(), 0, "pad"));
}

TEST_CASE("padding_fifo_queue: rejects another shape without effect") {
  const element_spec spec(
      {{.type = dtype::int32, .shape = {2, 2}}, {.type = dtype::int32, .shape = {any, 3}}});
  padding_fifo_queue q(spec, 10, "q");
  CHECK(
      contains(refused(q, tensor_tuple(tensor(dtype::int32, {2, 2}), tensor(dtype::int32, {3, 4}))),
               "queue 'q': Shape mismatch"));
  CHECK(contains(run_refused(q, tensor_tuple(tensor(dtype::int32, {2, 2, 2}),
                                             tensor(dtype::int32, {2, 3, 4}))),
                 "queue 'q': Shape mismatch"));
  CHECK(q.size() == 0);
  CHECK(q.statistics().pushed == 0);
}

LEAT_TEST("padding_fifo_queue: a close returns the elements of a batch in order") {
  const element_spec spec(
      {{.type = dtype::int32, .shape = {}}, {.type = dtype::float32, .shape = {}}});
  padding_fifo_queue q(spec, 10);
  bool empty = false;
  task_group g;
  g.spawn([](padding_fifo_queue& from, bool& none) -> task<> {
    const batch four = co_await from.pop_many(4);
    none = !four;
  }(q, empty));
  co_await leat::this_task::yield();  // the pop waits now
  for (int i = 1; i <= 3; ++i) {
    CHECK(q.try_push(tensor_tuple(tensor::scalar(i), tensor::scalar(0.5F))));
  }
  CHECK(q.size() == 0);
  q.close();
  co_await g.join();
  CHECK(empty);
  for (int i = 1; i <= 3; ++i) {
    const batch element = co_await q.pop();
    REQUIRE(element);
    CHECK((*element)[0].value<int>() == i);
  }
}

LEAT_TEST("padding_fifo_queue: equal elements are not padded, of any rank") {
  padding_fifo_queue q(spec_of(dtype::int32, {4, any, 4, any}), 10);
  tensor element(dtype::int32, {4, 4, 4, 4});
  int next = 0;
  for (int& value : element.mutable_values<int>()) value = next++;
  for (int i = 0; i < 10; ++i) CHECK(q.try_push(one(element)));
  const batch ten = co_await q.pop_many(10);
  CHECK(ten == one(leat::stack(std::vector<tensor>(10, element))));

  // In addition to TensorFlow's case.
  padding_fifo_queue deep(spec_of(dtype::int32, {any, 1, any, 1, 1, any}), 4);
  CHECK(deep.try_push(one(tensor::of({1, 1, 1, 1, 1, 2}, {1, 2}))));
  CHECK(deep.try_push(one(tensor::of({1, 1, 2, 1, 1, 1}, {3, 4}))));
  const batch two = co_await deep.pop_many(2);
  CHECK(two == one(tensor::of({2, 1, 1, 2, 1, 1, 2}, {1, 2, 0, 0, 3, 0, 4, 0})));
}

LEAT_TEST("padding_fifo_queue: pads bool with false and strings with the empty string") {
  const element_spec spec(
      {{.type = dtype::boolean, .shape = {any}}, {.type = dtype::string, .shape = {any}}});
  padding_fifo_queue q(spec, 10);
  CHECK(q.try_push(tensor_tuple(tensor::of<bool>({1}, {true}), texts("a"))));
  CHECK(q.try_push(tensor_tuple(tensor::of<bool>({2}, {true, true}), texts("b", "c"))));
  const batch two = co_await q.pop_many(2);
  CHECK(two == tensor_tuple(tensor::of<bool>({2, 2}, {true, false, true, true}),
                            tensor::of({2, 2}, {"a", "", "b", "c"})));
}

LEAT_TEST("padding_fifo_queue: an element without values is all padding") {
  padding_fifo_queue q(spec_of(dtype::int32, {any}), 10);
  CHECK(q.try_push(one(ints())));
  CHECK(q.try_push(one(ints(1))));
  const batch two = co_await q.pop_many(2);
  CHECK(two == one(tensor::of({2, 1}, {0, 1})));
}

LEAT_TEST("padding_fifo_queue: supports known next to unknown dimensions") {
  padding_fifo_queue q(spec_of(dtype::int32, {any, 3}), 10);
  CHECK(q.try_push(one(tensor(dtype::int32, {5, 3}))));
  const batch element = co_await q.pop();
  REQUIRE(element);
  CHECK((*element)[0].shape() == shape{5, 3});
}

// ---- With all dimensions known: FIFOQueue with shapes.

LEAT_TEST("padding_fifo_queue: returns an empty batch, and a batch from an empty queue") {
  padding_fifo_queue q(scalars(), 10);
  CHECK(co_await q.push_many(run_of(0, 0)) == 0);
  CHECK(q.size() == 0);
  for (std::size_t stored = 0; stored < 2; ++stored) {
    const batch none = co_await q.pop_many(0);
    const batch up_to_none = co_await q.pop_up_to(0);
    CHECK(none == run_of(0, 0));
    CHECK(up_to_none == run_of(0, 0));
    CHECK(q.size() == stored);
    CHECK(q.try_push(one(10)));
  }
  q.close_and_cancel();
  CHECK(co_await q.push_many(run_of(0, 0)) == 0);
}

LEAT_TEST("padding_fifo_queue: batches keep the order of entry") {
  for (const bool up_to : {false, true}) {
    padding_fifo_queue q(scalars(), 10);
    CHECK(co_await q.push_many(run_of(10, 10)) == 10);
    for (const int first : {10, 14}) {
      batch four;
      if (up_to) {
        four = co_await q.pop_up_to(4);
      } else {
        four = co_await q.pop_many(4);
      }
      CHECK(four == run_of(first, 4));
    }
    q.close();
    const batch rest = co_await q.pop_up_to(4);
    CHECK(rest == run_of(18, 2));
    const batch end = co_await q.pop_up_to(4);
    CHECK_FALSE(end);
  }
}

LEAT_TEST("padding_fifo_queue: keeps the components of an element together") {
  const element_spec spec(
      {{.type = dtype::int32, .shape = {}}, {.type = dtype::int32, .shape = {2}}});
  padding_fifo_queue q(spec, 10);
  for (int i = 0; i < 10; ++i) {
    CHECK(q.try_push(tensor_tuple(tensor::scalar(i), ints(i, -i))));
  }
  for (int first = 0; first < 8; first += 4) {
    const batch four = co_await q.pop_many(4);
    REQUIRE(four);
    CHECK((*four)[0].shape() == shape{4});
    CHECK((*four)[1].shape() == shape{4, 2});
    for (std::size_t i = 0; i < 4; ++i) {
      const int expected = first + static_cast<int>(i);
      CHECK((*four)[0].values<int>()[i] == expected);
      CHECK((*four)[1].values<int>()[2 * i + 1] == -expected);
    }
  }
  const batch element = co_await q.pop();
  CHECK(element == tensor_tuple(tensor::scalar(8), ints(8, -8)));
}

TEST_CASE("padding_fifo_queue: rejects components of different lengths") {
  const leat::component_spec scalar{.type = dtype::int32, .shape = {}};
  padding_fifo_queue q(element_spec({scalar, scalar, scalar}), 10);
  CHECK(contains(run_refused(q, tensor_tuple(ints(1, 2, 3), ints(1, 2), ints(1, 2, 3))),
                 "component 1 of a batch"));
  CHECK(q.size() == 0);
}

TEST_CASE("padding_fifo_queue: rejects another number or type of components") {
  const element_spec spec(
      {{.type = dtype::int32, .shape = {}}, {.type = dtype::float32, .shape = {}}});
  padding_fifo_queue q(spec, 10);
  CHECK(contains(refused(q, one(1)), "element has 1 components"));
  CHECK(contains(refused(q, tensor_tuple(tensor::scalar(1), tensor::scalar(1))),
                 "component 1. Expected float32"));
}

// ---- By weight.

LEAT_TEST("padding_fifo_queue: elements weigh the bytes of their values, without the padding") {
  padding_fifo_queue q(spec_of(dtype::int32, {any}),
                       leat::queue_options{.capacity = 10, .max_weight = 20, .name = "q"});
  CHECK(q.try_push(one(ints(1, 2, 3))));
  CHECK(q.try_push(one(ints(4))));
  CHECK(q.statistics().weight == 16);
  CHECK_FALSE(q.try_push(one(ints(5, 6))));
  CHECK_FAILS(errc::resource_exhausted, "item of weight 24 exceeds the max_weight of 20",
              q.try_push(one(ints(1, 2, 3, 4, 5, 6))));
  const batch two = co_await q.pop_many(2);
  CHECK(two == one(tensor::of({2, 3}, {1, 2, 3, 4, 0, 0})));
  CHECK(q.statistics().weight == 0);
  CHECK(q.try_push(one(ints(5, 6))));
}

TEST_CASE("padding_fifo_queue: rejects a max_weight of 0") {
  CHECK_FAILS(errc::invalid_argument, "max_weight is 0",
              padding_fifo_queue(scalars(), {.capacity = 1, .max_weight = 0, .name = "q"}));
}

// ---- With names.

element_spec f_i_s() {
  return element_spec({{.type = dtype::float32, .shape = {}, .name = "f"},
                       {.type = dtype::int32, .shape = {}, .name = "i"},
                       {.type = dtype::string, .shape = {}, .name = "s"}});
}

tensor_tuple i_s_f(int i, const char* s, float f) {
  return tensor_tuple::named(
      {{"i", tensor::scalar(i)}, {"s", tensor::scalar(s)}, {"f", tensor::scalar(f)}});
}

TEST_CASE("padding_fifo_queue: requires exactly the names of the spec") {
  padding_fifo_queue q(f_i_s(), 10);
  const tensor i = tensor::scalar(1);
  const tensor s = tensor::scalar("a");
  const tensor f = tensor::scalar(1.0F);
  CHECK(contains(refused(q, tensor_tuple(f, i, s)), "but have no names"));
  CHECK(contains(refused(q, tensor_tuple::named({})), "but have no names"));
  CHECK(contains(refused(q, tensor_tuple::named({{"x", i}})), "but have 'x'"));
  CHECK(contains(refused(q, tensor_tuple::named({{"i", i}, {"s", s}})), "but have 'i', 's'"));
  CHECK(contains(refused(q, tensor_tuple::named({{"f", f}, {"i", i}, {"s", s}, {"x", i}})),
                 "but have 'f', 'i', 's', 'x'"));
  CHECK(q.size() == 0);
}

LEAT_TEST("padding_fifo_queue: pushes and pops elements and batches by name") {
  padding_fifo_queue q(f_i_s(), 10);
  const tensor_tuple kept = i_s_f(125, "cc", 30);
  co_await q.push(i_s_f(123, "aa", 10));
  co_await q.push(i_s_f(124, "bb", 20));
  co_await q.push(kept);
  auto more = tensor_tuple::named(
      {{"f", tensor::of<float>({2}, {40, 50})}, {"i", ints(126, 127)}, {"s", texts("dd", "ee")}});
  CHECK(co_await q.push_many(std::move(more)) == 2);

  const batch first = co_await q.pop();
  REQUIRE(first);
  CHECK((*first)["i"].value<int>() == 123);
  CHECK((*first)["s"].strings()[0] == "aa");
  const batch second = co_await q.pop_many(2);
  REQUIRE(second);
  CHECK((*second)["i"] == ints(124, 125));
  CHECK((*second)["s"] == texts("bb", "cc"));
  const batch third = co_await q.pop_many(2);
  REQUIRE(third);
  CHECK((*third)["i"] == ints(126, 127));
  CHECK((*third)["f"] == tensor::of<float>({2}, {40, 50}));
}

TEST_CASE("padding_fifo_queue: rejects names if the spec has none") {
  padding_fifo_queue q(scalars(), 10);
  CHECK(
      contains(refused(q, tensor_tuple::named({{"a", tensor::scalar(12)}})), "spec has no names"));
}

TEST_CASE("padding_fifo_queue: rejects a negative count") {
  padding_fifo_queue q(scalars(), 10);
  const auto minus_one = static_cast<std::size_t>(-1);
  CHECK_FAILS(errc::invalid_argument, "negative", leat::block_on(q.pop_many(minus_one)));
  CHECK_FAILS(errc::invalid_argument, "negative", leat::block_on(q.pop_up_to(minus_one)));
}

}  // namespace padding_fifo_queue_test
