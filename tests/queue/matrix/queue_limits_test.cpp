// Every operation of every queue with with_timeout, with_deadline and with_stop. No item is lost,
// and a push of many reports the number of items added, whichever way it ends.

#include <exception>
#include <span>
#include <stop_token>
#include <tuple>

#include "leat/queue/partial_push_error.hpp"
#include "queue/operation/queue_actors.hpp"
#include "queue/queue_kinds.hpp"
#include "queue/weight/weighed_queues.hpp"
#include "support/leat_test.hpp"

namespace queue_limits_test {

using queue_kinds::matrix;

enum class limit { timeout, deadline, stop };
constexpr limit all_limits[] = {limit::timeout, limit::deadline, limit::stop};

// One operation that has to wait for its queue, and its result within a limit.
template <class Combination>
struct operation : queue_kinds::waiting_operation<Combination> {
  using kind = typename Combination::kind;
  using verb = typename Combination::verb;
  using queue_kinds::waiting_operation<Combination>::in_parts;

  static task<> within(operation& o, limit l) {
    if (l == limit::timeout) {
      const auto [ec, value] =
          co_await leat::as_tuple(leat::with_timeout(verb::template start<kind>(o.q, o.with), 1s));
      o.note(ec, verb::template moved<kind>(value));
    } else if (l == limit::deadline) {
      leat::scheduler& sched = leat::this_task::get_scheduler();
      const leat::time_point until = sched.now() + 1s;
      const auto [ec, value] = co_await leat::as_tuple(
          leat::with_deadline(verb::template start<kind>(o.q, o.with), until));
      o.note(ec, verb::template moved<kind>(value));
    } else {
      const std::stop_token token = o.stop.get_token();
      const auto [ec, value] =
          co_await leat::as_tuple(leat::with_stop(verb::template start<kind>(o.q, o.with), token));
      o.note(ec, verb::template moved<kind>(value));
    }
  }
  // As above, with exceptions.
  static task<> throwing(operation& o) {
    try {
      const auto value = co_await leat::with_timeout(verb::template start<kind>(o.q, o.with), 1s);
      o.note({}, verb::template moved<kind>(value));
    } catch (const leat::partial_push_error& e) {
      CHECK(in_parts);
      o.note(e.code(), e.count());
    } catch (const leat::failure& e) {
      CHECK_FALSE(in_parts);
      o.note(e.code(), 0);
    }
  }

