// A provisional pop reserves memory to return its items when it begins. Nothing else uses it until
// the pop is final, so an undo does not allocate.

#include <new>

#include "queue/exact_queue.hpp"
#include "queue/provisional/provisional_select.hpp"
#include "support/leat_test.hpp"

namespace provisional_memory_test {

using namespace provisional_pops;

// Items of exact_order, of which each batch is taken together.
struct whole_batches : exact_order {
  static constexpr bool takes_whole_batches = true;
  using exact_order::exact_order;
};

template <class Order>
struct exact {
  using queue = exact_queue_of<Order>;
  static int make_item() { return 7; }
  static std::size_t count(const std::vector<int>& batch) { return batch.size(); }
};

using matrix = decltype(std::tuple_cat(with_every_pop<by_select, exact<exact_order>>(),
                                       with_every_pop<by_select, exact<whole_batches>>(),
                                       with_every_pop<by_handler, exact<exact_order>>(),
                                       with_every_pop<by_handler, exact<whole_batches>>()));

TEMPLATE_LIST_TEST_CASE("provisional pop: an undo into a full queue needs no memory", "[queue]",
                        matrix) {
  using kind = typename TestType::kind;
  constexpr std::size_t n = TestType::moves;
  room r;
  typename kind::queue q(4, r);
  typename TestType::pop first(q);
  CHECK(r.reserved == 4 + n);
  push<kind>(q, n);
  push<kind>(q, 4);
  r.refuse = true;
  first.undo();
  CHECK(q.size() == 4 + n);
  CHECK_FALSE(r.overrun);
}

TEMPLATE_LIST_TEST_CASE("provisional pop: a push does not use the reserved memory", "[queue]",
                        matrix) {
  using kind = typename TestType::kind;
  constexpr std::size_t n = TestType::moves;
  room r;
  typename kind::queue q(leat::unbounded, r);
  const bool at_once = TestType::way::at_once && GENERATE(false, true);
  if (at_once) push<kind>(q, n);
  typename TestType::pop first(q);
  if (!at_once) push<kind>(q, n);
  CHECK(q.statistics().provisional_pops == 1);
  r.refuse = true;
  std::size_t entered = 0;
  const auto push_until_refused = [&] {
    while (q.try_push(7)) ++entered;
  };
  CHECK_THROWS_AS(push_until_refused(), std::bad_alloc);
  CHECK(q.size() == entered);
  SECTION("undo") {
    first.undo();
    CHECK(q.size() == entered + n);
    CHECK_THROWS_AS(push_until_refused(), std::bad_alloc);
  }
  SECTION("commit") {
    first.commit();
    CHECK_THROWS_AS(push_until_refused(), std::bad_alloc);
    CHECK(q.size() == r.reserved);
  }
  CHECK_FALSE(r.overrun);
}

TEMPLATE_LIST_TEST_CASE("provisional pop: a pop without memory to return its items fails",
                        "[queue]", matrix) {
  using kind = typename TestType::kind;
  room r;
  typename kind::queue q(1'000'000, r);  // not allocated immediately
  r.refuse = true;
  typename TestType::pop first(q);
  first.commit();
  CHECK(first.ended);
  CHECK(first.ec == errc::resource_exhausted);
  CHECK(q.statistics().waiting_pops == 0);
  CHECK(q.statistics().provisional_pops == 0);
  r.refuse = false;
  push<kind>(q, TestType::moves);
  CHECK(q.size() == TestType::moves);
  typename TestType::pop second(q);
  second.commit();
  CHECK(second.moved == TestType::moves);
}

TEMPLATE_LIST_TEST_CASE("provisional pop: leaves no reservation when it is final", "[queue]",
                        matrix) {
  using kind = typename TestType::kind;
  constexpr std::size_t n = TestType::moves;
  room r;
  typename kind::queue q(4, r);
  for (int i = 0; i < 100; ++i) {
    typename TestType::pop first(q);
    if (i % 4 != 0) push<kind>(q, n);
    if (i % 4 == 2) first.undo();
    if (i % 4 == 3) first.commit();
    first.end_loop();
    drop_all(q);
  }
  CHECK(q.statistics().held == 0);
  CHECK(r.reserved == 4 + n);
  CHECK_FALSE(r.overrun);
}

}  // namespace provisional_memory_test
