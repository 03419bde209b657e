// Retries of transient errors: the number of attempts and the growing delays.

#include "leat/async/retry.hpp"

#include <chrono>
#include <functional>
#include <stdexcept>
#include <string>
#include <vector>

#include <catch2/catch.hpp>

#include "leat/async/sleep.hpp"
#include "leat/async/task_group.hpp"
#include "leat/sim/world/world.hpp"
#include "support/leat_test.hpp"

namespace retry_test {

using namespace std::chrono_literals;
using leat::errc;
using leat::retry_policy;
using leat::task;

TEST_CASE("retry: throws the last error after all attempts, with growing delays [91]", "[async]") {
  leat::sim::world w(1);
  w.run([](leat::sim::world& here) -> task<> {
    int attempts = 0;
    std::vector<leat::duration> delays;
    retry_policy policy;
    policy.attempts = 5;
    policy.first_delay = 1s;
    policy.max_delay = 6s;
    policy.seed = 1;
    policy.on_retry = [&](std::size_t, std::exception_ptr, leat::duration d) {
      delays.push_back(d);
    };
    const auto begin = here.thread(0).now();
    bool failed = false;
    try {
      co_await leat::retry(
          [&]() -> task<> {
            ++attempts;
            throw leat::failure(errc::unavailable, "attempt " + std::to_string(attempts));
            co_return;
          },
          policy);
    } catch (const leat::failure& e) {
      failed = e.code() == errc::unavailable;
      CHECK(std::string(e.what()).starts_with("attempt 5"));
    }
    CHECK(failed);
    CHECK(attempts == 5);
    REQUIRE(delays.size() == 4);
    const std::vector<leat::duration> most{1s, 2s, 4s, 6s};
    leat::duration all{};
    for (std::size_t i = 0; i < delays.size(); ++i) {
      CHECK(delays[i] <= most[i]);
      CHECK(delays[i] >= most[i] / 2);
      all += delays[i];
    }
    CHECK(here.thread(0).now() - begin == all);
  });
}

TEST_CASE("retry: does not repeat after a permanent error", "[async]") {
  leat::sim::world w(1);
  w.run([](leat::sim::world&) -> task<> {
    int attempts = 0;
    bool failed = false;
    try {
      co_await leat::retry([&]() -> task<> {
        if (++attempts < 3) throw leat::failure(errc::aborted, "once more");
        throw std::runtime_error("broken");
        co_return;
      });
    } catch (const std::runtime_error& e) {
      failed = std::string(e.what()) == "broken";
    }
    CHECK(failed);
    CHECK(attempts == 3);
    attempts = 0;
    co_await leat::retry([&]() -> task<> {
      if (++attempts < 4) throw leat::failure(errc::aborted, "once more");
      co_return;
    });
    CHECK(attempts == 4);
  });
}

TEST_CASE("retry: rejects a policy without attempts or with a negative delay", "[async]") {
  leat::sim::world w(1);
  w.run([](leat::sim::world&) -> task<> {
    const auto said_of = [](retry_policy policy) -> task<std::string> {
      try {
        co_await leat::retry([]() -> task<> { co_return; }, policy);
      } catch (const leat::failure& e) {
        co_return e.what();
      }
      co_return "";
    };
    retry_policy none;
    none.attempts = 0;
    const std::string no_attempts = co_await said_of(none);
    CHECK_THAT(no_attempts, Catch::StartsWith("retry_policy::attempts is 0: use 1 or more"));
    retry_policy negative;
    negative.first_delay = -1s;
    const std::string no_delay = co_await said_of(negative);
    CHECK_THAT(no_delay, Catch::StartsWith("retry_policy: first_delay or max_delay is negative"));
  });
}

TEST_CASE("retry: a stop ends the wait between two attempts", "[async]") {
  leat::sim::world w(1);
  w.run([](leat::sim::world& here) -> task<> {
    leat::task_group group;
    retry_policy policy;
    policy.first_delay = 1h;
    policy.max_delay = 1h;
    const std::function<task<>()> attempt = []() -> task<> {
      throw leat::failure(errc::aborted, "once more");
      co_return;
    };
    group.spawn(leat::retry(attempt, policy));
    co_await leat::sleep_for(1min);
    const auto begin = here.thread(0).now();
    group.request_stop();
    co_await group.join();
    CHECK(here.thread(0).now() == begin);
  });
}

}  // namespace retry_test