  std::stop_source stop;
};

LEAT_TYPED_LIST_TEST("limits: every verb can end halfway or before it starts", matrix) {
  using verb = typename TestType::verb;
  for (const limit l : all_limits) {
    for (const bool half : {false, true}) {
      if (half && verb::moves == 1) continue;
      operation<TestType> o;
      task_group g;
      g.spawn(operation<TestType>::within(o, l));
      co_await settle();
      CHECK(o.waiting() == 1);
      if (half) CHECK(o.help());
      co_await settle();
      CHECK_FALSE(o.ended);
      if (l == limit::stop) o.stop.request_stop();
      co_await g.join();
      o.is_undone(l == limit::stop ? errc::cancelled : errc::deadline_exceeded, half ? 1 : 0);
    }
  }
}

LEAT_TYPED_LIST_TEST("limits: every verb throws if a timeout or a stop ends it", matrix) {
  const bool half = TestType::verb::moves > 1;
  for (const bool stopped : {false, true}) {
    operation<TestType> o;
    task_group g;
    g.spawn(operation<TestType>::throwing(o));
    co_await settle();
    if (half) CHECK(o.help());
    if (stopped) g.request_stop();
    co_await g.join();
    o.is_undone(stopped ? errc::cancelled : errc::deadline_exceeded, half ? 1 : 0);
  }
}

LEAT_TYPED_LIST_TEST("limits: a stop of its own task ends every verb, before the start and halfway",
                     matrix) {
  for (const limit l : all_limits) {
    for (const bool before : {true, false}) {
      operation<TestType> o;
      task_group g;
      g.spawn(operation<TestType>::within(o, l));
      const bool half = !before && TestType::verb::moves > 1;
      if (!before) co_await settle();
      if (half) CHECK(o.help());
      g.request_stop();
      co_await g.join();
      o.is_undone(errc::cancelled, half ? 1 : 0);
    }
  }
}

LEAT_TYPED_LIST_TEST("limits: every verb completes in time", matrix) {
  using verb = typename TestType::verb;
  for (const limit l : all_limits) {
    operation<TestType> o;
    task_group g;
    g.spawn(operation<TestType>::within(o, l));
    co_await settle();
    for (std::size_t i = 0; i < verb::moves; ++i) {
      CHECK(o.help());
      co_await settle();
    }
    co_await g.join();
    CHECK_FALSE(o.ec);
    CHECK(o.moved == verb::moves);
    CHECK(o.waiting() == 0);
  }
}

LEAT_TYPED_LIST_TEST("limits: every verb succeeds on a closed queue and throws on a failed one",
                     matrix) {
  using verb = typename TestType::verb;
  for (const limit l : all_limits) {
    for (const bool fails : {false, true}) {
      operation<TestType> o;
      task_group g;
      g.spawn(operation<TestType>::within(o, l));
      co_await settle();
      const bool half = verb::puts_in && verb::moves > 1;
      if (half) CHECK(o.help());
      if (fails) {
        o.q.fail(std::make_exception_ptr(leat::failure(errc::data_loss, "damaged")));
      } else {
        o.q.close_and_cancel();
      }
      co_await g.join();
      CHECK(o.ended);
      CHECK(o.ec == (fails           ? leat::make_error_code(errc::data_loss)
                     : verb::puts_in ? leat::make_error_code(errc::cancelled)
                                     : std::error_code()));
      CHECK(o.moved == (half ? 1 : 0));
      o.ended = false;
      co_await operation<TestType>::within(o, l);
      CHECK(o.ended);
      CHECK(o.ec == (fails && (verb::puts_in || o.q.size() == 0)
                         ? leat::make_error_code(errc::data_loss)
                         : std::error_code()));
    }
  }
}

// ---- A push of many.

// A push of many with a stop, and its result.
struct stoppable_push {
  std::stop_source stop;
  std::size_t in = 9;
  std::error_code ec;

