#include "leat/sync/rate_limiter.hpp"

#include "support/leat_test.hpp"

namespace rate_limiter_test {

using leat::rate_limiter;

task<leat::time_point> present() {
  const leat::scheduler& here = leat::this_task::get_scheduler();
  co_return here.now();
}

LEAT_TEST("rate_limiter: a burst is served at once, and then one token each interval") {
  rate_limiter limiter(100, 1s, 3, "requests");
  const leat::time_point start = co_await present();
  std::vector<leat::duration> times;
  for (int i = 0; i < 6; ++i) {
    co_await limiter.acquire();
    times.push_back(co_await present() - start);
  }
  CHECK(times == std::vector<leat::duration>{0ms, 0ms, 0ms, 10ms, 20ms, 30ms});
}

LEAT_TEST("rate_limiter: unused tokens are stored up to the burst") {
  rate_limiter limiter(10, 1s, 2);
  co_await limiter.acquire(2);
  co_await leat::sleep_for(1h);
  CHECK(limiter.try_acquire(2));
  CHECK_FALSE(limiter.try_acquire());
  co_await leat::sleep_for(100ms);
  CHECK(limiter.try_acquire());
  CHECK_FALSE(limiter.try_acquire());
}

task<> acquire_into(rate_limiter& limiter, std::size_t count, std::string& log, char name) {
  co_await limiter.acquire(count);
  log += name;
}

LEAT_TEST("rate_limiter: tasks are served in order, whatever they request") {
  rate_limiter limiter(10, 1s, 5);
  co_await limiter.acquire(5);
  std::string log;
  task_group group;
  for (const auto& [count, name] : {std::pair(std::size_t{5}, 'a'), {1, 'b'}, {2, 'c'}}) {
    group.spawn(acquire_into(limiter, count, log, name));
    co_await leat::sleep_for(1ms);
  }
  CHECK_FALSE(limiter.try_acquire());
  const leat::time_point start = co_await present();
  co_await group.join();
  CHECK(log == "abc");
  CHECK(co_await present() - start == 800ms - 3ms);
}

LEAT_TEST("rate_limiter: a cancelled call costs later calls nothing") {
  rate_limiter limiter(10, 1s, 5);
  co_await limiter.acquire(5);
  const leat::time_point start = co_await present();
  std::string log;
  task_group stopped;
  task_group group;
  stopped.spawn(acquire_into(limiter, 5, log, 'a'));
  co_await leat::sleep_for(1ms);
  stopped.spawn(acquire_into(limiter, 5, log, 'b'));
  co_await leat::sleep_for(1ms);
  group.spawn(acquire_into(limiter, 1, log, 'c'));
  co_await leat::sleep_for(1ms);
  stopped.request_stop();
  co_await stopped.join();
  co_await group.join();
  CHECK(log == "c");
  CHECK(co_await present() - start == 100ms);
}

LEAT_TEST("rate_limiter: a limit that expires takes no token") {
  rate_limiter limiter(10, 1s);
  co_await limiter.acquire();
  const auto [ec] = co_await leat::as_tuple(leat::with_timeout(limiter.acquire(), 50ms));
  CHECK(ec == errc::deadline_exceeded);
  co_await leat::sleep_for(50ms);
  CHECK(limiter.try_acquire());
}

std::string creation_error(std::size_t count, leat::duration period, std::size_t burst) {
  const auto o = outcome_of([&] { const rate_limiter l(count, period, burst, "r"); });
  CHECK(o.code == errc::invalid_argument);
  return o.text;
}

TEST_CASE("rate_limiter: impossible rates are errors") {
  CHECK(creation_error(0, 1s, 1).find("rate_limiter 'r': a count of 0 tokens") == 0);
  CHECK(creation_error(1, 1s, 0).find("rate_limiter 'r': a burst of 0 tokens") == 0);
  CHECK(creation_error(1, 0s, 1).find("rate_limiter 'r': the period is not positive") == 0);
  CHECK(creation_error(1, -1s, 1).find("rate_limiter 'r': the period is not positive") == 0);
  CHECK(creation_error(1, 1h, SIZE_MAX).find("rate_limiter 'r': burst takes more") == 0);
  CHECK(creation_error(2, 1ns, 1).find("rate_limiter 'r': more than one token") == 0);
  rate_limiter limiter(1, 1s, 3, "r");
  const auto none = outcome_of([&] { static_cast<void>(limiter.try_acquire(0)); });
  CHECK(none.code == errc::invalid_argument);
  CHECK(none.text.starts_with("rate_limiter 'r': acquire of 0 tokens, but a call needs"));
  const auto many = outcome_of([&] { static_cast<void>(limiter.try_acquire(4)); });
  CHECK(many.text.starts_with("rate_limiter 'r': acquire of 4 tokens, but at most 3 can"));
}

TEST_CASE("rate_limiter: the slowest rate does not overflow") {
  rate_limiter slow(1, leat::duration::max(), 1);
  CHECK(slow.try_acquire());
  CHECK_FALSE(slow.try_acquire());
}

}  // namespace rate_limiter_test
