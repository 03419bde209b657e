// Tasks under limits and in joins that have not finished when their scheduler is destroyed.

#include "leat/async/for_each_concurrent.hpp"
#include "support/leat_test.hpp"
#include "support/loops.hpp"

namespace scheduler_end_joins_test {

using leat_test::counted;

task<int> sleep_long(int& frames) {
  const counted c(frames);
  co_await leat::sleep_for(1h);
  co_return 1;
}
task<int> never_wait(int& frames) {
  const counted c(frames);
  co_return 1;
}
task<int> swallow_stop(int& frames) {
  const counted c(frames);
  co_await leat::as_tuple(leat::sleep_for(1h));
  task_group shielded(leat::shielded);
  shielded.spawn([&frames]() -> task<> { co_await sleep_long(frames); });
  co_await shielded.join();
  co_return 1;
}

task<> all_of_two(int& frames) { co_await leat::when_all(sleep_long(frames), sleep_long(frames)); }
task<> all_of_one_that_returned(int& frames) {
  co_await leat::when_all(never_wait(frames), sleep_long(frames));
}
task<> any_of_two(int& frames) { co_await leat::when_any(sleep_long(frames), sleep_long(frames)); }
task<> any_with_a_stopped_loser(int& frames) {
  co_await leat::when_any(never_wait(frames), swallow_stop(frames));
}
task<> each_of_three(int& frames) {
  const std::vector<int> elements{1, 2, 3};
  co_await leat::for_each_concurrent(elements, 2,
                                     [&](int) -> task<> { co_await sleep_long(frames); });
}
task<> under_timeout(int& frames) { co_await leat::with_timeout(sleep_long(frames), 10h); }
task<> after_timeout(int& frames) { co_await leat::with_timeout(swallow_stop(frames), 0s); }
task<> nested_timeouts(int& frames) {
  const auto inner = [&]() -> task<> { co_await leat::with_timeout(sleep_long(frames), 10h); };
  co_await leat::with_timeout(inner(), 10h);
}
task<> in_select(int& frames) { co_await leat::select(sleep_long(frames), leat::sleep_for(10h)); }

const leat_test::scenario scenarios[] = {
    {"when_all", all_of_two},
    {"when_all, one task has returned", all_of_one_that_returned},
    {"when_any", any_of_two},
    {"when_any, the loser has not ended", any_with_a_stopped_loser},
    {"for_each_concurrent", each_of_three},
    {"with_timeout", under_timeout},
    {"with_timeout, the task swallows the stop", after_timeout},
    {"with_timeout in with_timeout", nested_timeouts},
    {"select", in_select},
};

// The loop has run `turns` times when it is destroyed: the tasks have not started, are waiting, or
// have been woken.
LEAT_LOOP_TEST("scheduler end: tasks in joins and under limits are destroyed") {
  leat_test::check_ends<TestType>(scenarios, 8);
}

}  // namespace scheduler_end_joins_test