  static task<> send(stoppable_push& p, leat::fifo_queue<int>& q, std::vector<int> items) {
    const std::stop_token token = p.stop.get_token();
    const auto [ec, in] = co_await leat::as_tuple(leat::with_stop(q.push_many(items), token));
    p.ec = ec;
    p.in = in;
  }
};

LEAT_TEST("with_stop: a push_many whose last item enters after the stop is complete") {
  leat::fifo_queue<int> q(1);
  CHECK(q.try_push(0));
  stoppable_push p;
  task_group g;
  g.spawn(stoppable_push::send(p, q, {1, 2}));
  co_await settle();
  p.stop.request_stop();  // the task resumes in its next turn
  CHECK(q.try_pop() == 0);
  CHECK(q.try_pop() == 1);
  co_await g.join();
  CHECK_FALSE(p.ec);
  CHECK(p.in == 2);
  CHECK(q.try_pop() == 2);
  CHECK(q.statistics().waiting_pushes == 0);
}

LEAT_TEST("with_stop: stopping a push_many lets the next push enter") {
  leat::fifo_queue<int> q(2);
  stoppable_push p;
  task_group g;
  g.spawn(stoppable_push::send(p, q, {1, 2, 3, 4}));
  co_await settle();
  actors a(q);
  const outcome& behind = a.push(5);
  co_await settle();
  CHECK(q.try_pop() == 1);
  p.stop.request_stop();
  co_await settle();
  CHECK(p.ec == errc::cancelled);
  CHECK(p.in == 3);
  CHECK_FALSE(behind.ended);
  CHECK(q.try_pop() == 2);
  co_await g.join();
  co_await a.join();
  CHECK(behind.accepted);
  CHECK(drain(q) == std::vector<int>{3, 5});
}

LEAT_TEST("with_stop: a close lets a waiting push_many complete") {
  leat::fifo_queue<int> q(1);
  stoppable_push p;
  task_group g;
  g.spawn(stoppable_push::send(p, q, {1, 2, 3}));
  co_await settle();
  q.close();
  CHECK(q.try_pop() == 1);
  CHECK_FALSE(q.is_closed());
  CHECK(q.try_pop() == 2);
  CHECK(q.is_closed());
  co_await g.join();
  CHECK_FALSE(p.ec);
  CHECK(p.in == 3);
}

LEAT_TEST("with_stop: after a stop, push_many adds no item, and an empty one succeeds") {
  leat::fifo_queue<int> q(2);
  stoppable_push p;
  p.stop.request_stop();
  const std::vector<int> run = {1};
  co_await stoppable_push::send(p, q, run);
  CHECK(p.ec == errc::cancelled);
  CHECK(p.in == 0);
  CHECK(q.size() == 0);
  const std::vector<int> none;
  co_await stoppable_push::send(p, q, none);
  CHECK_FALSE(p.ec);
}

LEAT_TEST("with_timeout: a late push_many reports the number of added items") {
  leat::fifo_queue<int> q(2, "q");
  std::vector<int> run = {1, 2, 3};
  std::string what;
  std::size_t in = 0;
  try {
    co_await leat::with_timeout(q.push_many(run), 10ms);
  } catch (const leat::partial_push_error& e) {
    what = e.what();
    in = e.count();
    CHECK(e.code() == errc::deadline_exceeded);
    CHECK_FALSE(e.cause());
  }
  CHECK(in == 2);
  CHECK(what.starts_with("push to queue 'q' (2 of 2), 2 of 3 done: timed out (limit of "));
}

LEAT_TEST("with_timeout: a push_many of weighed items can end partially or as too heavy") {
  auto q = weighed_fifo::make({.max_weight = 5});
  std::vector<int> run = {2, 3, 1};
  const auto [late, in] = co_await leat::as_tuple(leat::with_timeout(q.push_many(run), 10ms));
  CHECK(late == errc::deadline_exceeded);
  CHECK(in == 2);
  CHECK(q.statistics().weight == 5);
  std::vector<int> heavy = {1, 6};
  const auto [refused, none] =
      co_await leat::as_tuple(leat::with_timeout(q.push_many(heavy), 10ms));
  CHECK(refused == errc::resource_exhausted);
  CHECK(none == 0);
  CHECK(co_await code_of(leat::with_timeout(q.push_many(heavy), 10ms)) == errc::resource_exhausted);
  CHECK(q.statistics().waiting_pushes == 0);
}

LEAT_TEST("queue: a cancelled push_many of one item reports zero added items") {
  leat::fifo_queue<int> q(1);
  CHECK(q.try_push(0));
  stoppable_push p;
  task_group g;
  g.spawn(stoppable_push::send(p, q, {1}));
  actors a(q);
  const outcome& o = a.push_many({1});  // handles partial_push_error only
  co_await settle();
  g.request_stop();
  co_await g.join();
  CHECK(p.ec == errc::cancelled);
  CHECK(p.in == 0);
  co_await a.cancel();
  CHECK(o.cancelled);
  CHECK(o.pushed == 0);
}

// The operations that select() rejects at compile time.
template <class Operation>
constexpr bool in_parts = leat::detail::partially_completable<Operation>;
using queue = leat::fifo_queue<int>;
using span = std::span<int>;
static_assert(in_parts<decltype(std::declval<queue&>().push_many(span()))>);
static_assert(!in_parts<decltype(std::declval<queue&>().push(1))>);
static_assert(!in_parts<decltype(std::declval<queue&>().pop_many(1))>);
static_assert(!in_parts<decltype(leat::sleep_for(1s))>);

}  // namespace queue_limits_test
