#include "leat/async/when_any.hpp"

#include "async/task_steps.hpp"
#include "support/leat_test.hpp"

namespace when_any_test {

using namespace task_steps;

LEAT_TEST("when_any: the first result stops the other tasks") {
  const stopwatch time;
  const auto [a, b] = co_await leat::when_any(value_after(1, 1000h), value_after(2, 1s));
  CHECK(!a);
  CHECK(b == 2);
  CHECK(time.elapsed() == 1s);
}

LEAT_TEST("when_any: a loser that returns nevertheless keeps its result") {
  const auto [a, b] = co_await leat::when_any(finish_despite_stop(1), value_after(2, 1s));
  CHECK(a == 1);
  CHECK(b == 2);
}

LEAT_TEST("when_any: void becomes monostate") {
  const auto [a, b] = co_await leat::when_any(sleep(1s), value_after(2, 2s));
  CHECK(a.has_value());
  CHECK(!b);
}

LEAT_TEST("when_any: the first error stops the others and is thrown") {
  CHECK(co_await message_of<std::runtime_error>(
            leat::when_any(fail_after("broken", 1s), value_after(2, 1000h))) == "broken");
}

LEAT_TEST("when_any: an error after the first result is thrown") {
  CHECK(co_await message_of<std::runtime_error>(
            leat::when_any(fail_when_stopped("too late"), value_after(2, 1s))) == "too late");
}

LEAT_TEST("when_any: a vector of tasks returns an optional for each") {
  std::vector<task<int>> tasks;
  for (int i = 0; i < 10; ++i) tasks.push_back(value_after(i, (10 - i) * 1s));
  const auto results = co_await leat::when_any(std::move(tasks));
  REQUIRE(results.size() == 10);
  for (std::size_t i = 0; i < 9; ++i) CHECK(!results[i]);
  CHECK(results[9] == 9);
}

LEAT_TEST("when_any: an empty vector fails with invalid_argument") {
  const auto [ec, results] = co_await leat::as_tuple(leat::when_any(std::vector<task<int>>()));
  CHECK(ec == errc::invalid_argument);
}

LEAT_TEST("when_any: a stop of the caller ends it with cancelled") {
  CHECK(co_await code_of_stopped(leat::when_any(value_after(1, 1000h), value_after(2, 1000h))) ==
        errc::cancelled);
}

LEAT_TEST("when_any: a task that returns despite a stop of the caller has won") {
  std::optional<int> won;
  const auto body = [&]() -> task<> {
    const auto [a, b] = co_await leat::when_any(value_after(1, 1000h), finish_despite_stop(2));
    won = b;
  };
  co_await run_and_stop(body());
  CHECK(won == 2);
}

}  // namespace when_any_test
