// Queue operations in a select: only the winning operation moves items.

#include "leat/async/select.hpp"

#include <span>
#include <stop_token>
#include <variant>

#include "leat/sim.hpp"
#include "queue/operation/queue_actors.hpp"
#include "support/leat_test.hpp"

namespace queue_select_test {

LEAT_TEST("select: chooses the queue that has an item") {
  leat::fifo_queue<int> a(2, "a");
  leat::fifo_queue<std::string> b(2, "b");
  co_await b.push("text");
  const auto first = co_await leat::select(a.pop(), b.pop());
  REQUIRE(first.index() == 1);
  CHECK(std::get<1>(first) == "text");
  CHECK(b.size() == 0);
  co_await a.push(1);
  co_await b.push("more");
  const auto second = co_await leat::select(a.pop(), b.pop());  // both are ready: the first wins
  REQUIRE(second.index() == 0);
  CHECK(std::get<0>(second) == 1);
  CHECK(b.size() == 1);
}

LEAT_TEST("select: a waiting select takes the first item from one queue only") {
  leat::fifo_queue<int> a(2, "a");
  leat::fifo_queue<int> b(2, "b");
  task_group group;
  std::size_t index = 9;
  group.spawn([](auto& x, auto& y, std::size_t& out) -> task<> {
    const auto r = co_await leat::select(x.pop(), y.pop());
    out = r.index();
  }(a, b, index));
  co_await settle();
  CHECK(a.statistics().waiting_pops == 1);
  CHECK(b.statistics().waiting_pops == 1);
  CHECK(b.try_push(1));
  CHECK(a.try_push(2));  // before the task resumes: it won at b and takes no item from a
  co_await group.join();
  CHECK(index == 1);
  CHECK(a.size() == 1);
  CHECK(b.size() == 0);
  CHECK(a.statistics().waiting_pops == 0);
}

LEAT_TEST("select: an operation after a losing branch is served") {
  leat::fifo_queue<int> a(2, "a");
  leat::fifo_queue<int> b(2, "b");
  task_group group;
  group.spawn([](auto& x, auto& y) -> task<> { co_await leat::select(x.pop(), y.pop()); }(a, b));
  co_await settle();
  actors of_a(a);
  const outcome& behind = of_a.pop();
  co_await settle();
  CHECK(b.try_push(1));
  CHECK(a.try_push(2));
  co_await group.join();
  co_await of_a.join();
  CHECK(behind.items == std::vector<int>{2});
}

LEAT_TEST("select: performs one of several pushes") {
  leat::fifo_queue<int> a(1, "a");
  leat::fifo_queue<int> b(1, "b");
  co_await a.push(0);
  co_await b.push(0);
  task_group group;
  group.spawn([](auto& x, auto& y) -> task<> {
    const auto r = co_await leat::select(x.push(1), y.push(2));
    CHECK(r.index() == 1);
    CHECK(std::get<1>(r));
  }(a, b));
  co_await settle();
  CHECK(b.try_pop() == 0);
  CHECK(a.try_pop() == 0);
  co_await group.join();
  CHECK(a.size() == 0);
  CHECK(b.try_pop() == 2);
}

LEAT_TEST("select: a close of a queue wins") {
  leat::fifo_queue<int> a(1, "a");
  leat::fifo_queue<int> full(1, "full");
  co_await full.push(0);
  task_group group;
  group.spawn([](auto& x) -> task<> {
    const auto r = co_await leat::select(leat::sleep_for(1h), x.pop());
    REQUIRE(r.index() == 1);
    CHECK_FALSE(std::get<1>(r).has_value());
  }(a));
  group.spawn([](auto& x) -> task<> {
    const auto r = co_await leat::select(leat::sleep_for(1h), x.push(1));
    REQUIRE(r.index() == 1);
    CHECK(std::get<1>(r));  // a close lets waiting pushes complete
  }(full));
  co_await settle();
  a.close();
  full.close();
  CHECK(full.try_pop() == 0);
  co_await group.join();
  const auto closed = co_await leat::select(full.push(2), leat::sleep_for(1h));
  REQUIRE(closed.index() == 0);
  CHECK_FALSE(std::get<0>(closed));
}

LEAT_TEST("select: throws the cause of a failed queue") {
  leat::fifo_queue<int> a(1, "a");
  task_group group;
  group.spawn([](auto& x) -> task<> {
    CHECK(co_await code_of(leat::select(leat::sleep_for(1h), x.pop())) == errc::data_loss);
  }(a));
  co_await settle();
  a.fail(std::make_exception_ptr(leat::failure(errc::data_loss, "cause")));
  co_await group.join();
}

LEAT_TYPED_LIST_TEST("with_timeout: a late pop removes no item", all_queues) {
  auto q = TestType::make(4);
  for (int i = 0; i < 2; ++i) {
    const std::string late =
        co_await message_of(leat::with_timeout(q.pop(), 10ms), errc::deadline_exceeded);
    CHECK(late.starts_with("pop from queue 'q'"));
  }
  CHECK(q.try_push(37));
  CHECK(co_await leat::with_timeout(q.pop(), 10ms) == 37);
}

LEAT_TYPED_LIST_TEST("with_timeout: a late batch returns its items", all_queues) {
  auto q = TestType::make(4);
  std::vector<int> items = numbers(3);
  co_await q.push_many(items);
  CHECK(co_await code_of(leat::with_timeout(q.pop_many(4), 10ms)) == errc::deadline_exceeded);
  CHECK(q.size() == 3);
  CHECK(sorted(co_await q.pop_many(3)) == numbers(3));
}

// ---- A select or a limit owns its operations if a function returns it.

using text_queue = leat::fifo_queue<std::string>;

auto pop_soon(text_queue& q) { return leat::with_timeout(q.pop(), 5ms); }
auto batch_soon(text_queue& q) { return leat::with_timeout(q.pop_many(2), 5ms); }
auto push_soon(text_queue& q, const std::string& value) {
  return leat::with_timeout(q.push(value), 5ms);
}
auto push_all_soon(text_queue& q, std::span<std::string> values) {
  return leat::with_timeout(q.push_many(values), 5ms);
}
auto pop_any(text_queue& a, text_queue& b) { return leat::select(a.pop(), b.pop()); }
auto try_to_pop(text_queue& q) { return leat::as_tuple(pop_soon(q)); }
auto told_pop(text_queue& q) { return leat::as_tuple(q.pop()); }
auto told_push(text_queue& q, const std::string& value) { return leat::as_tuple(q.push(value)); }

LEAT_TEST("with_timeout: a function can return it or a select with any queue operation") {
  const std::string long_text(100, 'x');
  text_queue a(2, "a");
  text_queue b(2, "b");
  auto push = push_soon(a, std::string(long_text));
  auto told = told_push(b, std::string(long_text));
  auto pop = pop_soon(a);
  auto late = try_to_pop(a);
  auto any = pop_any(a, b);
  leat_test::overwrite_stack();
  CHECK(co_await push);
  const auto [none, also_in] = co_await told;
  CHECK((!none && also_in));
  CHECK(co_await pop == long_text);
  const auto [ec, nothing] = co_await late;
  CHECK(ec == errc::deadline_exceeded);
  CHECK_FALSE(nothing);
  const auto first = co_await any;
  REQUIRE(first.index() == 1);
  CHECK(std::get<1>(first) == long_text);
  CHECK(a.statistics().waiting_pops + b.statistics().waiting_pops == 0);
}

auto push_two_soon(text_queue& q, std::string last) {
  return leat::with_timeout(q.push_many({"one", std::move(last)}), 5ms);
}

LEAT_TEST("with_timeout: owns the items of a push_many in braces") {
  text_queue q(2, "q");
  auto push = push_two_soon(q, std::string(100, 'x'));
  leat_test::overwrite_stack();
  CHECK(co_await push == 2);
  CHECK(q.try_pop() == "one");
  CHECK(q.try_pop() == std::string(100, 'x'));
}

LEAT_TEST("with_timeout: returned from a function, it waits and returns its items") {
  text_queue q(2, "q");
  task_group group;
  group.spawn([](text_queue& to) -> task<> {
    co_await leat::sleep_for(1ms);
    co_await to.push("one");
    co_await leat::sleep_for(10ms);
    co_await to.push("two");
    co_await to.push("three");
  }(q));
  auto pop = told_pop(q);
  auto batch = batch_soon(q);
  leat_test::overwrite_stack();
  const auto [ec, one] = co_await pop;
  CHECK(one == "one");
  CHECK(co_await code_of(batch) == errc::deadline_exceeded);
  co_await group.join();
  std::vector<std::string> more{"four", "five"};
  auto run = push_all_soon(q, more);
  leat_test::overwrite_stack();
  std::size_t pushed = 9;
  try {
    co_await run;
  } catch (const leat::partial_push_error& e) {
    pushed = e.count();
  }
  CHECK(pushed == 0);
  CHECK(q.size() == 2);
}

LEAT_TEST("select: a batch that loses at its last item returns all items to the next pop") {
  leat::fifo_queue<int> a(4, "a");
  leat::fifo_queue<int> b(4, "b");
  task_group group;
  std::size_t index = 9;
  group.spawn([](auto& x, auto& y, std::size_t& out) -> task<> {
    const auto r = co_await leat::select(x.pop_many(2), y.pop());
    out = r.index();
  }(a, b, index));
  co_await settle();
  actors of_a(a);
  const outcome& behind = of_a.pop_many(2);
  co_await settle();
  CHECK(co_await a.push(1));
  CHECK(b.try_push(5));
  const bool last = co_await a.push(2);  // would complete the batch, but b has won
  CHECK(last);
  co_await group.join();
  co_await of_a.join();
  CHECK(index == 1);
  CHECK(behind.items == std::vector<int>{1, 2});
}

LEAT_TEST("select: a stop leaves no waiting operation in any queue") {
  leat::fifo_queue<int> a(1, "a");
  leat::fifo_queue<int> b(1, "b");
  co_await b.push(0);
  task_group group;
  bool cancelled = false;
  group.spawn([](auto& x, auto& y, bool& out) -> task<> {
    out =
        co_await code_of(leat::select(x.pop(), y.push(1), leat::sleep_for(1h))) == errc::cancelled;
  }(a, b, cancelled));
  co_await settle();
  group.request_stop();
  co_await group.join();
  CHECK(cancelled);
  CHECK(a.statistics().waiting_pops == 0);
  CHECK(b.statistics().waiting_pushes == 0);
  CHECK(b.try_pop() == 0);
  CHECK(b.size() == 0);
}

// ------------------------------------------------------------------------------ limits in a select

LEAT_TYPED_LIST_TEST("select: a limited pop wins, expires or is stopped, and no item is lost",
                     all_queues) {
  auto a = TestType::make(4);
  auto b = TestType::make(4);
  std::stop_source stop;
  const auto late = co_await leat::as_tuple(
      leat::select(leat::with_stop(a.pop(), stop.get_token()), leat::with_timeout(b.pop(), 1ms)));
  CHECK(late.error == errc::deadline_exceeded);
  CHECK(a.statistics().waiting_pops + b.statistics().waiting_pops == 0);
  co_await b.push(1);
  const auto one = co_await leat::select(leat::with_timeout(a.pop(), 1h),
                                         leat::with_stop(b.pop(), stop.get_token()));
  CHECK(one.index() == 1);
  CHECK(b.size() == 0);
  stop.request_stop();
  co_await b.push(2);
  const auto ready = co_await leat::select(leat::with_stop(b.pop(), stop.get_token()), a.pop());
  CHECK(ready.index() == 0);  // it need not wait
  co_await b.push(3);
  const auto stopped =
      co_await leat::as_tuple(leat::select(leat::with_stop(a.pop(), stop.get_token()), b.pop()));
  CHECK(stopped.error == errc::cancelled);
  CHECK(b.size() == 1);
}

LEAT_TEST("select: the error of a limit names its queue") {
  leat::fifo_queue<int> a(1, "a");
  leat::fifo_queue<int> b(1, "b");
  co_await b.push(0);
  const std::string what = co_await message_of(
      leat::select(a.pop(), leat::with_timeout(b.push(1), 1ms)), errc::deadline_exceeded);
  CHECK(what.starts_with("push to queue 'b' (1 of 1): timed out without effect"));
  CHECK(b.size() == 1);
}

// An item and a stop at the same time, in an order that the seed decides; or an item shortly before
// or after a limit.
task<> race_of_item(leat::sim::world& w, bool by_stop, int& received, int& ended) {
  leat::fifo_queue<int> a(1, "a");
  leat::fifo_queue<int> b(1, "b");
  std::stop_source stop;
  task_group group;
  const leat::duration arrival = 1us * (by_stop ? 1 : w.random().uniform_below(3));
  group.spawn([](auto& to, leat::duration d) -> task<> {
    co_await leat::sleep_for(d);
    co_await to.push(7);
  }(a, arrival));
  group.spawn([](std::stop_source source) -> task<> {
    co_await leat::sleep_for(1us);
    source.request_stop();
  }(stop));
  const leat::duration limit = by_stop ? 1h : 1us;
  const auto token = by_stop ? stop.get_token() : std::stop_token();
  const auto [ec, done] = co_await leat::as_tuple(
      leat::select(b.pop(), leat::with_timeout(leat::with_stop(a.pop(), token), limit)));
  co_await group.join();
  received += !ec;
  ended += ec == (by_stop ? errc::cancelled : errc::deadline_exceeded);
  CHECK(a.size() == (ec ? 1 : 0));
}
TEST_CASE("select: an item arrives before or after the limit of its pop, and is not lost") {
  for (const bool by_stop : {false, true}) {
    int received = 0;
    int ended = 0;
    for (std::uint64_t seed = 1; seed <= 40; ++seed) {
      leat::sim::run(
          seed, [&](leat::sim::world& w) { return race_of_item(w, by_stop, received, ended); });
    }
    CHECK(received > 0);
    CHECK(ended > 0);
    CHECK(received + ended == 40);
  }
}

}  // namespace queue_select_test
