#include <cerrno>
#include <exception>
#include <future>
#include <string>
#include <system_error>
#include <tuple>

#include <boost/asio/buffer.hpp>
#include <boost/asio/local/connect_pair.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <boost/asio/read.hpp>
#include <boost/asio/ssl/error.hpp>
#include <boost/asio/use_future.hpp>
#include <boost/beast/http/error.hpp>
#include <boost/system/errc.hpp>

#include "async/loop/asio_support.hpp"
#include "leat/leat.hpp"
#include "support/asio_test.hpp"

namespace errors_test {

namespace asio = boost::asio;
namespace http = boost::beast::http;
using leat::errc;
using leat::task;
using leat::use_task;
using socket = asio::local::stream_protocol::socket;

// Two connected sockets.
struct pair {
  explicit pair(asio::io_context& io) : near(io), far(io) { asio::local::connect_pair(near, far); }
  socket near, far;
  char byte = 0;
};

LEAT_ASIO_TEST("Boost: an operation of Asio that fails throws a failure with its code") {
  pair p(io);
  p.far.close();
  std::error_code code;
  try {
    co_await asio::async_read(p.near, asio::buffer(&p.byte, 1), use_task);
  } catch (const leat::failure& e) {
    code = e.code();
  }
  CHECK(code == asio::error::eof);
  CHECK(leat::asio_error_code(code) == asio::error::eof);
  CHECK_FALSE(code == asio::error::connection_reset);
}

TEST_CASE("Boost: the code of a failure compares with the errors of TLS") {
  const auto truncated = boost::asio::ssl::error::stream_truncated;
  const leat::failure e(boost::system::error_code(truncated), "read");
  CHECK(e.code() == truncated);
  CHECK_FALSE(std::error_code() == truncated);
}

LEAT_ASIO_TEST("Boost: as_tuple() returns the code as Asio reports it") {
  pair p(io);
  p.far.close();
  const auto [ec, n] =
      co_await leat::as_tuple(asio::async_read(p.near, asio::buffer(&p.byte, 1), use_task));
  STATIC_REQUIRE(std::is_same_v<decltype(ec), const boost::system::error_code>);
  CHECK(ec == asio::error::eof);
  CHECK(n == 0);
}

LEAT_ASIO_TEST("Boost: an operation that a limit has ended reports deadline_exceeded") {
  pair p(io);
  const auto read = [&] { return asio::async_read(p.near, asio::buffer(&p.byte, 1), use_task); };
  const auto [ec, n] = co_await leat::as_tuple(leat::with_timeout(read(), 1ms));
  CHECK(ec == errc::deadline_exceeded);
  CHECK(n == 0);
  std::error_code thrown;
  try {
    co_await leat::with_timeout(read(), 1ms);
  } catch (const leat::failure& e) {
    thrown = e.code();
  }
  CHECK(thrown == errc::deadline_exceeded);
}

// Operations that report a std::error_code. Boost's own tokens would return it as a value.
template <class Token>
auto async_report(std::error_code ec, int value, Token&& token) {
  return asio::async_initiate<Token, void(std::error_code, int)>(
      [ec, value](auto handler) { std::move(handler)(ec, value); }, token);
}

LEAT_ASIO_TEST("Boost: use_task takes a std::error_code for an error too") {
  CHECK(co_await async_report({}, 3, use_task) == 3);
  std::error_code thrown;
  try {
    co_await async_report(std::make_error_code(std::errc::broken_pipe), 3, use_task);
  } catch (const leat::failure& e) {
    thrown = e.code();
  }
  CHECK(thrown == std::errc::broken_pipe);
}

TEST_CASE("Boost: to_asio_error() gives codes that are equal to those of Boost") {
  const std::error_code reset(ECONNRESET, std::system_category());
  // This is why the function exists.
  CHECK_FALSE(boost::system::error_code(reset) == asio::error::connection_reset);
  CHECK(leat::to_asio_error(reset) == asio::error::connection_reset);
  const std::error_code generic(ECONNRESET, std::generic_category());
  CHECK(leat::to_asio_error(generic) == boost::system::errc::connection_reset);
  CHECK_FALSE(leat::to_asio_error(std::error_code()).failed());
  // There and back.
  const boost::system::error_code codes[] = {asio::error::eof, asio::error::host_not_found,
                                             asio::error::operation_aborted,
                                             http::error::end_of_stream};
  for (const auto& ec : codes) {
    CHECK(leat::to_asio_error(std::error_code(ec)) == ec);
  }
}

TEST_CASE("Boost: codes of leat, Boost and the standard library are equal if they mean the same") {
  const boost::system::error_code aborted = asio::error::operation_aborted;
  CHECK(aborted == errc::cancelled);
  CHECK(std::error_code(aborted) == errc::cancelled);
  CHECK(std::error_code(aborted) == asio::error::operation_aborted);
  CHECK(aborted == std::errc::operation_canceled);
  const leat::asio_error_code cancelled = leat::to_asio_error(make_error_code(errc::cancelled));
  CHECK(cancelled == errc::cancelled);
  CHECK(cancelled == std::errc::operation_canceled);
  CHECK(cancelled == boost::system::errc::operation_canceled);
  const std::error_code damaged = leat::make_error_code(errc::data_loss);
  CHECK(leat::to_asio_error(damaged) == errc::data_loss);
  CHECK(std::error_code(leat::to_asio_error(damaged)) == damaged);
}

TEST_CASE("Boost: to_error_code() knows the exceptions of Boost") {
  const auto code_of = [](auto e) { return leat::to_error_code(std::make_exception_ptr(e)); };
  CHECK(code_of(boost::system::system_error(asio::error::eof)) == asio::error::eof);
  CHECK(code_of(boost::system::system_error(asio::error::operation_aborted)) == errc::cancelled);
  CHECK(code_of(boost::system::system_error(boost::system::error_code())) == errc::unknown);
}

// The category of the other flavour, in a program that uses both.
struct other_category : std::error_category {
  const char* name() const noexcept override { return "leat"; }
  std::string message(int) const override { return "data loss"; }
};
struct foreign_category : other_category {
  const char* name() const noexcept override { return "foreign"; }
};

TEST_CASE("error: a code of the other flavour has its meaning") {
  const other_category other;
  CHECK(std::error_code(15, other) == errc::data_loss);
  CHECK_FALSE(std::error_code(15, other) == errc::cancelled);
  const foreign_category foreign;
  CHECK_FALSE(std::error_code(15, foreign) == errc::data_loss);
}

LEAT_ASIO_TEST("Boost: the operations of leat report a Boost code to every token") {
  leat::fifo_queue<int> q(1);
  asio::cancellation_signal signal;
  boost::system::error_code seen;
  q.async_pop(asio::bind_cancellation_slot(
      signal.slot(), asio::bind_executor(io, [&](boost::system::error_code ec, std::optional<int>) {
        seen = ec;
      })));
  signal.emit(asio::cancellation_type::total);
  co_await leat::sleep_for(10ms);
  CHECK(seen == asio::error::operation_aborted);
  CHECK(seen == errc::cancelled);

  leat::mutex m;
  boost::system::error_code locked = asio::error::eof;
  m.async_lock(asio::bind_executor(
      io, [&](boost::system::error_code ec, const leat::mutex::guard&) { locked = ec; }));
  co_await leat::sleep_for(10ms);
  CHECK_FALSE(locked.failed());

  std::future<std::optional<int>> future = q.async_pop(asio::use_future);
  q.fail(std::make_exception_ptr(leat::failure(errc::data_loss, "damaged")));
  CHECK_THROWS_AS(future.get(), boost::system::system_error);
}

LEAT_ASIO_TEST("Boost: a task group whose task failed with an error of the system") {
  leat::task_group group("g");
  group.spawn([]() -> task<> {
    throw boost::system::system_error(asio::error::connection_reset);
    co_return;
  }());
  const auto joined = co_await leat::as_tuple(group.join());
  CHECK(joined.error == asio::error::connection_reset);
  CHECK(joined.error == errc::unavailable);
}

}  // namespace errors_test
