// Retries of transient errors: the number of attempts and the growing delays.

#include "leat/async/retry.hpp"

#include <cerrno>
#include <exception>
#include <functional>
#include <typeinfo>

#include "async/task_steps.hpp"
#include "support/leat_test.hpp"

namespace retry_test {

using leat::retry_policy;

task<int> add_one(int n) { co_return n + 1; }

struct numbered_failure : leat::failure {
  explicit numbered_failure(int n) : failure(errc::unavailable, "numbered"), number(n) {}
  int number;
};

LEAT_TEST("retry: throws the last error after all attempts, with growing delays [91]") {
  int attempts = 0;
  std::vector<leat::duration> delays;
  retry_policy policy{.attempts = 5, .first_delay = 1s, .max_delay = 6s, .seed = 1};
  policy.on_retry = [&](std::size_t, std::exception_ptr, leat::duration d) { delays.push_back(d); };
  const auto attempt = [&]() -> task<> {
    ++attempts;
    throw leat::failure(errc::unavailable, "attempt " + std::to_string(attempts));
    co_return;
  };
  const task_steps::stopwatch time;
  CHECK(co_await message_of(leat::retry(attempt, policy), errc::unavailable) ==
        "attempt 5 (after 5 attempts): unavailable");
  CHECK(attempts == 5);
  REQUIRE(delays.size() == 4);
  const std::vector<leat::duration> most{1s, 2s, 4s, 6s};
  leat::duration all{};
  for (std::size_t i = 0; i < delays.size(); ++i) {
    CHECK(delays[i] <= most[i]);
    CHECK(delays[i] >= most[i] / 2);
    all += delays[i];
  }
  CHECK(time.elapsed() == all);
}

LEAT_TEST("retry: does not repeat after a permanent error") {
  int attempts = 0;
  const auto fail = [&]() -> task<> {
    if (++attempts < 3) throw leat::failure(errc::aborted, "once more");
    throw std::runtime_error("broken");
    co_return;
  };
  CHECK(co_await message_of<std::runtime_error>(leat::retry(fail)) == "broken");
  CHECK(attempts == 3);
  attempts = 0;
  co_await leat::retry([&]() -> task<> {
    if (++attempts < 4) throw leat::failure(errc::aborted, "once more");
    co_return;
  });
  CHECK(attempts == 4);
}

LEAT_TEST("retry: rejects a policy without attempts or with a negative delay") {
  const auto attempt = []() -> task<> { co_return; };
  const retry_policy none{.attempts = 0};
  const auto no_attempts = co_await message_of<leat::failure>(leat::retry(attempt, none));
  CHECK_THAT(no_attempts, Catch::StartsWith("retry_policy::attempts is 0: use 1 or more"));
  const retry_policy negative{.first_delay = -1s};
  const auto no_delay = co_await message_of<leat::failure>(leat::retry(attempt, negative));
  CHECK_THAT(no_delay, Catch::StartsWith("retry_policy: first_delay or max_delay is negative"));
}

LEAT_TEST("retry: a stop ends the wait between two attempts") {
  const std::function<task<>()> attempt = []() -> task<> {
    throw leat::failure(errc::aborted, "once more");
    co_return;
  };
  const task_steps::stopwatch time;
  co_await task_steps::run_and_stop(leat::retry(attempt, {.first_delay = 1h, .max_delay = 1h}));
  CHECK(time.elapsed() == 1ms);
}

LEAT_TEST("retry: returns the result of the first attempt that succeeds") {
  int attempts = 0;
  const auto attempt = [&]() -> task<std::unique_ptr<int>> {
    if (++attempts < 3) throw leat::failure(errc::unavailable, "not yet");
    co_return std::make_unique<int>(attempts);
  };
  const std::unique_ptr<int> third = co_await leat::retry(attempt);
  CHECK(*third == 3);
  const auto reference = [&]() -> task<int&> { co_return attempts; };
  const int& same = co_await leat::retry(reference, {.attempts = 2});
  CHECK(&same == &attempts);
}

LEAT_TEST("retry: accepts an attempt that can only be moved") {
  auto attempt = [value = std::make_unique<int>(7)] { return add_one(*value); };
  CHECK(co_await leat::retry(std::move(attempt)) == 8);
}

LEAT_TEST("retry: should_retry replaces the list of errors") {
  int attempts = 0;
  const auto attempt = [&]() -> task<int> {
    if (++attempts < 3) throw std::out_of_range("busy");
    throw leat::failure(errc::unavailable, "closed");
    co_return 0;
  };
  retry_policy policy{.attempts = 5};
  policy.should_retry = [](std::exception_ptr error) { return error_of(error) == "busy"; };
  CHECK(co_await message_of(leat::retry(attempt, policy)) == "closed: unavailable");
  CHECK(attempts == 3);
}

LEAT_TEST("retry: an exception of should_retry ends the attempts") {
  int attempts = 0;
  const auto attempt = [&]() -> task<int> {
    ++attempts;
    throw leat::failure(errc::unavailable, "closed");
    co_return 0;
  };
  retry_policy policy;
  policy.should_retry = [](std::exception_ptr) -> bool { throw std::runtime_error("no answer"); };
  CHECK(co_await message_of(leat::retry(attempt, policy)) == "closed: unavailable");
  CHECK(attempts == 1);
}

LEAT_TEST("retry: the last error keeps its type and its code") {
  const auto system = []() -> task<int> {
    throw std::system_error(ECONNREFUSED, std::generic_category(), "connect");
    co_return 0;
  };
  try {
    static_cast<void>(co_await leat::retry(system, {.attempts = 2}));
    FAIL("no error");
  } catch (const std::system_error& e) {
    CHECK(typeid(e) == typeid(std::system_error));
    CHECK(e.code() == std::error_code(ECONNREFUSED, std::generic_category()));
    CHECK(std::string(e.what()) == "connect (after 2 attempts): Connection refused");
  }
  const auto derived = []() -> task<int> {
    throw numbered_failure(7);
    co_return 0;
  };
  try {
    static_cast<void>(co_await leat::retry(derived, {.attempts = 2}));
    FAIL("no error");
  } catch (const numbered_failure& e) {
    CHECK(e.number == 7);
  }
}

LEAT_TEST("retry: a time limit ends an attempt and the delay before the next one") {
  int attempts = 0;
  const auto attempt = [&]() -> task<int> {
    ++attempts;
    throw leat::failure(errc::unavailable, "closed");
    co_return 0;
  };
  const retry_policy patient{.first_delay = 1h, .max_delay = 1h};
  const auto [late, none] =
      co_await leat::as_tuple(leat::with_timeout(leat::retry(attempt, patient), 1min));
  CHECK(late == errc::deadline_exceeded);
  CHECK(attempts == 1);

  const auto endless = [&]() -> task<int> {
    ++attempts;
    co_await leat::sleep_for(1h);
    co_return 0;
  };
  retry_policy all;
  all.should_retry = [](std::exception_ptr) { return true; };
  const auto [ended, zero] =
      co_await leat::as_tuple(leat::with_timeout(leat::retry(endless, all), 1min));
  CHECK(ended == errc::deadline_exceeded);
  CHECK(attempts == 2);
}

LEAT_TEST("retry: the error of a stop or a time limit has that of the last attempt") {
  int attempts = 0;
  const auto in_delay = [&]() -> task<int> {
    throw leat::failure(errc::unavailable, "refused " + std::to_string(++attempts));
    co_return 0;
  };
  const retry_policy policy{.first_delay = 100ms, .max_delay = 1h};
  const std::string late =
      co_await message_of(leat::with_timeout(leat::retry(in_delay, policy), 10ms));
  CHECK_THAT(late, Catch::Contains(": timed out and was stopped (limit of 10 ms at "));
  CHECK_THAT(late, Catch::EndsWith("): retry() stopped after an attempt failed with \"refused 1: "
                                   "unavailable\": deadline exceeded"));
  // The second attempt is stopped: it has no error of its own.
  const auto in_attempt = [&]() -> task<int> {
    if (++attempts > 1) co_await leat::sleep_for(1h);
    throw leat::failure(errc::unavailable, "refused");
    co_return 0;
  };
  attempts = 0;
  const auto within = [&]() -> task<int> { co_return co_await leat::retry(in_attempt, policy); };
  const std::string second = co_await message_of(leat::with_timeout(within(), 1min));
  CHECK_THAT(second, Catch::StartsWith("task that waits for sleep "));
  CHECK_THAT(second, Catch::EndsWith("failed with \"refused: unavailable\": deadline exceeded"));
  // An attempt that is stopped before any other has failed.
  attempts = 1;
  const std::string first = co_await message_of(leat::with_timeout(within(), 1min));
  CHECK_THAT(first, !Catch::Contains("retry()"));
}

LEAT_TEST("retry: the last attempt throws its error, although it was stopped") {
  int attempts = 0;
  const auto late = [](int& n) -> task<> {
    if (++n == 1) throw leat::failure(errc::unavailable, "first");
    co_await leat::as_tuple(leat::sleep_for(1h));
    throw leat::failure(errc::unavailable, "second");
  };
  const auto attempt = [&] { return late(attempts); };
  const leat::retry_policy twice{.attempts = 2, .first_delay = 1ms};
  const std::string said =
      co_await message_of<leat::failure>(leat::with_timeout(leat::retry(attempt, twice), 1s));
  CHECK(said == "second (after 2 attempts): unavailable");
}

LEAT_TEST("retry: an error of an attempt that was stopped is part of the message") {
  std::string said;
  const auto attempt = []() -> task<int> {
    static_cast<void>(co_await leat::as_tuple(leat::sleep_for(1h)));
    throw leat::failure(errc::unavailable, "closed");
    co_return 0;
  };
  const auto caller = [&]() -> task<> { said = co_await message_of(leat::retry(attempt)); };
  co_await task_steps::run_and_stop(caller());
  CHECK(said == "retry() stopped after an attempt failed with \"closed: unavailable\": cancelled");
}

}  // namespace retry_test
