#include "leat/tensor/stacking.hpp"

#include <algorithm>

#include "tensor/plain_test.hpp"

using leat::component_spec;
using leat::dtype;
using leat::pad;
using leat::shape;
using leat::stack;
using leat::tensor;
using leat::tensor_tuple;
using leat::unstack;
using leat::unstack_row;

namespace stacking_test {

constexpr std::int64_t any = leat::unknown_dimension;

std::vector<tensor> rows(std::initializer_list<tensor> all) { return all; }

tensor counted(const shape& s) {
  tensor t(dtype::int32, s);
  int next = 1;
  for (int& value : t.mutable_values<int>()) value = next++;
  return t;
}

// By the definition: value by value.
tensor slowly_padded(const tensor& t, const shape& to) {
  tensor result(dtype::int32, to);
  const auto out = result.mutable_values<int>();
  const auto in = t.values<int>();
  for (std::size_t i = 0; i < in.size(); ++i) {
    std::size_t rest = i;
    std::size_t at = 0;
    std::size_t stride = 1;
    for (std::size_t d = to.rank(); d-- > 0;) {
      const auto size = static_cast<std::size_t>(t.shape()[d]);
      at += rest % size * stride;
      rest /= size;
      stride *= static_cast<std::size_t>(to[d]);
    }
    out[at] = in[i];
  }
  return result;
}

tensor as_strings(const tensor& t) {
  std::vector<std::string> texts;
  for (const int value : t.values<int>()) {
    texts.push_back(value == 0 ? ""
                               : std::string(static_cast<std::size_t>(value % 5), 'x') +
                                     std::to_string(value));
  }
  return tensor::of(t.shape(), std::span<const std::string>(texts));
}

TEST_CASE("stack: stores rows of the same shape consecutively") {
  CHECK(stack(rows({tensor::of({2}, {1, 2}), tensor::of({2}, {3, 4})})) ==
        tensor::of({2, 2}, {1, 2, 3, 4}));
  CHECK(stack(rows({tensor::scalar(7), tensor::scalar(8), tensor::scalar(9)})) ==
        tensor::of({3}, {7, 8, 9}));
  CHECK(stack(rows({tensor::of({2}, {"a", "bc"}), tensor::of({2}, {"", "d"})})) ==
        tensor::of({2, 2}, {"a", "bc", "", "d"}));
  CHECK(stack(rows({tensor(dtype::int8, {0, 4})})) == tensor(dtype::int8, {1, 0, 4}));
}

TEST_CASE("stack: unknown dimensions become the largest of the batch") {
  const auto batch = stack(rows({tensor::of({1, 1}, {1}), tensor::of({1, 3}, {2, 3, 4})}),
                           {.type = dtype::int32, .shape = {1, any}});
  CHECK(batch == tensor::of({2, 1, 3}, {1, 0, 0, 2, 3, 4}));
  const auto texts = stack(rows({tensor::of({1}, {"ab"}), tensor::of({3}, {"c", "", "d"})}),
                           {.type = dtype::string, .shape = {any}});
  CHECK(texts == tensor::of({2, 3}, {"ab", "", "", "c", "", "d"}));
  const auto last = stack(rows({tensor::of({2}, {"c", "d"}), tensor::of({1}, {"ab"})}),
                          {.type = dtype::string, .shape = {any}});
  CHECK(last == tensor::of({2, 2}, {"c", "d", "ab", ""}));
}

TEST_CASE("stack: without rows unknown dimensions are 0") {
  const std::vector<tensor> none;
  CHECK(stack(none, {.type = dtype::int32, .shape = {2, any}}).shape() == shape{0, 2, 0});
  CHECK(stack(none, {.type = dtype::string, .shape = {}}).shape() == shape{0});
}

TEST_CASE("stack: refuses rows that do not match") {
  const auto two = rows({tensor::of({2}, {1, 2}), tensor::of({1}, {3})});
  CHECK_REFUSED("Shape mismatch in row 1. Expected [2], got [1]", stack(two));
  CHECK_REFUSED("Type mismatch in row 0. Expected int64, got int32",
                stack(two, {.type = dtype::int64, .shape = {any}}));
  CHECK_REFUSED("Shape mismatch in row 1", stack(two, component_spec{.type = dtype::int32}));
  CHECK_REFUSED("no rows to stack", stack(std::vector<tensor>()));
  CHECK_REFUSED("no known shape", stack(std::vector<tensor>(), component_spec{}));
}

TEST_CASE("pad: extends a tensor of every rank at its high end") {
  CHECK(pad(tensor::of({2}, {1, 2}), {4}) == tensor::of({4}, {1, 2, 0, 0}));
  CHECK(pad(tensor::of({1, 2}, {true, true}), {2, 3}) ==
        tensor::of({2, 3}, {true, true, false, false, false, false}));
  CHECK(pad(tensor::scalar(3), {}) == tensor::scalar(3));
  CHECK(pad(tensor(dtype::int32, {0, 2}), {1, 3}) == tensor(dtype::int32, {1, 3}));
  CHECK_REFUSED("of shape [2] cannot be padded to [1]", pad(tensor::of({2}, {1, 2}), {1}));
  CHECK_REFUSED("cannot be padded", pad(tensor::of({2}, {1, 2}), {2, 2}));
  leat::random_engine random(1);
  for (int i = 0; i < 300; ++i) {
    std::vector<std::int64_t> from(1 + random.uniform_below(6));
    std::vector<std::int64_t> to;
    for (std::int64_t& d : from) {
      d = static_cast<std::int64_t>(1 + random.uniform_below(3));
      to.push_back(d + static_cast<std::int64_t>(random.uniform_below(2)));
    }
    const tensor t = counted(shape(std::span(from)));
    const tensor expected = slowly_padded(t, shape(std::span(to)));
    REQUIRE(pad(t, shape(std::span(to))) == expected);
    REQUIRE(pad(as_strings(t), shape(std::span(to))) == as_strings(expected));
  }
}

TEST_CASE("stack: rows of different shapes equal the padded rows stacked") {
  leat::random_engine random(2);
  for (int i = 0; i < 100; ++i) {
    const std::size_t rank = 1 + random.uniform_below(5);
    std::vector<tensor> in(1 + random.uniform_below(5));
    std::vector<std::int64_t> largest(rank, 0);
    for (tensor& t : in) {
      std::vector<std::int64_t> dimensions(rank);
      for (std::size_t d = 0; d < rank; ++d) {
        dimensions[d] = static_cast<std::int64_t>(random.uniform_below(4));
        largest[d] = std::max(largest[d], dimensions[d]);
      }
      t = counted(shape(std::span(dimensions)));
    }
    const std::vector<std::int64_t> unknown(rank, any);
    component_spec spec{.type = dtype::int32, .shape = leat::partial_shape(std::span(unknown))};
    std::vector<tensor> padded;
    std::vector<tensor> texts;
    for (const tensor& t : in) {
      padded.push_back(pad(t, shape(std::span(largest))));
      texts.push_back(as_strings(t));
    }
    const tensor expected = stack(padded);
    REQUIRE(stack(in, spec) == expected);
    spec.type = dtype::string;
    REQUIRE(stack(texts, spec) == as_strings(expected));
  }
}

TEST_CASE("unstack: rows have memory of their own, and stacked they are the batch") {
  const auto numbers = tensor::of({2, 3}, {1, 2, 3, 4, 5, 6});
  const auto apart = unstack(numbers);
  REQUIRE(apart.size() == 2);
  CHECK(apart[1] == tensor::of({3}, {4, 5, 6}));
  CHECK_FALSE(apart[1].is_shared());
  CHECK(stack(apart) == numbers);
  const auto texts = tensor::of({3, 1}, {"a", "", "bcd"});
  CHECK(stack(unstack(texts)) == texts);
  CHECK(unstack(tensor::of({2}, {1, 2}))[1] == tensor::scalar(2));
  CHECK(unstack(tensor(dtype::int32, {0, 3})).empty());
  CHECK(unstack(tensor(dtype::string, {2, 0})).size() == 2);
  CHECK_REFUSED("scalar has no rows", unstack(tensor::scalar(1)));
  CHECK_THROWS_AS(unstack(tensor(dtype::int32, {INT64_MAX, 0})), std::bad_alloc);
}

TEST_CASE("unstack_row: one row, with memory of its own") {
  const auto numbers = tensor::of({2, 3}, {1, 2, 3, 4, 5, 6});
  CHECK(unstack_row(numbers, 1) == tensor::of({3}, {4, 5, 6}));
  CHECK_FALSE(unstack_row(numbers, 1).is_shared());
  CHECK(unstack_row(tensor::of({3, 1}, {"a", "", "bcd"}), 2) == tensor::of({1}, {"bcd"}));
  CHECK(unstack_row(tensor::of({2}, {1, 2}), 0) == tensor::scalar(1));
  CHECK_REFUSED("row 2 does not exist: the batch has the shape [2,3]", unstack_row(numbers, 2));
  CHECK_REFUSED("scalar has no rows", unstack_row(tensor::scalar(1), 0));
}

TEST_CASE("stack: elements become a batch and come apart again") {
  const leat::element_spec spec({{.type = dtype::int32, .shape = {any}, .name = "n"},
                                 {.type = dtype::string, .shape = {}, .name = "s"}});
  std::vector<tensor_tuple> elements;
  for (int i = 1; i <= 3; ++i) {
    elements.push_back(
        tensor_tuple::named({{"n", counted({i})}, {"s", tensor::scalar(std::to_string(i))}}));
    spec.check(elements.back());
  }
  const tensor_tuple batch = stack(elements, spec);
  CHECK(batch["n"] == tensor::of({3, 3}, {1, 0, 0, 1, 2, 0, 1, 2, 3}));
  CHECK(batch["s"] == tensor::of({3}, {"1", "2", "3"}));
  const auto apart = unstack(batch);
  REQUIRE(apart.size() == 3);
  CHECK(apart[2] == elements[2]);
  CHECK(apart[1]["n"] == tensor::of({3}, {1, 2, 0}));

  elements[1] = tensor_tuple(tensor::scalar(1));
  CHECK_REFUSED("components, must have 2", stack(elements, spec));
  CHECK_REFUSED("differ in dimension 0: their shapes are [2] and [1]",
                unstack(tensor_tuple(tensor::of({2}, {1, 2}), tensor::of({1}, {1}))));
  CHECK(unstack(tensor_tuple()).empty());
}

}  // namespace stacking_test
