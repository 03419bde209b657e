#include "leat/async/joins/when_all_settled.hpp"

#include "async/task_steps.hpp"
#include "support/leat_test.hpp"

namespace when_all_settled_test {

using namespace task_steps;
using leat::settled;

LEAT_TEST("settled: has a value, an exception, or neither") {
  settled<int> none;
  CHECK_FALSE(none);
  CHECK_FALSE(none.code());
  CHECK_THROWS_AS(none.value(), std::bad_optional_access);
  settled<int> seven(7);
  CHECK(seven);
  CHECK(seven.value() == 7);
  CHECK_FALSE(seven.exception());
  settled<int> failed(std::make_exception_ptr(leat::failure(errc::data_loss, "torn")));
  CHECK_FALSE(failed);
  CHECK(failed.code() == errc::data_loss);
  CHECK_THROWS_AS(failed.value(), leat::failure);
  co_return;
}

LEAT_TEST("when_all_settled: returns the end of each task") {
  auto ends =
      co_await leat::when_all_settled(value_after(1, 2s), fail_after("failed", 1s), sleep(3s));
  CHECK(std::get<0>(ends).value() == 1);
  CHECK_THROWS_AS(std::get<1>(ends).value(), std::runtime_error);
  CHECK(std::get<2>(ends).has_value());
}

LEAT_TEST("when_all_settled: a limit keeps the results of the tasks that have returned") {
  auto ends = co_await leat::with_timeout(
      leat::when_all_settled(value_after(1, 1s), value_after(2, 1h)), 10s);
  CHECK(std::get<0>(ends).value() == 1);
  CHECK(std::get<1>(ends).code() == errc::cancelled);
}

LEAT_TEST("when_all_settled: a stop of the caller keeps the results too") {
  std::vector<settled<int>> ends;
  const auto body = [&]() -> task<> {
    std::vector<task<int>> tasks;
    tasks.push_back(value_after(1, 0s));
    tasks.push_back(value_after(2, 1h));
    ends = co_await leat::when_all_settled(std::move(tasks));
  };
  co_await run_and_stop(body());
  REQUIRE(ends.size() == 2);
  CHECK(ends[0].value() == 1);
  CHECK(ends[1].code() == errc::cancelled);
}

LEAT_TEST("when_all_settled: moves results") {
  const auto make = []() -> task<std::unique_ptr<int>> { co_return std::make_unique<int>(3); };
  auto ends = co_await leat::when_all_settled(make());
  const std::unique_ptr<int> p = std::move(std::get<0>(ends)).value();
  CHECK(*p == 3);
}

LEAT_TEST("when_all_settled: returns immediately if there are no tasks") {
  co_await leat::when_all_settled();
  const auto ends = co_await leat::when_all_settled(std::vector<task<int>>());
  CHECK(ends.empty());
}

}  // namespace when_all_settled_test
