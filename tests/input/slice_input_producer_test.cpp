#include "leat/input/slice_input_producer.hpp"

#include "input/producing.hpp"

using namespace producing;
using leat::slice_input_producer;
using leat::tensor;
using leat::tensor_tuple;

namespace slice_input_producer_test {

tensor letters() { return tensor::of({4}, {"Alpha", "Beta", "Delta", "Gamma"}); }
tensor primes() { return tensor::of<std::int64_t>({4}, {2, 3, 5, 7}); }

std::string text_of(const tensor_tuple& pair) {
  return std::string(pair[0].strings()[0]) + " " + std::to_string(pair[1].value<std::int64_t>());
}

names texts_of(const std::vector<tensor_tuple>& pairs) {
  names all;
  for (const tensor_tuple& p : pairs) all.push_back(text_of(p));
  return all;
}

std::string refused(tensor_tuple columns) {
  return refusal([&] { return slice_input_producer(std::move(columns)).queue().size(); });
}

LEAT_TEST("slice_input_producer: returns rows of all columns together and in order") {
  slice_input_producer p(tensor_tuple(letters(), primes()), {.num_epochs = 3, .shuffle = false});
  const names out = texts_of(co_await all_of(p));
  names expected;
  for (int e = 0; e < 3; ++e) {
    for (const char* s : {"Alpha 2", "Beta 3", "Delta 5", "Gamma 7"}) expected.push_back(s);
  }
  CHECK(out == expected);
}

LEAT_TEST("slice_input_producer: all orders of four are equally likely, and rows stay together") {
  slice_input_producer p(tensor_tuple(letters(), primes()), {.num_epochs = 1200, .seed = 5});
  const names out = texts_of(co_await all_of(p));
  REQUIRE(out.size() == 4800);
  check_orders(out, 4, 24, 31, 69);
}

LEAT_TEST("slice_input_producer: elements have the columns' names, and rows of any shape") {
  auto columns = tensor_tuple::named({{"image", tensor::of<float>({2, 2, 1}, {1, 2, 3, 4})},
                                      {"label", tensor::of<std::uint8_t>({2}, {8, 9})}});
  slice_input_producer p(columns, {.num_epochs = 1, .shuffle = false});
  CHECK(p.spec()[0] == leat::component_spec{leat::dtype::float32, {2, 1}, "image"});
  const auto out = co_await all_of(p);
  REQUIRE(out.size() == 2);
  CHECK(out[1]["image"] == tensor::of<float>({2, 1}, {3, 4}));
  CHECK(out[1]["label"] == tensor::scalar(std::uint8_t{9}));
  CHECK_FALSE(out[1]["image"].is_shared());
}

LEAT_TEST("slice_input_producer: more rows than fit") {
  std::vector<float> values;
  for (int i = 0; i < 20; ++i) values.push_back(static_cast<float>(i));
  const tensor rows = tensor::of({10, 2}, std::span<const float>(values));
  slice_input_producer p(tensor_tuple(rows), {.num_epochs = 2, .shuffle = false, .capacity = 3});
  const auto out = co_await all_of(p);
  REQUIRE(out.size() == 20);
  for (std::size_t i = 0; i < 20; ++i) {
    REQUIRE(out[i][0].values<float>()[1] == static_cast<float>(2 * (i % 10) + 1));
  }
  CHECK(p.queue().statistics().peak_size == 3);
}

TEST_CASE("slice_input_producer: refuses no columns and columns without rows") {
  CHECK(contains(refused({}), "no columns"));
  CHECK(contains(refused(tensor_tuple(tensor::of<float>({0}, {}))), "rows is empty"));
  CHECK(contains(refused(tensor_tuple(letters(), tensor::scalar(1.0F))), "column 1 is a scalar"));
}

TEST_CASE("slice_input_producer: refuses columns of different lengths and names both") {
  const tensor three = tensor::of<float>({3}, {1, 2, 3});
  CHECK(contains(refused(tensor_tuple(three, letters())), "column 0 has 3 rows, column 1 has 4"));
  CHECK(contains(refused(tensor_tuple::named({{"x", letters()}, {"y", primes()}, {"z", three}})),
                 "column 'x' has 4 rows, column 'z' has 3"));
}

}  // namespace slice_input_producer_test
