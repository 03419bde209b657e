// Limits inside of select(): a limit that expires makes its operation win, with the error that
// awaiting the limited operation alone has.

#include <condition_variable>
#include <deque>
#include <mutex>
#include <stop_token>
#include <tuple>
#include <variant>

#include "async/fake_operations.hpp"
#include "async/task_steps.hpp"
#include "support/dump.hpp"
#include "support/leat_test.hpp"

namespace limited_select_test {

using leat::as_tuple;
using leat::select;
using leat::with_deadline;
using leat::with_stop;
using leat::with_timeout;
using leat_test::outcome;
using leat_test::take;
using leat_test::transfer;
using leat_test::transfer_script;
using task_steps::request_stop_after;
using task_steps::stopwatch;

/// Awaits an operation, and returns the outcome.
template <class Operation>
task<outcome> end_of(Operation operation) {
  try {
    static_cast<void>(co_await std::move(operation));
  } catch (const leat::failure& e) {
    co_return outcome_of(e);
  }
  co_return outcome();
}

// ------------------------------------------- operations that complete after a time, by their kind

/// Owns what the operations of a kind need.
class operation_kind {
 public:
  task<> finish() {
    for (task_group& group : groups_) {
      group.request_stop();
      co_await as_tuple(group.join());
    }
  }

 protected:
  task_group& spawn(task<> t) {
    groups_.emplace_back().spawn(std::move(t));
    return groups_.back();
  }

