// Operations that a user could write, in the forms that the contract of all waits does not cover.

#include "sync/own_operations.hpp"

#include <chrono>
#include <optional>
#include <sstream>
#include <string>

#include <catch2/catch.hpp>

#include "leat/async/as_tuple.hpp"
#include "leat/async/dump/dump.hpp"
#include "leat/async/select.hpp"
#include "leat/async/sleep.hpp"
#include "leat/async/task_group.hpp"
#include "leat/base/error.hpp"
#include "leat/queue/fifo_queue.hpp"
#include "leat/sim.hpp"
#include "support/outcome_of.hpp"

namespace own_operations_test {

using namespace std::chrono_literals;
using leat::errc;
using leat::task;
using leat::task_group;
using leat_test::nap_for;
using leat_test::oracle;

static_assert(leat::undoable_operation<leat_test::nap_operation>);
static_assert(leat::irrevocable_operation<oracle::answer>);
static_assert(!leat::operation<int> && !leat::irrevocable_operation<int>);

std::string dumped() {
  std::ostringstream out;
  leat::dump(out);
  return std::move(out).str();
}

task<> nap_once(leat::duration d) { co_await nap_for(d); }
task<> ask_once(oracle& o) { static_cast<void>(co_await o.ask()); }

TEST_CASE("operation of one's own: a timer ends, loses, and is limited and stopped", "[sync]") {
  leat::sim::run([]() -> task<> {
    const auto now = [] { return leat::scheduler::current()->now(); };
    const leat::time_point begin = now();
    co_await nap_for(3ms);
    CHECK(now() == begin + 3ms);

    leat::fifo_queue<int> q(1, "numbers");
    CHECK((co_await leat::select(q.pop(), nap_for(2ms))).index() == 1);
    co_await q.push(1);
    CHECK((co_await leat::select(q.pop(), nap_for(1h))).index() == 0);
    const auto late = co_await leat_test::outcome_of(
        []() -> task<> { co_await leat::with_timeout(nap_for(1h), 2ms); }());
    CHECK(late.code == errc::deadline_exceeded);
    CHECK(late.text.find("nap for a while") == 0);
    CHECK(now() == begin + 7ms);

    task_group group;
    group.spawn(nap_once(1h));
    co_await leat::sleep_for(1ms);
    CHECK(dumped().find("nap for a while, at own_operations_test.cpp:") != std::string::npos);
    group.request_stop();
    co_await group.join();
    CHECK(now() == begin + 8ms);
  }());
}

task<> reply_later(oracle& o, std::error_code ec = {}) {
  co_await leat::sleep_for(2ms);
  o.reply(ec, 42);
}

TEST_CASE("operation of one's own: an irrevocable one returns its result", "[sync]") {
  leat::sim::run([]() -> task<> {
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
    const auto refused = co_await leat_test::outcome_of(ask_once(o));
    CHECK(refused.code == errc::failed_precondition);
    CHECK(dumped().find("ask an oracle, at own_operations_test.cpp:") != std::string::npos);
    busy.request_stop();
    co_await busy.join();
    CHECK_FALSE(o.asked);
  }());
}

TEST_CASE("operation of one's own: a limit ends an irrevocable one", "[sync]") {
  leat::sim::run([]() -> task<> {
    oracle o;
    const auto late = co_await leat_test::outcome_of([](oracle& from) -> task<> {
      static_cast<void>(co_await leat::with_timeout(from.ask(), 2ms));
    }(o));
    CHECK(late.code == errc::deadline_exceeded);
    CHECK(late.text.find("ask an oracle (limit of 2 ms at ") == 0);
    CHECK_FALSE(o.asked);

    o.answers_when_cancelled = true;  // it completes all the same, so it has won
    CHECK(co_await leat::with_timeout(o.ask(), 2ms) == 1);
  }());
}

TEST_CASE("operation of one's own: an irrevocable one wins and loses selects", "[sync]") {
  leat::sim::run([]() -> task<> {
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
  }());
}

}  // namespace own_operations_test
