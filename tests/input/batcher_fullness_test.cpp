#include "leat/input/batcher.hpp"
#include "leat/input/tensor_batcher.hpp"
#include "leat/queue/queue_fullness.hpp"
#include "support/leat_test.hpp"

using leat::fullness;

namespace batcher_fullness_test {

template <class Queue>
void fill(Queue& queue, int items) {
  for (int i = 0; i < items; ++i) REQUIRE(queue.try_push(int{i}));
}

TEST_CASE("batcher: fullness counts items relative to the capacity") {
  leat::batcher<int> b({.batch_size = 2});
  fill(b.queue(), 8);
  CHECK(b.fullness() == fullness{"batch/fraction_of_32_full", 0.25F});
}

TEST_CASE("shuffle_batcher: fullness counts items above the minimum") {
  for (const auto& [items, value] : {std::pair(21, 0.5F), {4, 0.0F}, {10, 0.0F}, {32, 1.0F}}) {
    leat::shuffle_batcher<int> b({.batch_size = 2, .capacity = 32, .min_after_dequeue = 10});
    fill(b.queue(), items);
    CHECK(b.fullness() == fullness{"shuffle_batch/fraction_over_10_of_22_full", value});
  }
}

TEST_CASE("tensor_batcher: has the fullness of a batcher") {
  const leat::batch_spec spec({{.type = leat::dtype::float32, .shape = {}}});
  const leat::tensor_tuple element(leat::tensor::scalar(1.0F));
  leat::tensor_batcher b(spec, {.batch_size = 10});
  for (int i = 0; i < 8; ++i) leat::block_on(b.push(element));
  CHECK(b.fullness() == fullness{"batch/fraction_of_32_full", 0.25F});
  CHECK(b.queue().statistics().weight == 8 * sizeof(float));
  leat::tensor_shuffle_batcher shuffled(
      spec, {.batch_size = 10, .capacity = 32, .min_after_dequeue = 10, .seed = 1});
  for (int i = 0; i < 4; ++i) leat::block_on(shuffled.push(element));
  CHECK(shuffled.fullness() == fullness{"shuffle_batch/fraction_over_10_of_22_full", 0.0F});
  for (int i = 4; i < 21; ++i) leat::block_on(shuffled.push(element));
  CHECK(shuffled.fullness() == fullness{"shuffle_batch/fraction_over_10_of_22_full", 0.5F});
}

}  // namespace batcher_fullness_test
