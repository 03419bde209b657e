#pragma once

#include <exception>
#include <thread>

#include <asio.hpp>

#include "support/leat_test.hpp"

namespace leat_test {

/// Runs a task in a context until no work is left, and throws its error.
inline void run_in(asio::io_context& io, task<> t) {
  std::exception_ptr error;
  leat::async_run(io, std::move(t), [&](std::exception_ptr e) { error = std::move(e); });
  io.restart();
  io.run();
  if (error) std::rethrow_exception(error);
}

// A test case whose body is a coroutine that runs in the context `io`.
#define LEAT_ASIO_TEST(name) LEAT_ASIO_TEST_AS(LEAT_TEST_NAME(leat_test_body_, __LINE__), name)
#define LEAT_ASIO_TEST_AS(body, name)                   \
  static ::leat::task<void> body(asio::io_context& io); \
  TEST_CASE(name) {                                     \
    asio::io_context io;                                \
    ::leat_test::run_in(io, body(io));                  \
  }                                                     \
  static ::leat::task<void> body([[maybe_unused]] asio::io_context& io)

/// An Asio operation with the completion signature `Signature` that calls `f` with its handler.
template <class Signature, class Function, class Token>
auto operation(Function f, Token&& token) {
  return asio::async_initiate<Token, Signature>(
      [f](auto handler) mutable { f(std::move(handler)); }, token);
}

/// Keeps handlers and calls or destroys them later.
struct handler_store {
  struct base {
    virtual ~base() = default;
    virtual void call() = 0;
  };
  template <class Handler>
  struct stored final : base {
    explicit stored(Handler&& h) : handler(std::move(h)) {}
    void call() override { handler(); }
    Handler handler;
  };
  std::unique_ptr<base> handler{};

  auto wait() {
    return operation<void()>(
        [this](auto h) { handler = std::make_unique<stored<decltype(h)>>(std::move(h)); },
        leat::use_task);
  }
};

/// A wait for a timer that ignores its cancellation.
inline auto wait_stubbornly(asio::steady_timer& t) {
  return operation<void(std::error_code)>(
      [&t](auto h) { t.async_wait([h = std::move(h)](std::error_code ec) mutable { h(ec); }); },
      leat::use_task);
}

/// A context that a thread runs until the end of this object.
struct context_on_thread {
  ~context_on_thread() { work.reset(); }
  asio::io_context io{};
  asio::executor_work_guard<asio::io_context::executor_type> work{io.get_executor()};
  std::jthread thread{[this] { io.run(); }};
};

/// The code and the message of the exception that awaiting an operation throws.
struct thrown {
  std::error_code code{};
  std::string what{};
};

/// Awaits an operation and returns its exception, if it throws one.
template <class Operation>
task<thrown> failure_of(Operation operation) {
  try {
    co_await operation;
  } catch (const std::system_error& e) {
    co_return thrown{e.code(), e.what()};
  } catch (const std::exception& e) {
    co_return thrown{make_error_code(errc::unknown), e.what()};
  }
  co_return thrown{};
}

/// Awaits an operation that throws a partial_transfer with the code `expected`, and returns its
/// number of bytes, or 0 if it throws none.
template <class Operation>
task<std::size_t> bytes_before_end(Operation operation, errc expected) {
  try {
    co_await operation;
  } catch (const leat::partial_transfer& e) {
    CHECK(e.code() == expected);
    co_return e.bytes_transferred();
  }
  co_return 0;
}

/// Two connected sockets.
struct socket_pair {
  explicit socket_pair(asio::io_context& io) : a(io), b(io) { asio::local::connect_pair(a, b); }
  asio::local::stream_protocol::socket a;
  asio::local::stream_protocol::socket b;
};

}  // namespace leat_test
