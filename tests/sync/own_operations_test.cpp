// Operations that a user could write, in the forms that the contract of all waits does not cover.

#include "sync/own_operations.hpp"

#include "leat/queue/fifo_queue.hpp"
#include "leat/sim.hpp"
#include "support/dump.hpp"
#include "support/leat_test.hpp"

namespace own_operations_test {

using leat_test::nap_for;
using leat_test::oracle;

static_assert(leat::undoable_operation<leat_test::nap_operation>);
static_assert(leat::irrevocable_operation<oracle::answer>);
static_assert(!leat::operation<int> && !leat::irrevocable_operation<int>);

task<> nap_once(leat::duration d) { co_await nap_for(d); }
task<> ask_once(oracle& o) { static_cast<void>(co_await o.ask()); }

LEAT_TEST("operation of one's own: a timer ends, loses, and is limited and stopped") {
  const auto now = [] { return leat::scheduler::current()->now(); };
  const leat::time_point begin = now();
  co_await nap_for(3ms);
  CHECK(now() == begin + 3ms);

  leat::fifo_queue<int> q(1, "numbers");
  CHECK((co_await leat::select(q.pop(), nap_for(2ms))).index() == 1);
  co_await q.push(1);
  CHECK((co_await leat::select(q.pop(), nap_for(1h))).index() == 0);
  const auto late =
      co_await outcome_of([]() -> task<> { co_await leat::with_timeout(nap_for(1h), 2ms); }());
  CHECK(late.code == errc::deadline_exceeded);
  CHECK(late.text.starts_with("nap for a while"));
  CHECK(now() == begin + 7ms);

  task_group group;
  group.spawn(nap_once(1h));
  co_await leat::sleep_for(1ms);
  CHECK(contains(leat_test::dump(), "nap for a while, at own_operations_test.cpp:"));
  group.request_stop();
  co_await group.join();
  CHECK(now() == begin + 8ms);
}

task<> reply_later(oracle& o, std::error_code ec = {}) {
  co_await leat::sleep_for(2ms);
  o.reply(ec, 42);
}

LEAT_TEST("operation of one's own: an irrevocable one returns its result") {
  oracle o;
  task_group group;
  group.spawn(reply_later(o));
  CHECK(co_await o.ask() == 42);
  group.spawn(reply_later(o, make_error_code(errc::unavailable)));
  const auto [ec, value] = co_await leat::as_tuple(o.ask());
  CHECK(ec == errc::unavailable);
  co_await group.join();

  task_group busy;
  busy.spawn(ask_once(o));
  co_await leat::sleep_for(1ms);
  const auto refused = co_await outcome_of(ask_once(o));
  CHECK(refused.code == errc::failed_precondition);
  CHECK(contains(leat_test::dump(), "ask an oracle, at own_operations_test.cpp:"));
  busy.request_stop();
  co_await busy.join();
  CHECK_FALSE(o.asked);
}

LEAT_TEST("operation of one's own: a limit ends an irrevocable one") {
  oracle o;
  const auto late = co_await outcome_of([](oracle& from) -> task<> {
    static_cast<void>(co_await leat::with_timeout(from.ask(), 2ms));
  }(o));
  CHECK(late.code == errc::deadline_exceeded);
  CHECK(late.text.starts_with("ask an oracle (limit of 2 ms at "));
  CHECK_FALSE(o.asked);

  o.answers_when_cancelled = true;  // it completes all the same, so it has won
  CHECK(co_await leat::with_timeout(o.ask(), 2ms) == 1);
}

LEAT_TEST("operation of one's own: an irrevocable one wins and loses selects") {
  oracle o;
  leat::fifo_queue<int> q(1, "numbers");
  task_group group;
  group.spawn(reply_later(o));
  const auto answered = co_await leat::select(q.pop(), o.ask());
  CHECK(answered.index() == 1);

  co_await q.push(7);
  const auto popped = co_await leat::select(q.pop(), o.ask());  // it is not even started
  CHECK(popped.index() == 0);

  group.spawn([](leat::fifo_queue<int>& to) -> task<> {
    co_await leat::sleep_for(1ms);
    co_await to.push(8);
  }(q));
  o.answers_when_cancelled = true;
  const auto both = co_await leat::select(q.pop(), o.ask());
  CHECK(both.index() == 1);  // it had an effect, so the pop is undone
  CHECK(q.try_pop() == std::optional<int>(8));
  co_await group.join();
}

}  // namespace own_operations_test
