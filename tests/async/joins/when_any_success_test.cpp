#include "leat/async/joins/when_any_success.hpp"

#include "support/leat_test.hpp"

namespace when_any_success_test {

task<int> fail_after(const char* what, leat::duration d) {
  co_await leat::sleep_for(d);
  throw std::runtime_error(what);
}
task<int> finish_despite_stop(int value) {
  static_cast<void>(co_await leat::as_tuple(leat::sleep_for(1000h)));
  co_return value;
}

LEAT_TEST("when_any_success: an error does not end the other tasks") {
  leat::scheduler& sched = leat::this_task::get_scheduler();
  const leat::time_point begin = sched.now();
  auto results = co_await leat::when_any_success(fail_after("broken", 1s), value_after(2, 2s),
                                                 value_after(3, 1000h));
  CHECK_FALSE(std::get<0>(results));
  CHECK(std::get<1>(results) == 2);
  CHECK_FALSE(std::get<2>(results));
  CHECK(sched.now() - begin == 2s);
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
  task_group group;
  std::error_code code;
  group.spawn([](std::error_code& c) -> task<> {
    auto result = co_await leat::as_tuple(
        leat::when_any_success(value_after(1, 1h), fail_after("broken", 2h)));
    c = result.error;
  }(code));
  co_await leat::sleep_for(1s);
  group.request_stop();
  co_await group.join();
  CHECK(code == errc::cancelled);
}

}  // namespace when_any_success_test
