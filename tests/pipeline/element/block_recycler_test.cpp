// Runs that were used up, and whose memory the next ones take.

#include "leat/pipeline/element/detail/block_recycler.hpp"

#include <utility>
#include <vector>

#include <catch2/catch.hpp>

namespace block_recycler_test {

TEST_CASE("spent_runs: a run comes again, empty and with its memory", "[pipeline]") {
  leat::detail::spent_runs<std::vector<int>> spent(1);
  CHECK(spent.take().capacity() == 0);
  std::vector<int> run(100, 1);
  const int* const memory = run.data();
  spent.give_back(std::move(run));
  run = spent.take();
  CHECK(run.empty());
  CHECK(run.capacity() == 100);
  CHECK(run.data() == memory);
}

TEST_CASE("spent_runs: not more are kept than can be under way", "[pipeline]") {
  leat::detail::spent_runs<std::vector<int>> spent(1);
  spent.give_back(std::vector<int>(1));
  spent.give_back(std::vector<int>(2));
  CHECK(spent.take().capacity() == 1);
  CHECK(spent.take().capacity() == 0);
}

}  // namespace block_recycler_test
