#include "leat/queue/queue_fullness.hpp"

#include "leat/queue.hpp"
#include "support/leat_test.hpp"

using leat::fullness;
using leat::queue_fullness;

namespace queue_fullness_test {

template <class Queue>
void fill(Queue& queue, int items) {
  for (int i = 0; i < items; ++i) REQUIRE(queue.try_push(int{i}));
}

TEST_CASE("queue_fullness: is the share of the capacity in use") {
  leat::fifo_queue<int> queue(32, "input_producer");
  fill(queue, 6);
  CHECK(queue_fullness(queue) == fullness{"input_producer/fraction_of_32_full", 0.1875F});
}

TEST_CASE("queue_fullness: an unbounded queue is never full") {
  leat::fifo_queue<int> queue(leat::unbounded, "all");
  fill(queue, 100);
  CHECK(queue_fullness(queue) == fullness{"all/fraction_of_unbounded_full", 0.0F});
}

TEST_CASE("queue_fullness: is 1 above the capacity") {
  const leat::queue_statistics s{.size = 9, .capacity = 8, .min_after_dequeue = 2};
  CHECK(queue_fullness("q", s) == fullness{"q/fraction_over_2_of_6_full", 1.0F});
}

TEST_CASE("queue_fullness: works for tensor queues") {
  leat::tensor_queue<leat::fifo_queue<leat::tensor_tuple>> queue(
      leat::element_spec({{.type = leat::dtype::float32, .shape = {}}}), std::size_t{4}, "tensors");
  REQUIRE(queue.try_push(leat::tensor_tuple(leat::tensor::scalar(1.0F))));
  CHECK(queue_fullness(queue) == fullness{"tensors/fraction_of_4_full", 0.25F});
}

}  // namespace queue_fullness_test
