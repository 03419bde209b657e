#include "leat/async/joins/when_any_success.hpp"

#include "async/task_steps.hpp"
#include "support/leat_test.hpp"

namespace when_any_success_test {

using namespace task_steps;

LEAT_TEST("when_any_success: an error does not end the other tasks") {
  const stopwatch time;
  auto results = co_await leat::when_any_success(fail_after("broken", 1s), value_after(2, 2s),
                                                 value_after(3, 1000h));
  CHECK_FALSE(std::get<0>(results));
  CHECK(std::get<1>(results) == 2);
  CHECK_FALSE(std::get<2>(results));
  CHECK(time.elapsed() == 2s);
}

LEAT_TEST("when_any_success: a loser that returns nevertheless keeps its result") {
  auto results = co_await leat::when_any_success(finish_despite_stop(1), value_after(2, 1s));
  CHECK(std::get<0>(results) == 1);
  CHECK(std::get<1>(results) == 2);
}

LEAT_TEST("when_any_success: throws the error of the first argument if all tasks fail") {
  CHECK((co_await message_of(
            leat::when_any_success(fail_after("first", 2s), fail_after("second", 1s)))) == "first");
}

LEAT_TEST("when_any_success: works with a vector") {
  std::vector<task<int>> tasks;
  tasks.push_back(fail_after("broken", 1s));
  tasks.push_back(value_after(2, 2s));
  const auto results = co_await leat::when_any_success(std::move(tasks));
  CHECK_FALSE(results[0]);
  CHECK(results[1] == 2);
  std::vector<task<int>> failing;
  failing.push_back(fail_after("one", 1s));
  CHECK((co_await message_of(leat::when_any_success(std::move(failing)))) == "one");
  CHECK((co_await message_of(leat::when_any_success(std::vector<task<int>>())))
            .find("when_any_success() of no tasks") != std::string::npos);
}

LEAT_TEST("when_any_success: a stop of the caller ends it with cancelled") {
  const std::error_code code = co_await code_of_stopped(
      leat::when_any_success(value_after(1, 1h), fail_after("broken", 2h)));
  CHECK(code == errc::cancelled);
}

}  // namespace when_any_success_test
