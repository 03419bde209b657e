// An undo of a provisional pop makes no allocation, in any queue, even if the queue is full again.

#include <cstddef>
#include <tuple>

#include <catch2/catch.hpp>

#include "faults/failing_allocations.hpp"
#include "queue/provisional/provisional_pops.hpp"

namespace undo_memory_test {

using namespace provisional_pops;

TEMPLATE_LIST_TEST_CASE("provisional pop: an undo makes no allocation", "[faults]",
                        decltype(std::tuple_cat(fifos_of<by_handler>(), others_of<by_handler>()))) {
  using kind = typename TestType::kind;
  auto q = kind::make();
  typename TestType::pop first(q);
  push<kind>(q, TestType::moves);
  push<kind>(q, capacity);
  CHECK(q.statistics().provisional_pops == 1);
  const std::ptrdiff_t before = leat_test::made;
  first.cancel();
  const std::ptrdiff_t made = leat_test::made - before;
  CHECK(made == 0);
  CHECK(q.size() == capacity + TestType::moves);
  first.undo();
  CHECK(first.ended);
  CHECK(first.moved == 0);
  CHECK(drop_all(q) == capacity + TestType::moves);
}

}  // namespace undo_memory_test
