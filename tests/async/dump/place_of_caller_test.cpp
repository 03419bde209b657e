// A wait in a coroutine of the library has the place where the program awaits that coroutine.

#include "leat/async/for_each_concurrent.hpp"
#include "support/dump.hpp"
#include "support/leat_test.hpp"

namespace place_of_caller_test {

task<int> wait_long(int n) {
  co_await leat::sleep_for(1h);
  co_return n;
}
task<> fail() {
  throw leat::failure(errc::unavailable, "refused");
  co_return;
}
task<> visit(int n) { co_await wait_long(n); }

auto join_two() { return leat::when_any(wait_long(1), wait_long(2)); }

const std::vector<int> numbers{1, 2};
leat::task_local<int> number("number");

task<> map() { co_await leat::map_concurrent(numbers, 2, wait_long); }
task<> for_each() { co_await leat::for_each_concurrent(numbers, 2, visit); }
task<> limited_map() {
  co_await leat::with_timeout(leat::map_concurrent(numbers, 2, wait_long), 10h);
}
task<> retry_join() { co_await leat::retry(join_two); }
task<> retry_without_result() {
  co_await leat::retry([]() -> task<> { co_await wait_long(1); });
}
task<> delay_of_retry() { co_await leat::retry(fail); }
task<> on_scheduler() {
  leat::scheduler& here = leat::this_task::get_scheduler();
  co_await leat::run_on(here, join_two());
}
task<> with_local() { co_await number.with(1, join_two()); }

LEAT_TEST("dump: a wait in a coroutine of the library has the place of its caller") {
  task_group group;
  group.spawn(map());
  group.spawn(for_each());
  group.spawn(limited_map());
  group.spawn(retry_join());
  group.spawn(retry_without_result());
  group.spawn(delay_of_retry());
  group.spawn(on_scheduler());
  group.spawn(with_local());
  group.spawn([] {
    std::vector<task<>> visits;
    visits.push_back(visit(1));
    return leat::when_all(std::move(visits));
  });
  co_await leat::sleep_for(1ms);
  const std::string text = leat_test::dump();
  CAPTURE(text);
  CHECK_FALSE(contains(text, " :0"));
  CHECK_FALSE(contains(text, "retry.cpp"));
  CHECK(contains(text, "join map_concurrent, 2 tasks live, at place_of_caller_test.cpp"));
  group.request_stop();
  co_await leat::as_tuple(group.join());
}

LEAT_TEST("map_concurrent: the error of a limit names it and its place") {
  const std::string said = co_await message_of<leat::failure>(
      leat::with_timeout(leat::map_concurrent(numbers, 2, wait_long), 1ms));
  CHECK_THAT(said,
             Catch::Contains("join map_concurrent, 2 tasks live, at place_of_caller_test.cpp"));
}

}  // namespace place_of_caller_test
