// Asio operations under limits, stops and in select(): which result wins.

#include "leat/async/loop/use_task.hpp"

#include <array>
#include <stop_token>
#include <variant>

#include <asio.hpp>

#include "async/loop/asio_support.hpp"
#include "async/task_steps.hpp"
#include "support/dump.hpp"
#include "support/leat_test.hpp"
#include "support/loops.hpp"

namespace use_task_limits_test {

using leat::use_task;
using leat_test::bytes_before_end;
using leat_test::dump;
using leat_test::failure_of;
using leat_test::operation;
using leat_test::socket_pair;
using leat_test::wait_stubbornly;
using bytes = std::array<char, 8>;

// ---- One operation and one limit.

LEAT_ASIO_TEST("with_timeout: an Asio operation that completes in time returns its value") {
  socket_pair s(io);
  bytes buffer{};
  co_await leat::with_timeout(s.a.async_write_some(asio::buffer("abc", 3), use_task), 1h);
  const std::size_t n =
      co_await leat::with_timeout(s.b.async_read_some(asio::buffer(buffer), use_task), 1h);
  CHECK(n == 3);
  asio::steady_timer t(io, 1ms);
  co_await leat::with_timeout(t.async_wait(use_task), 1h);
}

LEAT_ASIO_TEST("with_timeout: a cancelled Asio operation fails with deadline_exceeded") {
  socket_pair s(io);
  bytes buffer{};
  const auto error = co_await failure_of(
      leat::with_timeout(s.a.async_read_some(asio::buffer(buffer), use_task), 1ms));
  CHECK(error.code == errc::deadline_exceeded);
  CHECK(error.what.starts_with("async_receive"));
  const auto [ec, n] = co_await leat::as_tuple(
      leat::with_timeout(s.a.async_read_some(asio::buffer(buffer), use_task), 1ms));
  CHECK(ec == errc::deadline_exceeded);
  CHECK(n == 0);
  asio::steady_timer t(io, 1h);
  const auto [late] = co_await leat::as_tuple(leat::with_timeout(t.async_wait(use_task), 1ms));
  CHECK(late == errc::deadline_exceeded);
}

LEAT_ASIO_TEST("with_timeout: the bytes that a cancelled async_read has read are reported") {
  socket_pair s(io);
  bytes buffer{};
  co_await asio::async_write(s.a, asio::buffer("abc", 3), use_task);
  CHECK(co_await bytes_before_end(
            leat::with_timeout(asio::async_read(s.b, asio::buffer(buffer), use_task), 1ms),
            errc::deadline_exceeded) == 3);
  co_await asio::async_write(s.a, asio::buffer("de", 2), use_task);
  const auto [ec, n] = co_await leat::as_tuple(
      leat::with_timeout(asio::async_read(s.b, asio::buffer(buffer), use_task), 1ms));
  CHECK(ec == errc::deadline_exceeded);
  CHECK(n == 2);
}

LEAT_ASIO_TEST("with_timeout: an Asio operation keeps an error of its own") {
  socket_pair s(io);
  bytes buffer{};
  s.b.close();
  const auto error = co_await failure_of(
      leat::with_timeout(s.a.async_read_some(asio::buffer(buffer), use_task), 1h));
  CHECK(error.code == asio::error::eof);
}

LEAT_ASIO_TEST("with_timeout: a limit of 0 takes the data that are there") {
  socket_pair s(io);
  bytes buffer{};
  co_await asio::async_write(s.a, asio::buffer("abc", 3), use_task);
  const auto [ec, n] = co_await leat::as_tuple(
      leat::with_timeout(s.b.async_read_some(asio::buffer(buffer), use_task), 0s));
  CHECK_FALSE(ec);
  CHECK(n == 3);
  const auto [none, m] = co_await leat::as_tuple(
      leat::with_timeout(s.b.async_read_some(asio::buffer(buffer), use_task), 0s));
  CHECK(none == errc::deadline_exceeded);
  CHECK(m == 0);
}

LEAT_ASIO_TEST("with_timeout: an exception of the initiation of an operation is thrown") {
  const auto error = co_await failure_of(leat::with_timeout(
      operation<void()>([](auto) { throw std::runtime_error("initiation"); }, use_task), 1s));
  CHECK(error.what == "initiation");
}

LEAT_ASIO_TEST("with_timeout: cancels through co_spawn and async_run") {
  const auto wait = []() -> asio::awaitable<void> {
    asio::steady_timer t(co_await asio::this_coro::executor, 1h);
    co_await t.async_wait(asio::use_awaitable);
  };
  const auto [ec] =
      co_await leat::as_tuple(leat::with_timeout(asio::co_spawn(io, wait, use_task), 1ms));
  CHECK(ec == errc::deadline_exceeded);
  const auto sleep = []() -> task<> { co_await leat::sleep_for(1h); };
  const auto [stopped] =
      co_await leat::as_tuple(leat::with_timeout(leat::async_run(io, sleep(), use_task), 1ms));
  CHECK(stopped == errc::deadline_exceeded);
}

LEAT_ASIO_TEST("with_timeout: waits for an operation that ignores the cancellation") {
  asio::steady_timer t(io, 20ms);
  const int n = co_await leat::with_timeout(
      operation<void(int)>(
          [&t](auto h) { t.async_wait([h = std::move(h)](std::error_code) mutable { h(7); }); },
          use_task),
      1ms);
  CHECK(n == 7);
}

LEAT_ASIO_TEST("with_timeout: cancels operations of another context") {
  leat_test::context_on_thread other;
  asio::steady_timer t(other.io, 1h);
  const auto [ec] = co_await leat::as_tuple(leat::with_timeout(t.async_wait(use_task), 1ms));
  CHECK(ec == errc::deadline_exceeded);
}

LEAT_ASIO_TEST("with_stop: a stop cancels an Asio operation") {
  std::stop_source source;
  task_group group;
  group.spawn(task_steps::request_stop_after(source, 1ms));
  asio::steady_timer t(io, 1h);
  const auto error =
      co_await failure_of(leat::with_stop(t.async_wait(use_task), source.get_token()));
  CHECK(error.code == errc::cancelled);
  co_await group.join();
}

// ---- A stop of the task.

task<> read_until_stopped(asio::local::stream_protocol::socket& s, std::string& out) {
  bytes buffer{};
  const auto error = co_await failure_of(s.async_read_some(asio::buffer(buffer), use_task));
  out = error.what;
  CHECK(error.code == errc::cancelled);
}

LEAT_ASIO_TEST("use_task: a stop request during an operation cancels it") {
  socket_pair s(io);
  std::string what;
  co_await task_steps::run_and_stop(read_until_stopped(s.a, what));
  CHECK(what.starts_with("async_receive"));
}

LEAT_ASIO_TEST("use_task: a stop takes effect at the next wait if the operation succeeds anyway") {
  int steps = 0;
  const auto body = [&]() -> task<> {
    asio::steady_timer t(io, 20ms);
    co_await wait_stubbornly(t);
    steps = 1;
    const auto [ec] = co_await leat::as_tuple(t.async_wait(use_task));
    CHECK(ec == errc::cancelled);
    steps = 2;
  };
  co_await task_steps::run_and_stop(body());
  CHECK(steps == 2);
}

// ---- select.

LEAT_ASIO_TEST("select: a read of a socket that has data wins over a timer") {
  socket_pair s(io);
  bytes buffer{};
  co_await asio::async_write(s.a, asio::buffer("abc", 3), use_task);
  const auto done = co_await leat::select(s.b.async_read_some(asio::buffer(buffer), use_task),
                                          leat::sleep_for(1h));
  CHECK(done.index() == 0);
  CHECK(std::get<0>(done) == 3);
  const auto late = co_await leat::select(s.b.async_read_some(asio::buffer(buffer), use_task),
                                          leat::sleep_for(1ms));
  CHECK(late.index() == 1);
}

LEAT_ASIO_TEST("select: the error of an Asio operation that has bytes wins over a timer") {
  socket_pair s(io);
  bytes buffer{};
  co_await asio::async_write(s.a, asio::buffer("abc", 3), use_task);
  CHECK(
      co_await bytes_before_end(
          leat::select(leat::sleep_for(1ms), asio::async_read(s.b, asio::buffer(buffer), use_task)),
          errc::cancelled) == 3);
}

LEAT_ASIO_TEST("select: a stop of the task cancels the Asio operation") {
  asio::steady_timer t(io, 1h);
  CHECK(co_await task_steps::code_of_stopped(
            leat::select(t.async_wait(use_task), leat::sleep_for(1h))) == errc::cancelled);
}

LEAT_ASIO_TEST("select: a limit cancels an Asio operation, and its bytes are reported") {
  socket_pair s(io);
  bytes buffer{};
  std::stop_source source;
  const auto read = [&] { return asio::async_read(s.b, asio::buffer(buffer), use_task); };
  const auto error =
      co_await failure_of(leat::select(leat::sleep_for(1h), leat::with_timeout(read(), 1ms)));
  CHECK(error.code == errc::deadline_exceeded);
  CHECK(error.what.starts_with("async_read"));
  co_await asio::async_write(s.a, asio::buffer("abc", 3), use_task);
  const auto limited = [&] {
    return leat::with_timeout(leat::with_stop(read(), source.get_token()), 1ms);
  };
  CHECK(co_await bytes_before_end(leat::select(limited(), leat::sleep_for(1h)),
                                  errc::deadline_exceeded) == 3);
  co_await asio::async_write(s.a, asio::buffer("de", 2), use_task);
  const auto done = co_await leat::select(
      leat::with_timeout(s.b.async_read_some(asio::buffer(buffer), use_task), 1h),
      leat::sleep_for(1h));
  CHECK(std::get<0>(done) == 2);
  source.request_stop();
  const auto [ec, none] = co_await leat::as_tuple(
      leat::select(leat::sleep_for(1h), leat::with_stop(read(), source.get_token())));
  CHECK(ec == errc::cancelled);
}

// ---- Dumps.

LEAT_ASIO_TEST("use_task: a dump names the operation and its source location") {
  asio::ip::tcp::acceptor acceptor(io, {asio::ip::make_address("127.0.0.1"), 0});
  socket_pair s(io);
  std::string text;
  task_group group("all");
  group.spawn(
      [](asio::ip::tcp::acceptor& a) -> task<> { co_await a.async_accept(use_task); }(acceptor),
      "server");
  group.spawn(
      [](socket_pair& p, std::string& t) -> task<> {
        co_await asio::async_read_until(p.a, asio::dynamic_buffer(t), '\n', use_task);
      }(s, text),
      "reader");
  group.spawn(
      [](socket_pair& p) -> task<> {
        bytes buffer{};
        co_await leat::select(p.b.async_read_some(asio::buffer(buffer), use_task),
                              leat::sleep_for(1h));
      }(s),
      "chooser");
  co_await leat::sleep_for(1ms);
  const std::string seen = dump();
  CHECK(contains(seen, "server: await async_accept, at "));
  CHECK(contains(seen, "reader: await async_read_until, at "));
  CHECK(contains(seen, "chooser: select await async_receive, or a timer ("));
  CHECK(contains(seen, "use_task_limits_test.cpp"));
  co_await stop_and_join(group);
}

LEAT_ASIO_TEST("use_task: a dump shows that an operation was cancelled and has not ended") {
  asio::steady_timer t(io, 1h);
  task_group group("all");
  group.spawn([](asio::steady_timer& timer) -> task<> { co_await wait_stubbornly(timer); }(t),
              "stubborn");
  co_await leat::sleep_for(1ms);
  group.request_stop();
  co_await leat::sleep_for(1ms);
  CHECK(contains(dump(), "stubborn: await an Asio operation, cancelled 0."));
  t.cancel();
  co_await leat::as_tuple(group.join());
}

}  // namespace use_task_limits_test
