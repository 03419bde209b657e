// The message of an error of a limit: the operation, the length of the limit and its place.

#include <atomic>
#include <source_location>
#include <stop_token>
#include <thread>

#include <asio/io_context.hpp>
#include <asio/steady_timer.hpp>

#include "async/loop/asio_support.hpp"
#include "async/task_steps.hpp"
#include "support/leat_test.hpp"

namespace limit_message_test {

using leat::with_deadline;
using leat::with_stop;
using leat::with_timeout;

/// "(limit of 10 ms at service.cpp:9 in serve)"
std::string limit(const char* length, const std::source_location& where) {
  return std::string("(limit of ") + length + " ms at " + leat::detail::to_text(where) + ")";
}
std::string stop(const std::source_location& where) {
  return "(with_stop() at " + leat::detail::to_text(where) + ")";
}

LEAT_TEST("with_timeout: the message has the length of the limit and its place") {
  const auto here = std::source_location::current();
  const auto text =
      co_await message_of<leat::failure>(with_timeout(leat::sleep_for(1h), 1500us, here));
  CHECK(text == "a timer: timed out without effect " + limit("1.5", here) + ": deadline exceeded");
  const auto next_line = co_await message_of<leat::failure>(with_timeout(leat::sleep_for(1h), 1ms));
  CHECK(contains(next_line, " (limit of 1 ms at limit_message_test.cpp:"));
}

LEAT_TEST("with_deadline: a deadline long ago is a limit of 0") {
  const auto here = std::source_location::current();
  CHECK(co_await message_of<leat::failure>(
            with_deadline(leat::sleep_for(1h), leat::time_point::min(), here)) ==
        "a timer: timed out without effect " + limit("0", here) + ": deadline exceeded");
}

LEAT_TEST("with_deadline: the message has the time from the start to the deadline") {
  const auto here = std::source_location::current();
  leat::scheduler& sched = leat::this_task::get_scheduler();
  const leat::time_point now = sched.now();
  auto future = with_deadline(leat::sleep_for(1h), now + 30ms, here);
  auto past = with_deadline(leat::sleep_for(1h), now - 30ms, here);
  co_await leat::sleep_for(10ms);
  const auto text = co_await message_of<leat::failure>(std::move(future));
  CHECK(contains(text, limit("20", here)));
  const auto text_of_past = co_await message_of<leat::failure>(std::move(past));
  CHECK(contains(text_of_past, limit("0", here)));
}

LEAT_TEST("with_stop: the message has the place of the call") {
  const auto here = std::source_location::current();
  std::stop_source source;
  source.request_stop();
  const std::stop_token token = source.get_token();
  CHECK(co_await message_of<leat::failure>(with_stop(leat::sleep_for(1h), token, here)) ==
        "a timer: stopped without effect " + stop(here) + ": cancelled");
  const auto of_task =
      co_await message_of<leat::failure>(with_stop(value_after(1, 1h), token, here));
  CHECK(of_task == "task: stopped before it started " + stop(here) + ": cancelled");
}

LEAT_TEST("with_timeout: the message names the limit that expired first") {
  const auto outer = std::source_location::current();
  const auto inner = std::source_location::current();
  const auto by_outer = co_await message_of<leat::failure>(
      with_timeout(with_timeout(leat::sleep_for(1h), 2s, inner), 1s, outer));
  CHECK(contains(by_outer, limit("1000", outer)));
  const auto of_task = co_await message_of<leat::failure>(
      with_timeout(with_timeout(value_after(1, 1h), 1s, inner), 2s, outer));
  CHECK(contains(of_task, ": timed out and was stopped " + limit("1000", inner)));
  const auto of_select = co_await message_of<leat::failure>(leat::select(
      with_timeout(leat::sleep_for(1h), 2s, inner), with_timeout(leat::sleep_for(1h), 1s, outer)));
  CHECK(contains(of_select, limit("1000", outer)));
}

LEAT_TEST("with_timeout: the message of a stop of the task names no limit") {
  std::string text;
  const auto body = [&]() -> task<> {
    text = co_await message_of<leat::failure>(with_timeout(leat::sleep_for(1h), 2h));
  };
  co_await task_steps::run_and_stop(body());
  CHECK(text == "a timer: stopped without effect: cancelled");
}

LEAT_ASIO_TEST("with_timeout: the message of an Asio operation names the limit") {
  const auto here = std::source_location::current();
  asio::steady_timer timer(io, 1h);
  CHECK(co_await message_of<leat::failure>(
            with_timeout(timer.async_wait(leat::use_task), 2ms, here)) ==
        "async_wait " + limit("2", here) + ": deadline exceeded");
}

LEAT_REAL_TIME_TEST("with_timeout: the message of run_blocking() names the limit") {
  std::atomic<bool> called{false};
  const auto wait = [&called](const std::stop_token& token) {
    called = true;
    while (!token.stop_requested()) std::this_thread::sleep_for(100us);
    throw leat::failure(errc::cancelled, "stopped");
  };
  const auto here = std::source_location::current();
  std::string text;
  int ms = 1;
  do {  // until the thread is fast enough
    ms *= 2;
    auto limited = with_timeout(leat::run_blocking(wait), std::chrono::milliseconds(ms), here);
    text = co_await message_of<leat::failure>(std::move(limited));
  } while (!called);
  CHECK(text == "run_blocking: the function ended early " +
                    limit(std::to_string(ms).c_str(), here) + ": deadline exceeded");
}

}  // namespace limit_message_test
