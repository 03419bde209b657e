// Every operation of every queue through as_tuple(). It returns a code and a value for each end,
// and does not throw.

#include <exception>

#include "leat/queue/padding_fifo_queue.hpp"
#include "queue/queue_kinds.hpp"
#include "queue/tensors.hpp"
#include "queue/weight/weighed_queues.hpp"
#include "support/foreign_coroutine.hpp"
#include "support/leat_test.hpp"

namespace queue_as_tuple_test {

using leat_test::foreign_coroutine;

using queue_kinds::capacity;
using queue_kinds::matrix;

template <class Combination>
struct operation : queue_kinds::waiting_operation<Combination> {
  using kind = typename Combination::kind;
  using verb = typename Combination::verb;

  static task<> in_a_task(operation& o) {
    const auto [ec, value] = co_await leat::as_tuple(verb::template start<kind>(o.q, o.with));
    o.note(ec, verb::template moved<kind>(value));
  }
  static foreign_coroutine in_another_coroutine(operation& o) {
    const auto [ec, value] = co_await leat::as_tuple(verb::template start<kind>(o.q, o.with));
    o.note(ec, verb::template moved<kind>(value));
  }
};

LEAT_TYPED_LIST_TEST("as_tuple: every verb completes at once and after a wait", matrix) {
  using verb = typename TestType::verb;
  for (const bool at_once : {true, false}) {
    operation<TestType> o;
    if (at_once) o.make_way();
    task_group g;
    g.spawn(operation<TestType>::in_a_task(o));
    co_await settle();
    CHECK(o.waiting() == (at_once && verb::moves <= capacity ? 0 : 1));
    while (!o.ended) {
      CHECK(o.help());
      co_await settle();
    }
    co_await g.join();
    CHECK_FALSE(o.ec);
    CHECK(o.moved == verb::moves);
  }
}

LEAT_TYPED_LIST_TEST("as_tuple: every verb returns no error on a closed queue", matrix) {
  using verb = typename TestType::verb;
  operation<TestType> o;
  o.q.close_and_cancel();
  co_await operation<TestType>::in_a_task(o);
  CHECK(o.ended);
  CHECK_FALSE(o.ec);
  CHECK(o.moved == 0);
  if (verb::puts_in) co_return;
  operation<TestType> waiting;
  task_group g;
  g.spawn(operation<TestType>::in_a_task(waiting));
  co_await settle();
  waiting.q.close();
  co_await g.join();
  CHECK(waiting.ended);
  CHECK_FALSE(waiting.ec);
  CHECK(waiting.moved == 0);
}

LEAT_TYPED_LIST_TEST(
    "as_tuple: every verb returns cancelled after a stop, before the start and halfway", matrix) {
  using verb = typename TestType::verb;
  for (const bool before : {true, false}) {
    operation<TestType> o;
    task_group g;
    g.spawn(operation<TestType>::in_a_task(o));
    const bool half = !before && verb::moves > 1;
    if (!before) co_await settle();
    if (half) CHECK(o.help());
    g.request_stop();
    co_await g.join();
    CHECK(o.ended);
    CHECK(o.ec == leat::make_error_code(errc::cancelled));
    CHECK(o.waiting() == 0);
    // A pop has put its item back. The item that a push_many added stays, and its result counts
    // it.
    CHECK(o.moved == (half && verb::puts_in ? 1 : 0));
    CHECK(o.q.size() == (verb::puts_in ? capacity : half ? 1 : 0));
  }
}

LEAT_TYPED_LIST_TEST("as_tuple: every verb returns the code of the cause of a failed queue",
                     matrix) {
  using verb = typename TestType::verb;
  for (const bool before : {true, false}) {
    operation<TestType> o;
    task_group g;
    if (!before) g.spawn(operation<TestType>::in_a_task(o));
    co_await settle();
    const bool half = !before && verb::puts_in && verb::moves > 1;
    if (half) CHECK(o.help());
    o.q.fail(std::make_exception_ptr(leat::failure(errc::data_loss, "damaged")));
    if (before) g.spawn(operation<TestType>::in_a_task(o));
    co_await g.join();
    CHECK(o.ended);
    CHECK(o.ec == errc::data_loss);
    CHECK(o.moved == (half ? 1 : 0));
  }
}

LEAT_TYPED_LIST_TEST("as_tuple: every verb works in a foreign coroutine", matrix) {
  using verb = typename TestType::verb;
  operation<TestType> o;
  const foreign_coroutine f = operation<TestType>::in_another_coroutine(o);
  CHECK(o.waiting() == 1);
  for (std::size_t i = 0; i < verb::moves; ++i) CHECK(o.help());
  CHECK_FALSE(o.ended);
  co_await settle();
  CHECK(o.ended);
  CHECK_FALSE(o.ec);
  CHECK(o.moved == verb::moves);
  f.handle.destroy();
}

LEAT_TYPED_LIST_TEST("as_tuple: every verb can be destroyed while it waits", matrix) {
  using verb = typename TestType::verb;
  operation<TestType> o;
  const foreign_coroutine f = operation<TestType>::in_another_coroutine(o);
  const bool half = verb::moves > 1;
  if (half) CHECK(o.help());
  CHECK(o.waiting() == 1);
  f.handle.destroy();
  CHECK(o.waiting() == 0);
  CHECK(o.q.size() == (verb::puts_in ? capacity : half ? 1 : 0));
  co_await settle();
  CHECK_FALSE(o.ended);
}

// ---- Operations that cannot begin or cannot complete.

LEAT_TEST("as_tuple: an operation that can never succeed returns a code") {
  leat::priority_queue<int> q(2);
  const auto [ec, batch] = co_await leat::as_tuple(q.pop_many(3));
  CHECK(ec == errc::invalid_argument);
  CHECK_FALSE(batch);
  leat::fifo_queue<int> fifo_of_ints(2);
  const auto [memory, nothing] = co_await leat::as_tuple(fifo_of_ints.pop_many(SIZE_MAX));
  CHECK(memory == errc::resource_exhausted);
  CHECK_FALSE(nothing);
}

LEAT_TEST("as_tuple: a batch that is too heavy returns resource_exhausted") {
  auto q = weighed_prioritized::make({.max_weight = 5});
  CHECK(q.try_push(4));
  task_group g;
  std::error_code ec;
  bool empty = false;
  g.spawn([](auto& from, std::error_code& code, bool& none) -> task<> {
    const auto [e, batch] = co_await leat::as_tuple(from.pop_many(2));
    code = e;
    none = !batch;
  }(q, ec, empty));
  actors a(q);
  a.push(3);
  co_await settle();
  CHECK(ec == errc::resource_exhausted);
  CHECK(empty);
  q.close_and_cancel();
  co_await a.join();
}

LEAT_TEST("as_tuple: elements that cannot form a batch return to the queue") {
  leat::padding_fifo_queue q(spec_of(leat::dtype::int32, {any, any}), 2);
  REQUIRE(q.try_push(tall()));
  REQUIRE(q.try_push(wide()));
  const auto [ec, batch] = co_await leat::as_tuple(q.pop_many(2));
  CHECK(ec == errc::invalid_argument);
  CHECK_FALSE(batch);
  CHECK(q.size() == 2);
}

LEAT_TEST("as_tuple: a queue that failed with another exception type returns its code") {
  leat::fifo_queue<int> q(1);
  q.fail(std::make_exception_ptr(std::logic_error("a bug")));
  const auto [ec, item] = co_await leat::as_tuple(q.pop());
  CHECK(ec == errc::unknown);
  CHECK_FALSE(item);
}

// ---- Combinations with other awaitables.

LEAT_TEST("as_tuple: works with with_timeout and select") {
  leat::fifo_queue<int> a(1);
  leat::fifo_queue<std::string> b(1);
  const auto [late, nothing] =
      co_await leat::as_tuple(leat::with_timeout(a.pop(), std::chrono::milliseconds(10)));
  CHECK(late == errc::deadline_exceeded);
  CHECK_FALSE(nothing);
  CHECK(a.statistics().waiting_pops == 0);
  CHECK(a.try_push(3));
  const auto [in_time, item] =
      co_await leat::as_tuple(leat::with_timeout(a.pop(), std::chrono::milliseconds(10)));
  CHECK_FALSE(in_time);
  CHECK(item == 3);
  CHECK(b.try_push("text"));
  const auto [none, first] = co_await leat::as_tuple(leat::select(a.pop(), b.pop()));
  CHECK_FALSE(none);
  REQUIRE(first.index() == 1);
  CHECK(std::get<1>(first) == "text");
  a.fail(std::make_exception_ptr(leat::failure(errc::data_loss, "damaged")));
  const auto [failed, second] = co_await leat::as_tuple(leat::select(b.pop(), a.pop()));
  CHECK(failed == errc::data_loss);
}

LEAT_TEST("as_tuple: works with move-only items") {
  leat::fifo_queue<std::unique_ptr<int>> q(1);
  const auto [none, in] = co_await leat::as_tuple(q.push(std::make_unique<int>(3)));
  CHECK_FALSE(none);
  CHECK(in);
  auto [ec, item] = co_await leat::as_tuple(q.pop());
  CHECK_FALSE(ec);
  REQUIRE(item);
  CHECK(**item == 3);
}

LEAT_TEST("as_tuple: a cancelled push does not move from its value") {
  leat::fifo_queue<std::string> q(1);
  CHECK(q.try_push("first"));
  std::string value = "a value that is too long for a small string";
  task_group g;
  g.spawn([](auto& to, std::string& v) -> task<> {
    const auto [ec, in] = co_await leat::as_tuple(to.push(std::move(v)));
    CHECK(ec == errc::cancelled);
    CHECK_FALSE(in);
  }(q, value));
  co_await settle();
  g.request_stop();
  co_await g.join();
  CHECK(value == "a value that is too long for a small string");
}

}  // namespace queue_as_tuple_test
