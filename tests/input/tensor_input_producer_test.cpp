#include "leat/input/tensor_input_producer.hpp"

#include "input/producing.hpp"
#include "support/leat_test.hpp"

using namespace producing;
using leat::shape;
using leat::tensor;
using leat::tensor_input_producer;

namespace tensor_input_producer_test {

tensor numbers() {
  return tensor::of<std::int32_t>({3, 4}, {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12});
}

task<tensor> find_numbers() {
  co_await leat::this_task::yield();
  co_return numbers();
}
task<tensor> find_no_rows() {
  co_await leat::this_task::yield();
  co_return tensor(leat::dtype::int32, {0, 4});
}

// Checks the rows of numbers(), twice.
void check_rows(const std::vector<tensor>& out) {
  REQUIRE(out.size() == 6);
  for (std::size_t i = 0; i < 6; ++i) {
    const auto first = static_cast<std::int32_t>(4 * (i % 3) + 1);
    CHECK(out[i] == tensor::of<std::int32_t>({4}, {first, first + 1, first + 2, first + 3}));
  }
}

LEAT_TEST("tensor_input_producer: returns the rows in order in each epoch") {
  tensor_input_producer p(numbers(), {.num_epochs = 2, .shuffle = false});
  CHECK(p.element_shape() == shape{4});
  const std::vector<tensor> out = co_await all_of(p);
  check_rows(out);
}

LEAT_TEST("tensor_input_producer: accepts a tensor found at run time with a known row shape") {
  tensor_input_producer p(find_numbers, shape{4}, {.num_epochs = 2, .shuffle = false});
  const std::vector<tensor> out = co_await all_of(p);
  check_rows(out);
}

TEST_CASE("tensor_input_producer: needs element_shape for a tensor found at run time") {
  const std::string said =
      refusal([] { return tensor_input_producer(find_numbers, std::nullopt).queue().size(); });
  CHECK(contains(said, "set element_shape"));
}

TEST_CASE("tensor_input_producer: refuses a tensor without rows or with other rows") {
  const auto refused = [](tensor rows, shape row) {
    return refusal([&] { return tensor_input_producer(std::move(rows), row).queue().size(); });
  };
  CHECK_FAILS(errc::invalid_argument, "tensor is a scalar, must have rows",
              tensor_input_producer(tensor::scalar(1.0F)).queue().size());
  CHECK(contains(refused(tensor(leat::dtype::int32, {0, 4}), {4}), "rows is empty"));
  CHECK(contains(refused(numbers(), {5}), "rows have the shape [4], but element_shape is [5]"));
  CHECK(refused(numbers(), {4}).empty());
}

LEAT_TEST("tensor_input_producer: the consumer receives the error of a found tensor") {
  tensor_input_producer other(find_numbers, shape{5});
  const end wrong = co_await end_of(other);
  CHECK(wrong.code == errc::invalid_argument);
  CHECK(contains(wrong.consumer, "element_shape is [5]"));
  CHECK(wrong.coordinator == wrong.consumer);
  tensor_input_producer none(find_no_rows, shape{4});
  const end empty = co_await end_of(none);
  CHECK(contains(empty.consumer, "rows is empty"));
}

}  // namespace tensor_input_producer_test