 private:
  std::deque<task_group> groups_;
};

struct sleeping : operation_kind {
  auto operator()(leat::duration d) const { return leat::sleep_for(d); }
};
struct joining : operation_kind {
  auto operator()(leat::duration d) { return spawn(task_steps::sleep(d)).join(); }
};
struct waiting_for_stop : operation_kind {
  auto operator()(leat::duration d) {
    std::stop_source source;
    spawn(request_stop_after(source, d));
    return leat::wait_for_stop(source.get_token());
  }
};
struct awaiting_task : operation_kind {
  auto operator()(leat::duration d) const { return value_after(7, d); }
};
struct awaiting_value : operation_kind {
  static leat::async_generator<int> values(leat::duration d) {
    co_await leat::sleep_for(d);
    co_yield 7;
  }
  auto operator()(leat::duration d) { return generators.emplace_back(values(d)).next(); }
  std::deque<leat::async_generator<int>> generators;
};

#define KINDS sleeping, joining, waiting_for_stop, awaiting_task, awaiting_value

LEAT_TYPED_TEST("select: an operation that completes before its limits wins or loses", KINDS) {
  TestType kind;
  std::stop_source source;
  const stopwatch time;
  const auto limited = [&] { return with_stop(with_timeout(kind(1ms), 1h), source.get_token()); };
  const auto won = co_await select(leat::sleep_for(1h), limited());
  CHECK(won.index() == 1);
  const auto lost = co_await select(limited(), leat::sleep_for(1us));
  CHECK(lost.index() == 1);
  const auto [ec, of_two] =
      co_await as_tuple(select(with_timeout(leat::sleep_for(1h), 2h), limited()));
  CHECK_FALSE(ec);
  CHECK(of_two.index() == 1);
  CHECK(time.elapsed() < 1s);
  co_await kind.finish();
}

LEAT_TYPED_TEST("select: a limit that expires wins with the error of its operation", KINDS) {
  TestType kind;
  std::stop_source source;
  const auto late = [&] { return with_timeout(kind(1h), 1ms); };
  const auto stopped = [&] { return with_stop(kind(1h), source.get_token()); };
  const outcome alone = co_await end_of(late());
  const outcome selected = co_await end_of(select(leat::sleep_for(1h), late()));
  CHECK(alone.code == errc::deadline_exceeded);
  CHECK(selected.code == alone.code);
  CHECK(selected.text == alone.text);
  const auto tuple = co_await as_tuple(select(late(), leat::sleep_for(1h)));
  CHECK(tuple.error == errc::deadline_exceeded);
  const outcome nested =
      co_await end_of(select(with_stop(late(), source.get_token()), leat::sleep_for(1h)));
  CHECK(nested.code == errc::deadline_exceeded);

  task_group group;
  group.spawn(request_stop_after(source, 1ms));
  const outcome by_stop = co_await end_of(select(leat::sleep_for(1h), stopped()));
  CHECK(by_stop.code == errc::cancelled);
  // From now on the token is stopped before the operation begins.
  const outcome before_alone = co_await end_of(stopped());
  const outcome before = co_await end_of(select(leat::sleep_for(0s), stopped()));
  CHECK(before.code == errc::cancelled);
  CHECK(before.text == before_alone.text);
  co_await group.join();
  co_await kind.finish();
}

LEAT_TYPED_TEST("select: a stop of the caller ends an operation and its limit", KINDS) {
  outcome o;
  const auto body = [&]() -> task<> {
    TestType kind;
    o = co_await end_of(select(with_timeout(kind(1h), 2h), leat::sleep_for(3h)));
    co_await kind.finish();
  };
  co_await as_tuple(task_steps::run_and_stop(body()));
  CHECK(o.code == errc::cancelled);
}

// ------------------------------------------------------------------------------ several limits

LEAT_TEST("select: each of several operations has a limit of its own") {
  leat::scheduler& sched = leat::this_task::get_scheduler();
  const leat::time_point begin = sched.now();
  const outcome o = co_await end_of(select(with_deadline(leat::sleep_for(1h), begin + 3ms),
                                           with_timeout(leat::sleep_for(1h), 2ms)));
  CHECK(o.code == errc::deadline_exceeded);
  CHECK(sched.now() - begin == 2ms);
}

LEAT_TEST("select: the first operation that is complete or stopped wins") {
  std::stop_source source;
  source.request_stop();
  task_group empty;
  const auto done =
      co_await select(empty.join(), with_stop(leat::sleep_for(1h), source.get_token()));
  CHECK(done.index() == 0);
  const outcome o =
      co_await end_of(select(with_stop(leat::sleep_for(1h), source.get_token()), empty.join()));
  CHECK(o.code == errc::cancelled);
  // An operation that need not wait succeeds despite its stopped token.
  const auto first = co_await select(with_stop(empty.join(), source.get_token()), empty.join());
  CHECK(first.index() == 0);
}

LEAT_TEST("select: a dump shows the limits of each operation") {
  task_group group;
  std::stop_source source;
  group.spawn([](std::stop_token token) -> task<> {
    co_await as_tuple(select(with_timeout(with_stop(value_after(1, 1h), token), 60s),
                             leat::sleep_for(40s), with_timeout(leat::sleep_for(1h), 30s)));
  }(source.get_token()));
  co_await leat::sleep_for(10s);
  const std::string text = leat_test::dump();
  CAPTURE(text);
  CHECK(contains(text,
                 "select a task, 50000 ms left, until a stop, or a timer (30000 ms left), or a "
                 "timer (3590000 ms left), 20000 ms left, at "));
  group.request_stop();
  co_await group.join();
}

LEAT_TEST("select: a function can return a select with limits") {
  const auto make = [](leat::duration limit) {
    return select(with_timeout(leat::sleep_for(1h), limit), leat::sleep_for(2ms));
  };
  auto in_time = make(3ms);
  auto late = make(1ms);
  leat_test::overwrite_stack();
  CHECK((co_await in_time).index() == 1);
  CHECK((co_await end_of(std::move(late))).code == errc::deadline_exceeded);
}

// -------------------------------------------------------------------------- irrevocable operations

LEAT_TEST("select: a limit ends an irrevocable operation, and its error is that of the limit") {
  transfer_script script;
  const outcome o =
      co_await end_of(select(leat::sleep_for(1h), with_timeout(transfer{script}, 1ms)));
  CHECK(o.code == errc::deadline_exceeded);
  CHECK(script.log == "sce");
}

LEAT_TEST("select: an irrevocable operation that completes despite its limit wins") {
  transfer_script script{.completes_all_the_same = true};
  const auto done = co_await select(leat::sleep_for(1h), with_timeout(transfer{script}, 1ms));
  CHECK(done.index() == 1);
  CHECK(std::get<1>(done) == 7);
}

LEAT_TEST(
    "select: the part that a limited irrevocable operation has done has the code of the limit") {
  transfer_script script{.moved_before_cancel = 2};
  const outcome o =
      co_await end_of(select(leat::sleep_for(1h), with_timeout(transfer{script}, 1ms)));
  CHECK(o.code == errc::deadline_exceeded);
  CHECK(contains(o.text, "2 moved"));
}

LEAT_TEST("select: a limited irrevocable operation undoes the winner if it completes anyway") {
  transfer_script script{.completes_all_the_same = true};
  std::optional<int> store = 3;
  const auto done =
      co_await select(with_timeout(take{store}, 1h), with_timeout(transfer{script}, 2h));
  CHECK(done.index() == 1);
  CHECK(store == 3);
}

LEAT_TEST("select: the limit of another operation ends an irrevocable operation") {
  for (const bool completes : {false, true}) {
    transfer_script script{.completes_all_the_same = completes};
    std::optional<int> store = 3;
    const outcome o = co_await end_of(
        select(with_timeout(take{store, 1h}, 1ms), with_timeout(transfer{script}, 1h)));
    CHECK(o.code == (completes ? errc() : errc::deadline_exceeded));
    CHECK(script.log == "sce");
    CHECK(store == 3);
  }
}

LEAT_TEST("select: a token that was stopped before does not start an irrevocable operation") {
  std::stop_source source;
  source.request_stop();
  transfer_script script;
  const outcome o = co_await end_of(select(
      leat::sleep_for(1h), with_timeout(with_stop(transfer{script}, source.get_token()), 1h)));
  CHECK(o.code == errc::cancelled);
  CHECK(script.log.empty());
}

// Returns true if the thread of run_blocking() was fast enough in both cases.
bool called_twice(const outcome& a, const outcome& b) {
  const auto called = [](const outcome& o) {
    return o.text.find("the function ended early") != o.text.npos;
  };
  return called(a) && called(b);
}

LEAT_REAL_TIME_TEST("select: a limit stops a function of run_blocking() that has a token") {
  const auto endless = [](std::stop_token token) {
    std::mutex mutex;
    std::condition_variable_any woken;
    std::unique_lock lock(mutex);
    woken.wait(lock, token, [] { return false; });
    throw leat::failure(errc::cancelled, "stopped");
  };
  const auto seven = [] { return 7; };
  outcome alone;
  outcome selected;
  for (auto limit = 1ms; !called_twice(alone, selected); limit *= 2) {
    const auto late = [&] { return with_timeout(leat::run_blocking(endless), limit); };
    alone = co_await end_of(late());
    selected = co_await end_of(select(leat::sleep_for(1h), late()));
  }
  CHECK(selected.code == errc::deadline_exceeded);
  CHECK(selected.text == alone.text);
  const auto done =
      co_await select(leat::sleep_for(1h), with_timeout(leat::run_blocking(seven), 1h));
  CHECK(std::get<1>(done) == 7);
  const auto lost =
      co_await select(leat::sleep_for(1ms), with_timeout(leat::run_blocking(endless), 1h));
  CHECK(lost.index() == 0);
}

}  // namespace limited_select_test
