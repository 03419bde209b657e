// Consumed blocks, the memory of which the next blocks reuse.

#include "leat/pipeline/element/detail/block_recycler.hpp"

#include <utility>
#include <vector>

#include <catch2/catch.hpp>

namespace block_recycler_test {

TEST_CASE("block_recycler: a block is returned again, empty and with its memory", "[pipeline]") {
  leat::detail::block_recycler<std::vector<int>> spent(1);
  CHECK(spent.take().capacity() == 0);
  std::vector<int> block(100, 1);
  const int* const memory = block.data();
  spent.give_back(std::move(block));
  block = spent.take();
  CHECK(block.empty());
  CHECK(block.capacity() == 100);
  CHECK(block.data() == memory);
}

TEST_CASE("block_recycler: keeps at most as many blocks as can be in use", "[pipeline]") {
  leat::detail::block_recycler<std::vector<int>> spent(1);
  spent.give_back(std::vector<int>(1));
  spent.give_back(std::vector<int>(2));
  CHECK(spent.take().capacity() == 1);
  CHECK(spent.take().capacity() == 0);
}

}  // namespace block_recycler_test
