// Limits of limits: the first one that expires ends the operation, with its code.

#include <stop_token>
#include <tuple>

#include <asio/io_context.hpp>
#include <asio/steady_timer.hpp>

#include "async/loop/asio_support.hpp"
#include "async/task_steps.hpp"
#include "support/dump.hpp"
#include "support/leat_test.hpp"

namespace limit_of_limit_test {

using leat::as_tuple;
using leat::with_deadline;
using leat::with_stop;
using leat::with_timeout;
using task_steps::code_of_stopped;

template <class Limited>
task<std::error_code> code_of(Limited limited) {
  const auto result = co_await as_tuple(std::move(limited));
  co_return result.error;
}

LEAT_TEST("with_timeout: ends an operation with two limits by the first that expires") {
  std::stop_source stop;
  CHECK((co_await code_of(with_stop(with_timeout(leat::sleep_for(1h), 1s), stop.get_token()))) ==
        errc::deadline_exceeded);
  CHECK((co_await code_of(with_timeout(with_stop(leat::sleep_for(1h), stop.get_token()), 1s))) ==
        errc::deadline_exceeded);
  stop.request_stop();
  CHECK((co_await code_of(with_stop(with_timeout(leat::sleep_for(1h), 1s), stop.get_token()))) ==
        errc::cancelled);
  CHECK((co_await code_of(with_timeout(with_stop(leat::sleep_for(1h), stop.get_token()), 1s))) ==
        errc::cancelled);
}

LEAT_TEST("with_timeout: an operation that completes within three limits succeeds") {
  std::stop_source stop;
  const leat::time_point end = leat::scheduler::current()->now() + 1h;
  co_await with_deadline(with_stop(with_timeout(leat::sleep_for(1s), 2s), stop.get_token()), end);
}

LEAT_TEST("with_timeout: limits of a limit of a task stop the task once") {
  std::stop_source stop;
  CHECK((co_await with_timeout(with_stop(value_after(7, 1s), stop.get_token()), 2s)) == 7);
  CHECK((co_await code_of(with_timeout(with_stop(value_after(7, 1h), stop.get_token()), 2s))) ==
        errc::deadline_exceeded);
  CHECK((co_await code_of(with_timeout(with_timeout(value_after(7, 1h), 1s), 1h))) ==
        errc::deadline_exceeded);
  task_group group;
  group.spawn(task_steps::request_stop_after(stop, 1s));
  CHECK((co_await code_of(with_timeout(with_stop(value_after(7, 1h), stop.get_token()), 2s))) ==
        errc::cancelled);
  co_await group.join();
}

LEAT_TEST("with_timeout: a stop of the caller ends an operation with two limits") {
  CHECK(co_await code_of_stopped(with_timeout(with_timeout(leat::sleep_for(1h), 2h), 3h)) ==
        errc::cancelled);
  CHECK(co_await code_of_stopped(with_timeout(with_timeout(value_after(1, 1h), 2h), 3h)) ==
        errc::cancelled);
  std::error_code code;
  const auto body = [&]() -> task<> {
    code = co_await code_of(with_timeout(with_timeout(leat::sleep_for(1h), 2h), 3h));
  };
  co_await task_steps::run_and_stop(body());
  CHECK(code == errc::cancelled);
}

LEAT_ASIO_TEST("with_timeout: an Asio operation under an idle limit and a drain") {
  std::stop_source draining;
  asio::steady_timer timer(io, 1h);
  CHECK((co_await code_of(with_timeout(
            with_stop(timer.async_wait(leat::use_task), draining.get_token()), 1ms))) ==
        errc::deadline_exceeded);
  draining.request_stop();
  CHECK((co_await code_of(
            with_timeout(with_stop(timer.async_wait(leat::use_task), draining.get_token()), 1h))) ==
        errc::cancelled);
}

LEAT_TEST("with_timeout: a function of run_blocking() under two limits") {
  const auto three = [] { return 3; };
  CHECK((co_await with_stop(with_timeout(leat::run_blocking(three), 1h), std::stop_token())) == 3);
}

LEAT_TEST("with_timeout: a dump shows the time left of each limit") {
  task_group group;
  group.spawn(
      []() -> task<> {
        const auto [ec] =
            co_await as_tuple(with_timeout(with_timeout(leat::sleep_for(1h), 30s), 60s));
        static_cast<void>(ec);
      }(),
      "limited");
  co_await leat::sleep_for(10s);
  const std::string text = leat_test::dump();
  CAPTURE(text);
  CHECK(contains(text, "20000 ms left"));
  CHECK(contains(text, "50000 ms left"));
  group.request_stop();
  co_await group.join();
}

LEAT_TEST("with_timeout: a dump shows how long ago a task was asked to stop") {
  task_group group;
  const auto slow_to_stop = []() -> task<int> {
    co_await as_tuple(leat::sleep_for(1h));
    task_group clean_up(leat::shielded, "clean-up");
    clean_up.spawn([]() -> task<> { co_await leat::sleep_for(2s); }());
    co_await clean_up.join();
    co_return 7;
  };
  group.spawn([](auto make) -> task<> { co_await leat::with_timeout(make(), 1s); }(slow_to_stop));
  co_await leat::sleep_for(2200ms);
  const std::string text = leat_test::dump();
  CAPTURE(text);
  CHECK(contains(text, "limit on a task, asked to stop 1.200 s ago, not ended yet, expired, at "));
  co_await group.join();
}

}  // namespace limit_of_limit_test
