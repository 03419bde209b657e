#include "leat/async/when_all.hpp"

#include <tuple>
#include <variant>

#include "async/task_steps.hpp"
#include "support/dump.hpp"
#include "support/leat_test.hpp"

namespace when_all_test {

using namespace task_steps;

task<int> report_stop(bool& stopped) {
  const auto [ec] = co_await leat::as_tuple(leat::sleep_for(1000h));
  stopped = ec == errc::cancelled;
  co_await leat::sleep_for(0ms);
  co_return 0;
}

LEAT_TEST("when_all: returns the results in the order of the arguments") {
  const auto [a, b, c] =
      co_await leat::when_all(value_after(1, 3s), value_after(2, 1s), value_after(3, 2s));
  CHECK(a == 1);
  CHECK(b == 2);
  CHECK(c == 3);
}

LEAT_TEST("when_all: runs its tasks concurrently") {
  const stopwatch time;
  co_await leat::when_all(value_after(1, 3s), value_after(2, 3s));
  CHECK(time.elapsed() == 3s);
}

LEAT_TEST("when_all: void becomes monostate, references and move-only results are kept") {
  int n = 0;
  const auto get_reference = [](int& i) -> task<int&> { co_return i; };
  const auto get_pointer = []() -> task<std::unique_ptr<int>> {
    co_return std::make_unique<int>(7);
  };
  auto results = co_await leat::when_all(count_after(n, 1s), get_reference(n), get_pointer());
  static_assert(
      std::is_same_v<decltype(results), std::tuple<std::monostate, int&, std::unique_ptr<int>>>);
  CHECK(n == 1);
  CHECK(&std::get<1>(results) == &n);
  CHECK(*std::get<2>(results) == 7);
}

LEAT_TEST("when_all: without tasks, returns immediately") {
  static_assert(std::is_same_v<decltype(leat::when_all()), task<std::tuple<>>>);
  co_await leat::when_all();
  CHECK((co_await leat::when_all(std::vector<task<int>>())).empty());
  co_await leat::when_all(std::vector<task<>>());
}

LEAT_TEST("when_all: a vector of tasks returns the results in order") {
  std::vector<task<int>> tasks;
  for (int i = 0; i < 100; ++i) tasks.push_back(value_after(i, (100 - i) * 1ms));
  const std::vector<int> results = co_await leat::when_all(std::move(tasks));
  REQUIRE(results.size() == 100);
  for (int i = 0; i < 100; ++i) CHECK(results[static_cast<std::size_t>(i)] == i);
}

LEAT_TEST("when_all: a vector of tasks without results returns nothing") {
  int n = 0;
  std::vector<task<>> tasks;
  for (int i = 0; i < 10; ++i) tasks.push_back(count_after(n, i * 1ms));
  co_await leat::when_all(std::move(tasks));
  CHECK(n == 10);
}

LEAT_TEST("when_all: the first error stops the other tasks and is thrown") {
  bool stopped = false;
  CHECK(co_await message_of<std::runtime_error>(leat::when_all(
            fail_after("second", 2s), report_stop(stopped), fail_after("first", 1s))) == "first");
  CHECK(stopped);
}

LEAT_TEST("when_all: an error in a vector stops the others") {
  bool stopped = false;
  std::vector<task<int>> tasks;
  tasks.push_back(report_stop(stopped));
  tasks.push_back(fail_after("broken", 1s));
  CHECK(co_await throws<std::runtime_error>(leat::when_all(std::move(tasks))));
  CHECK(stopped);
}

task<> await_two_long() { co_await leat::when_all(value_after(1, 1000h), value_after(2, 1h)); }

LEAT_TEST("when_all: a stop of the caller ends it with cancelled") {
  std::error_code code;
  const auto body = [&]() -> task<> { code = co_await code_of(await_two_long()); };
  co_await run_and_stop(body());
  CHECK(code == errc::cancelled);
}

LEAT_TEST("when_all: tasks that all return despite a stop have their results delivered") {
  std::vector<int> results;
  const auto body = [&]() -> task<> {
    const auto [a, b] = co_await leat::when_all(finish_despite_stop(1), finish_despite_stop(2));
    results = {a, b};
  };
  co_await run_and_stop(body());
  CHECK(results == std::vector<int>{1, 2});
}

LEAT_TEST("when_all: a stop that came before does not start the waits of the tasks") {
  task_group group;
  group.request_stop();
  leat_test::outcome o;
  group.spawn([&]() -> task<> { o = co_await outcome_of(await_two_long()); });
  co_await group.join();
  CHECK(o.code == errc::cancelled);
}

LEAT_TEST("when_all: can be nested") {
  const auto [x, y] = co_await leat::when_all(
      leat::when_all(value_after(1, 1s), value_after(2, 2s)), value_after(3, 1s));
  CHECK(std::get<1>(x) == 2);
  CHECK(y == 3);
}

LEAT_TEST("when_all: as_tuple returns its error code") {
  const auto [ec, results] =
      co_await leat::as_tuple(leat::when_all(value_after(1, 1s), value_after(2, 2s)));
  CHECK(!ec);
  CHECK(std::get<0>(results) == 1);
}

LEAT_TEST("when_all: the dump shows its tasks below the caller", "[async][dump]") {
  task_group group("outer");
  group.spawn(await_two_long(), "caller");
  co_await leat::sleep_for(1s);
  const std::string text = leat_test::dump();
  CHECK(contains(text, "when_all, 2 tasks"));
  CHECK(contains(text, "when_all_test.cpp"));
  CHECK_FALSE(contains(text, "when_all.hpp"));
  group.request_stop();
  co_await group.join();
}

TEST_CASE("when_all: an empty task terminates with a message") {
  const std::string text = leat_test::abort_message([] {
    leat::block_on([]() -> task<> {
      task<int> empty;
      co_await leat::when_all(std::move(empty), value_after(1, 0s));
    }());
  });
  CHECK(contains(text, "empty task"));
}

TEST_CASE("when_all: works in a coroutine on a real loop") {
  const int sum = leat::block_on([]() -> task<int> {
    const auto [a, b] = co_await leat::when_all(value_after(1, 1ms), value_after(2, 2ms));
    co_return a + b;
  }());
  CHECK(sum == 3);
}

TEST_CASE("when_all: destroyed without being awaited, destroys its tasks") {
  const auto guard = std::make_shared<int>(1);
  {
    const auto keep = [](std::shared_ptr<int> p) -> task<> {
      co_await leat::sleep_for(1s);
      *p = 2;
    };
    auto both = leat::when_all(keep(guard), keep(guard));
    CHECK(guard.use_count() == 3);
  }
  CHECK(guard.use_count() == 1);
}

}  // namespace when_all_test
