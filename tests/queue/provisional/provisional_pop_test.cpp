// A provisional pop has its items and may return them. Until it is committed or undone, its items
// count as held, they have a place in the queue, and the queue does not report its end.

#include <exception>

#include "queue/provisional/provisional_select.hpp"
#include "support/leat_test.hpp"

namespace provisional_pop_test {

using namespace provisional_pops;

// Slow builds take long to compile the same code for every order.
using matrix = decltype(std::tuple_cat(
    fifos_of<by_select>(), fifos_of<by_handler>(),
    std::conditional_t<leat_test::slow_build, std::tuple<>, others_of<by_select>>()));

template <class Way>
using weighed = decltype(pops_of<Way>(queue_orders::each<weighing>()));

TEMPLATE_LIST_TEST_CASE("provisional pop: its items count as held until it is final", "[queue]",
                        matrix) {
  using kind = typename TestType::kind;
  constexpr std::size_t n = TestType::moves;
  auto q = kind::make();
  typename TestType::pop first(q);
  push<kind>(q, n);
  const auto provisional = q.statistics();
  CHECK(provisional.size == 0);
  CHECK(provisional.held == n);
  CHECK(provisional.provisional_pops == 1);
  CHECK(provisional.popped == 0);
  CHECK(contains(described(q), ", 1 provisional)"));
  SECTION("commit") {
    first.commit();
    CHECK(first.ended);
    CHECK_FALSE(first.ec);
    CHECK(first.moved == n);
    CHECK(q.statistics().popped == n);
    CHECK(q.statistics().returned == 0);
    CHECK(q.size() == 0);
  }
  SECTION("undo") {
    first.undo();
    CHECK(first.ended);
    CHECK(first.moved == 0);
    CHECK(q.statistics().popped == 0);
    CHECK(q.statistics().returned == n);
    CHECK(q.size() == n);
  }
  CHECK(q.statistics().held == 0);
  CHECK(q.statistics().provisional_pops == 0);
  CHECK_FALSE(contains(described(q), "provisional"));
}

TEMPLATE_LIST_TEST_CASE("provisional pop: a pop that ends without items is not provisional",
                        "[queue]", matrix) {
  using kind = typename TestType::kind;
  auto q = kind::make();
  typename TestType::pop first(q);
  bool has_loop = true;
  SECTION("closed") { q.close(); }
  SECTION("cancelled") { first.undo(); }
  SECTION("its loop ends") {
    first.end_loop();
    has_loop = false;
  }
  const auto s = q.statistics();
  CHECK(s.held == 0);
  CHECK(s.provisional_pops == 0);
  CHECK(s.waiting_pops == 0);
  if (has_loop) first.commit();
  CHECK(first.moved == 0);
}

template <class Queue>
void end_of_items(Queue& q, int how) {
  if (how == 0) q.close();
  if (how == 1) q.close_and_cancel();
  if (how == 2) q.fail(std::make_exception_ptr(std::bad_alloc()));
}

TEMPLATE_LIST_TEST_CASE("provisional pop: a pop of the closed queue waits until it is final",
                        "[queue]", matrix) {
  using kind = typename TestType::kind;
  constexpr std::size_t n = TestType::moves;
  auto q = kind::make();
  typename TestType::pop first(q);
  plain_pop<kind, pop> waits_before(q);
  push<kind>(q, n);
  end_of_items(q, GENERATE(0, 1, 2));
  const bool failed = q.failure_cause() != nullptr;
  plain_pop<kind, pop> waits_after(q);
  CHECK_FALSE(waits_before.has_ended());
  CHECK_FALSE(waits_after.has_ended());
  CHECK(q.is_closed());
  CHECK(q.statistics().waiting_pops == 2);
  SECTION("commit") {
    first.commit();
    CHECK(first.moved == n);
    CHECK(waits_before.has_ended());
    CHECK(waits_before.moved == 0);
    CHECK(bool(waits_before.ec) == failed);
  }
  SECTION("undo") {
    first.undo();
    CHECK(first.moved == 0);
    CHECK(waits_before.has_ended());
    CHECK(waits_before.moved == 1);
    CHECK(waits_after.has_ended());
    CHECK(waits_after.moved == (n > 1 ? 1 : 0));
  }
  SECTION("its loop ends") {
    first.end_loop();
    CHECK(waits_before.has_ended());
    CHECK(waits_before.moved == 1);
  }
  CHECK(waits_after.has_ended());
  CHECK(q.statistics().waiting_pops == 0);
}

TEMPLATE_LIST_TEST_CASE("provisional pop: a batch of the closed queue waits until it is final",
                        "[queue]", matrix) {
  using kind = typename TestType::kind;
  constexpr std::size_t n = TestType::moves;
  constexpr std::size_t rest = of_batch::moves - 1;  // together with the returned items enough
  auto q = kind::make();
  typename TestType::pop first(q);
  push<kind>(q, n);
  push<kind>(q, rest);
  q.close();
  const bool undone = GENERATE(false, true);
  CAPTURE(undone);
  const auto moved_by = [&]<class Pop>(Pop) {
    plain_pop<kind, Pop> batch(q);
    CHECK_FALSE(batch.has_ended());
    undone ? first.undo() : first.commit();
    CHECK(batch.has_ended());
    return batch.moved;
  };
  SECTION("pop_many") {
    CHECK(moved_by(pop_many()) == (undone ? of_batch::moves : 0));
    CHECK(q.size() == (undone ? n + rest - of_batch::moves : rest));
  }
  SECTION("pop_up_to") { CHECK(moved_by(pop_up_to()) == (undone ? of_batch::moves : rest)); }
  drop_all(q);
  const auto s = q.statistics();
  CHECK(s.held == 0);
  CHECK(s.pushed == s.popped);
}

TEMPLATE_LIST_TEST_CASE("provisional pop: a non-blocking pop takes what is stored", "[queue]",
                        matrix) {
  using kind = typename TestType::kind;
  auto q = kind::make();
  typename TestType::pop first(q);
  push<kind>(q, TestType::moves);
  push<kind>(q, 1);
  q.close();
  CHECK(q.try_pop());
  CHECK_FALSE(q.try_pop());
  first.undo();
  CHECK(drop_all(q) == TestType::moves);
}

TEMPLATE_LIST_TEST_CASE("provisional pop: its items return to a queue that is full again",
                        "[queue]", matrix) {
  using kind = typename TestType::kind;
  constexpr std::size_t n = TestType::moves;
  auto q = kind::make();
  typename TestType::pop first(q);
  push<kind>(q, n);
  push<kind>(q, capacity);
  bool entered = false;
  leat_test::asio_loop loop;
  q.async_push(
      kind::make_item(),
      asio::bind_executor(loop.context(), [&](std::error_code, bool in) { entered = in; }));
  CHECK(q.statistics().waiting_pushes == 1);
  first.undo();
  CHECK(q.size() == capacity + n);
  CHECK(q.statistics().waiting_pushes == 1);
  for (std::size_t i = 0; i < n; ++i) {
    CHECK(q.try_pop());
    CHECK(q.statistics().waiting_pushes == 1);
  }
  CHECK(q.try_pop());
  loop.run_ready();
  CHECK(entered);
  CHECK(drop_all(q) == capacity);
}

TEMPLATE_LIST_TEST_CASE("provisional pop: several on one queue end in any order", "[queue]",
                        matrix) {
  using kind = typename TestType::kind;
  constexpr std::size_t n = TestType::moves;
  auto q = kind::make();
  typename TestType::pop first(q);
  typename TestType::pop second(q);
  typename TestType::pop third(q);
  for (int i = 0; i < 3; ++i) push<kind>(q, n);
  q.close();
  plain_pop<kind, pop> waits(q);
  CHECK(q.statistics().provisional_pops == 3);
  second.commit();
  CHECK_FALSE(waits.has_ended());
  CHECK(q.statistics().held == 2 * n);
  third.undo();
  CHECK(waits.has_ended());
  CHECK(waits.moved == 1);
  first.commit();
  CHECK(q.statistics().held == 0);
  CHECK(drop_all(q) == n - 1);
}

// Not for tensors: a batch of them is stacked as the spec of the queue says.
TEMPLATE_LIST_TEST_CASE("provisional pop: is final when its queue is destroyed", "[queue]",
                        decltype(std::tuple_cat(fifos_of<by_select>(), fifos_of<by_handler>()))) {
  using kind = typename TestType::kind;
  std::optional<typename TestType::pop> first;
  {
    auto q = kind::make();
    first.emplace(q);
    push<kind>(q, TestType::moves);
  }
  SECTION("commit") {
    first->commit();
    CHECK(first->moved == TestType::moves);
  }
  SECTION("its loop ends") { first->end_loop(); }
}

TEMPLATE_LIST_TEST_CASE("provisional pop: an undo does not weigh again", "[queue]",
                        decltype(std::tuple_cat(weighed<by_select>(), weighed<by_handler>()))) {
  using kind = typename TestType::kind;
  constexpr std::size_t n = TestType::moves;
  auto q = kind::make();
  const bool at_once = TestType::way::at_once && GENERATE(false, true);
  if (at_once) push<kind>(q, n);
  typename TestType::pop first(q);
  if (!at_once) push<kind>(q, n);
  CHECK(q.statistics().weight == 0);
  weigher_fails = true;
  first.undo();
  weigher_fails = false;
  CHECK(q.size() == n);
  CHECK(q.statistics().weight == 7 * n);
  CHECK(q.statistics().returned_weight == 7 * n);
  CHECK(drop_all(q) == n);
  CHECK(q.statistics().weight == 0);
}

}  // namespace provisional_pop_test
