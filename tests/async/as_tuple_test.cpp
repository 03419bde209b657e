#include "leat/async/as_tuple.hpp"

#include <new>
#include <stop_token>
#include <tuple>
#include <type_traits>

#include "async/task_steps.hpp"
#include "support/foreign_coroutine.hpp"
#include "support/leat_test.hpp"

namespace as_tuple_test {

using namespace task_steps;
using leat_test::foreign_coroutine;

task<> break_after(leat::duration d) {
  co_await leat::sleep_for(d);
  throw leat::failure(errc::data_loss, "broken");
}

task<int> give(int value) { co_return value; }

task<int> nap_and_fail(std::exception_ptr error) {
  co_await leat::sleep_for(1s);
  if (error) std::rethrow_exception(error);
  co_return 1;
}

// ---- Operations of the core.

LEAT_TEST("as_tuple: returns no error for a completed sleep and cancelled for a stopped one") {
  const stopwatch time;
  const auto [done] = co_await leat::as_tuple(leat::sleep_for(3s));
  CHECK_FALSE(done);
  CHECK(time.elapsed() == 3s);
  for (const bool before : {true, false}) {
    const std::error_code ec = co_await code_of_stopped(leat::sleep_for(1h), before);
    CHECK(ec == leat::make_error_code(errc::cancelled));
  }
}

LEAT_TEST("as_tuple: returns the code of a completed and of a cancelled wait for a stop") {
  std::stop_source source;
  source.request_stop();
  const auto [done] = co_await leat::as_tuple(leat::wait_for_stop(source.get_token()));
  CHECK_FALSE(done);
  for (const bool before : {true, false}) {
    const std::stop_source never;
    const std::error_code ec =
        co_await code_of_stopped(leat::wait_for_stop(never.get_token()), before);
    CHECK(ec == leat::make_error_code(errc::cancelled));
  }
}

LEAT_TEST("as_tuple: a join returns the code of the first error") {
  task_group well;
  well.spawn(sleep(1s));
  const auto [none] = co_await leat::as_tuple(well.join());
  CHECK_FALSE(none);
  task_group broken;
  broken.spawn(break_after(1s));
  const auto [ec] = co_await leat::as_tuple(broken.join());
  CHECK(ec == errc::data_loss);
}

LEAT_TEST("as_tuple: a task that joins its own group gets failed_precondition") {
  task_group group;
  std::error_code ec;
  group.spawn([](task_group& own, std::error_code& out) -> task<> {
    out = (co_await leat::as_tuple(own.join())).error;
  }(group, ec));
  co_await group.join();
  CHECK(ec == errc::failed_precondition);
}

LEAT_TEST("as_tuple: accepts an operation moved from a variable") {
  auto nap = leat::sleep_for(1s);
  const auto [ec] = co_await leat::as_tuple(std::move(nap));
  CHECK_FALSE(ec);
}

auto told(leat::duration d) { return leat::as_tuple(leat::sleep_for(d)); }
auto told(std::stop_token token) { return leat::as_tuple(leat::wait_for_stop(std::move(token))); }
auto told(task_group& group) { return leat::as_tuple(group.join()); }
auto told(leat::duration a, leat::duration b) {
  return leat::as_tuple(leat::select(leat::sleep_for(a), leat::sleep_for(b)));
}

LEAT_TEST("as_tuple: owns its operation, so a function can return it") {
  const stopwatch time;
  std::stop_source source;
  task_group group;
  group.spawn(request_stop_after(source, 2s));
  group.spawn(break_after(3s));
  auto nap = told(1s);
  auto stop = told(source.get_token());
  auto joined = told(group);
  auto first = told(2s, 1s);
  leat_test::overwrite_stack();
  const auto [none] = co_await nap;
  CHECK_FALSE(none);
  CHECK(time.elapsed() == 1s);
  const auto [stopped] = co_await stop;
  CHECK_FALSE(stopped);
  CHECK(time.elapsed() == 2s);
  const auto [broken] = co_await joined;
  CHECK(broken == errc::data_loss);
  const auto [ec, winner] = co_await first;
  CHECK_FALSE(ec);
  CHECK(winner.index() == 1);
}

// ---- Select and its short forms.

LEAT_TEST("as_tuple: a select returns the winner, the code of its failure, or cancelled") {
  const auto [none, first] =
      co_await leat::as_tuple(leat::select(leat::sleep_for(2s), leat::sleep_for(1s)));
  CHECK_FALSE(none);
  CHECK(first.index() == 1);
  task_group broken;
  broken.spawn(break_after(1s));
  const auto [ec, second] =
      co_await leat::as_tuple(leat::select(leat::sleep_for(2s), broken.join()));
  CHECK(ec == errc::data_loss);
  CHECK(second.index() == 0);
  for (const bool before : {true, false}) {
    CHECK(co_await code_of_stopped(leat::select(leat::sleep_for(2h), leat::sleep_for(1h)),
                                   before) == errc::cancelled);
  }
}

LEAT_TEST("as_tuple: returns deadline_exceeded if a timeout ends the operation") {
  task_group group;
  group.spawn(sleep(3s));
  const auto [late] = co_await leat::as_tuple(leat::with_timeout(group.join(), 2s));
  CHECK(late == errc::deadline_exceeded);
  const auto [in_time] = co_await leat::as_tuple(leat::with_timeout(group.join(), 2s));
  CHECK_FALSE(in_time);
  std::stop_source source;
  source.request_stop();
  const auto [ended] =
      co_await leat::as_tuple(leat::with_stop(leat::sleep_for(1h), source.get_token()));
  CHECK(ended == errc::cancelled);
}

// ---- Tasks.

LEAT_TEST("as_tuple: a task returns its value or the code of its exception") {
  const auto [none, value] = co_await leat::as_tuple(give(7));
  CHECK_FALSE(none);
  CHECK(value == 7);
  const auto code_of = [](std::exception_ptr error) -> task<std::error_code> {
    const auto [ec, nothing] = co_await leat::as_tuple(nap_and_fail(std::move(error)));
    CHECK(nothing == (ec ? 0 : 1));
    co_return ec;
  };
  CHECK_FALSE(co_await code_of(nullptr));
  const std::error_code failed =
      co_await code_of(std::make_exception_ptr(leat::failure(errc::data_loss, "broken")));
  CHECK(failed == errc::data_loss);
  CHECK(co_await code_of(std::make_exception_ptr(std::bad_alloc())) == errc::resource_exhausted);
  CHECK(co_await code_of(std::make_exception_ptr(std::logic_error("bug"))) == errc::unknown);
  const std::error_code nonsense =
      co_await code_of(std::make_exception_ptr(std::system_error(std::error_code())));
  CHECK(nonsense == errc::unknown);
}

LEAT_TEST("as_tuple: accepts a task<void> and a task with a move-only result") {
  const auto nothing = [](bool fail) -> task<> {
    if (fail) throw leat::failure(errc::aborted, "no");
    co_return;
  };
  const auto [well] = co_await leat::as_tuple(nothing(false));
  CHECK_FALSE(well);
  const auto [badly] = co_await leat::as_tuple(nothing(true));
  CHECK(badly == errc::aborted);
  const auto unique = []() -> task<std::unique_ptr<int>> { co_return std::make_unique<int>(3); };
  const auto [none, pointer] = co_await leat::as_tuple(unique());
  CHECK_FALSE(none);
  CHECK(*pointer == 3);
}

LEAT_TEST("as_tuple: a stopped task returns cancelled") {
  std::error_code code;
  int value = 1;
  const auto body = [&]() -> task<> {
    const auto [ec, nothing] = co_await leat::as_tuple(nap_and_fail(nullptr));
    code = ec;
    value = nothing;
  };
  co_await run_and_stop(body());
  CHECK(code == errc::cancelled);
  CHECK(value == 0);
}

// ---- Foreign coroutines.

foreign_coroutine nap(std::optional<std::error_code>& ended) {
  const auto [ec] = co_await leat::as_tuple(leat::sleep_for(1s));
  ended = ec;
}

foreign_coroutine await_task(std::exception_ptr error, std::error_code& ec, int& value) {
  const auto outcome = co_await leat::as_tuple(nap_and_fail(std::move(error)));
  ec = outcome.error;
  value = outcome.value;
}

foreign_coroutine limited(std::stop_token token, std::error_code& ec) {
  ec = (co_await leat::as_tuple(leat::with_stop(leat::sleep_for(1h), token))).error;
}

LEAT_TEST("as_tuple: a foreign coroutine can sleep and be destroyed during the sleep") {
  std::optional<std::error_code> ended;
  std::optional<std::error_code> never;
  const foreign_coroutine f = nap(ended);
  const foreign_coroutine gone = nap(never);
  gone.handle.destroy();
  CHECK_FALSE(ended);
  co_await leat::sleep_for(2s);
  REQUIRE(ended);
  CHECK_FALSE(*ended);
  CHECK_FALSE(never);
  f.handle.destroy();
}

LEAT_TEST("as_tuple: a foreign coroutine awaits tasks") {
  std::error_code ec = leat::make_error_code(errc::unknown);
  int value = 0;
  const foreign_coroutine well = await_task(nullptr, ec, value);
  co_await leat::sleep_for(2s);
  CHECK_FALSE(ec);
  CHECK(value == 1);
  const foreign_coroutine badly =
      await_task(std::make_exception_ptr(leat::failure(errc::data_loss, "broken")), ec, value);
  co_await leat::sleep_for(2s);
  CHECK(ec == errc::data_loss);
  CHECK(value == 0);
  well.handle.destroy();
  badly.handle.destroy();
}

LEAT_TEST("as_tuple: a stop token stops a foreign coroutine") {
  std::stop_source source;
  std::error_code ec;
  const foreign_coroutine f = limited(source.get_token(), ec);
  CHECK_FALSE(ec);
  source.request_stop();
  co_await leat::sleep_for(1s);
  CHECK(ec == errc::cancelled);
  f.handle.destroy();
}

// ---- Accepted operations.

template <class T>
concept can_be_a_tuple = requires(T t) { leat::as_tuple(std::move(t)); };

TEST_CASE("as_tuple: accepts only operations with an error code") {
  STATIC_REQUIRE(can_be_a_tuple<leat::sleep_wait>);
  STATIC_REQUIRE_FALSE(can_be_a_tuple<leat::detail::yield_wait>);
  STATIC_REQUIRE_FALSE(can_be_a_tuple<int>);
}

}  // namespace as_tuple_test
