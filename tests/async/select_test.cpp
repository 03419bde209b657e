#include "leat/async/select.hpp"

#include <stop_token>

#include "async/task_steps.hpp"
#include "support/leat_test.hpp"

namespace select_test {

using namespace task_steps;

LEAT_TEST("select: the earliest timer wins and the others are cancelled") {
  const stopwatch time;
  const auto first =
      co_await leat::select(leat::sleep_for(3s), leat::sleep_for(1s), leat::sleep_for(2s));
  CHECK(first.index() == 1);
  CHECK(time.elapsed() == 1s);
  co_await leat::sleep_for(1h);  // none of the cancelled timers fires
  CHECK(time.elapsed() == 1h + 1s);
}

LEAT_TEST("select: joins a group without tasks at once") {
  task_group group;
  const auto done = co_await leat::select(leat::sleep_for(1s), group.join());
  CHECK(done.index() == 1);
}

LEAT_TEST("select: returns the first of a join and a timer") {
  for (const bool quick : {true, false}) {
    task_group group;
    group.spawn(sleep(quick ? 1s : 3s));
    const auto done = co_await leat::select(group.join(), leat::sleep_for(2s));
    CHECK(done.index() == (quick ? 0 : 1));
    co_await group.join();
  }
}

LEAT_TEST("select: throws the error of the winner") {
  task_group group;
  group.spawn([]() -> task<> {
    co_await leat::sleep_for(1s);
    throw leat::failure(errc::data_loss, "broken");
  }());
  const std::string what =
      co_await message_of<leat::failure>(leat::select(leat::sleep_for(2s), group.join()));
  CHECK(what.starts_with("broken"));
}

LEAT_TEST("select: a task cannot select the join of its own group") {
  task_group group("own");
  std::string what;
  group.spawn([](task_group& g, std::string& out) -> task<> {
    out =
        co_await message_of(leat::select(leat::sleep_for(1s), g.join()), errc::failed_precondition);
  }(group, what));
  co_await group.join();
  CHECK(contains(what, "'own'"));
}

LEAT_TEST("select: a stop before or during the wait throws cancelled") {
  for (const bool before : {true, false}) {
    std::error_code code;
    const auto body = [&]() -> task<> {
      code = co_await code_of(leat::select(leat::sleep_for(1h), leat::sleep_for(2h)));
    };
    co_await run_and_stop(body(), before);
    CHECK(code == errc::cancelled);
  }
}

LEAT_TEST("select: a dump lists its operations") {
  task_group group("selecting");
  group.spawn([]() -> task<> { co_await leat::select(leat::sleep_for(1s), leat::sleep_for(2s)); }(),
              "chooser");
  co_await leat::sleep_for(1ms);
  const auto tasks = group.report();
  REQUIRE(tasks.size() == 1);
  CHECK(contains(tasks[0].position, "select 2 timers"));
  CHECK(contains(tasks[0].position, "select_test.cpp"));
  co_await group.join();
}

LEAT_TEST("select: a dump counts timers and stops, which have no names") {
  task_group group("selecting");
  std::stop_source source;
  group.spawn([&]() -> task<> {
    co_await leat::select(leat::wait_for_stop(source.get_token()), leat::sleep_for(1s),
                          leat::wait_for_stop(source.get_token()), leat::sleep_for(2s),
                          leat::sleep_for(3s));
  });
  co_await leat::sleep_for(1ms);
  const auto tasks = group.report();
  REQUIRE(tasks.size() == 1);
  CHECK_THAT(tasks[0].position, Catch::Contains("select 2 stops, or 3 timers, at "));
  co_await group.join();
}

LEAT_TEST("with_timeout: returns the result of an operation that completes in time") {
  task_group group;
  group.spawn(sleep(1s));
  co_await leat::with_timeout(group.join(), 2s);
  leat::scheduler& sched = leat::this_task::get_scheduler();
  co_await leat::with_deadline(leat::sleep_for(1s), sched.now() + 2s);
}

LEAT_TEST("with_timeout: throws deadline_exceeded with the name of the operation") {
  task_group group("slow");
  group.spawn(sleep(3s));
  const std::string what =
      co_await message_of(leat::with_timeout(group.join(), 2s), errc::deadline_exceeded);
  CHECK_THAT(what, Catch::StartsWith("join task group 'slow'"));
  CHECK_THAT(what,
             Catch::Contains(": timed out without effect (limit of 2000 ms at select_test.cpp:"));
  CHECK_THAT(what, !Catch::Contains("timer"));
  co_await group.join();
}

// ---- A select or a limit owns its operations if a function returns it.

auto first_of(leat::duration a, leat::duration b) {
  return leat::select(leat::sleep_for(a), leat::sleep_for(b));
}
auto stopped_by(leat::duration d, std::stop_token token) {
  return leat::with_stop(leat::sleep_for(d), std::move(token));
}
auto joined_within(task_group& group, leat::duration d) {
  return leat::with_timeout(group.join(), d);
}
auto told_within(task_group& group, leat::duration d) {
  return leat::as_tuple(leat::with_timeout(group.join(), d));
}

LEAT_TEST("select: a function can return a select or a with_timeout") {
  std::stop_source source;
  task_group group;
  group.spawn(sleep(3s));
  auto sleeps = first_of(2s, 1s);
  auto stop = stopped_by(1h, source.get_token());
  auto late = told_within(group, 1s);
  auto in_time = joined_within(group, 3s);
  leat_test::overwrite_stack();
  const auto first = co_await sleeps;
  CHECK(first.index() == 1);
  const auto [ec] = co_await late;
  CHECK(ec == errc::deadline_exceeded);
  co_await in_time;
  source.request_stop();
  const auto [stopped] = co_await leat::as_tuple(std::move(stop));
  CHECK(stopped == errc::cancelled);
}

TEST_CASE("select: awaiting it or a limit twice ends the process with a message") {
  const auto await_twice = [](bool is_limit) {
    return leat_test::abort_message([is_limit] {
      leat::sim::run([](bool limit) -> task<> {
        if (limit) {
          auto operation = leat::with_timeout(leat::sleep_for(1ms), 1s);
          co_await operation;
          co_await operation;
        } else {
          auto operation = leat::select(leat::sleep_for(1ms), leat::sleep_for(1s));
          co_await operation;
          co_await operation;
        }
      }(is_limit));
    });
  };
  for (const bool is_limit : {false, true}) {
    CHECK(await_twice(is_limit).find("awaited twice: create a new one for each co_await") !=
          std::string::npos);
  }
}

}  // namespace select_test
