#include "leat/async/loop/use_task.hpp"

#include <array>
#include <concepts>
#include <thread>
#include <tuple>

#include <asio.hpp>

#include "async/loop/asio_support.hpp"
#include "support/foreign_coroutine.hpp"
#include "support/leat_test.hpp"

namespace use_task_test {

using leat::use_task;
using leat_test::failure_of;
using leat_test::operation;

// ---- Completion signatures.

LEAT_TEST("use_task: void() returns nothing") {
  co_await operation<void()>([](auto h) { h(); }, use_task);
  const auto [ec] = co_await leat::as_tuple(operation<void()>([](auto h) { h(); }, use_task));
  CHECK_FALSE(ec);
}

LEAT_TEST("use_task: void(T) returns the value, which may be move-only") {
  const auto p = co_await operation<void(std::unique_ptr<int>)>(
      [](auto h) { h(std::make_unique<int>(3)); }, use_task);
  CHECK(*p == 3);
  const auto [ec, n] =
      co_await leat::as_tuple(operation<void(int)>([](auto h) { h(4); }, use_task));
  CHECK_FALSE(ec);
  CHECK(n == 4);
}

LEAT_TEST("use_task: void(T, U) returns a tuple") {
  const auto make = [] {
    return operation<void(int, std::string)>([](auto h) { h(1, "b"); }, use_task);
  };
  const auto [a, b] = co_await make();
  CHECK(a == 1);
  CHECK(b == "b");
  const auto [ec, both] = co_await leat::as_tuple(make());
  CHECK_FALSE(ec);
  CHECK(both == std::tuple(1, std::string("b")));
}

LEAT_TEST("use_task: void(error_code) returns nothing or throws") {
  using signature = void(std::error_code);
  co_await operation<signature>([](auto h) { h(std::error_code()); }, use_task);
  const auto fail = [] {
    return operation<signature>([](auto h) { h(asio::error::make_error_code(asio::error::eof)); },
                                use_task);
  };
  const auto error = co_await failure_of(fail());
  CHECK(error.code == asio::error::eof);
  CHECK(error.what.starts_with("an Asio operation: End of file"));
  const auto [ec] = co_await leat::as_tuple(fail());
  CHECK(ec == asio::error::eof);
}

template <class Token>
auto async_get(std::string key, Token&& token) {
  return asio::async_initiate<Token, void(std::error_code)>(
      leat::name_operation<"async_get">([](auto handler, std::string k) {
        handler(k.empty() ? std::error_code(asio::error::make_error_code(asio::error::eof))
                          : std::error_code());
      }),
      token, std::move(key));
}

LEAT_TEST("use_task: an operation of a lambda can have a name") {
  co_await async_get("key", use_task);
  CHECK((co_await failure_of(async_get("", use_task))).what.starts_with("async_get: End of file"));
  bool called = false;
  async_get("", [&](std::error_code ec) { called = ec == asio::error::eof; });
  CHECK(called);
}

struct initiation_with_executor {
  using executor_type = asio::system_executor;
  executor_type get_executor() const noexcept { return {}; }
  void operator()(auto handler) const { std::move(handler)(); }
};

TEST_CASE("name_operation: the initiation keeps its executor") {
  const auto named = leat::name_operation<"get">(initiation_with_executor());
  STATIC_REQUIRE(std::same_as<asio::associated_executor_t<decltype(named)>, asio::system_executor>);
  STATIC_REQUIRE(leat::detail::asio_operation_name<decltype(named)> == "get");
}

LEAT_TEST("use_task: void(error_code, T) keeps the value next to an error for as_tuple()") {
  using signature = void(leat::asio_error_code, std::string);
  const auto make = [](leat::asio_error_code e) {
    return operation<signature>([e](auto h) { h(e, "value"); }, use_task);
  };
  const std::string value = co_await make({});
  CHECK(value == "value");
  const auto error = co_await failure_of(make(asio::error::eof));
  CHECK(error.code == asio::error::eof);
  const auto [ec, kept] = co_await leat::as_tuple(make(asio::error::eof));
  CHECK(ec == asio::error::eof);
  CHECK(kept == "value");
}

LEAT_TEST("use_task: a number of bytes next to an error throws partial_transfer") {
  const auto make = [](std::size_t n) {
    return operation<void(leat::asio_error_code, std::size_t)>(
        [n](auto h) { h(asio::error::make_error_code(asio::error::eof), n); }, use_task);
  };
  std::size_t bytes = 0;
  std::string what;
  try {
    co_await make(3);
  } catch (const leat::partial_transfer& e) {
    bytes = e.bytes_transferred();
    what = e.what();
    CHECK(e.code() == asio::error::eof);
  }
  CHECK(bytes == 3);
  CHECK(contains(what, "ended after 3 bytes: End of file"));
  bool plain = false;
  try {
    co_await make(0);
  } catch (const leat::partial_transfer&) {
  } catch (const leat::failure&) {
    plain = true;
  }
  CHECK(plain);
  const auto [ec, n] = co_await leat::as_tuple(make(3));
  CHECK(ec == asio::error::eof);
  CHECK(n == 3);
}

LEAT_TEST("use_task: void(error_code, T, U) returns a tuple or throws") {
  const auto make = [](leat::asio_error_code e) {
    return operation<void(leat::asio_error_code, int, std::string)>([e](auto h) { h(e, 1, "b"); },
                                                                    use_task);
  };
  const auto [a, b] = co_await make({});
  CHECK(a == 1);
  CHECK(b == "b");
  const auto [ec, both] = co_await leat::as_tuple(make(asio::error::eof));
  CHECK(ec == asio::error::eof);
  CHECK(std::get<0>(both) == 1);
}

LEAT_TEST("use_task: void(exception_ptr) and void(exception_ptr, T) rethrow the exception") {
  const auto broken = std::make_exception_ptr(leat::failure(errc::data_loss, "broken"));
  const auto nothing = [](std::exception_ptr e) {
    return operation<void(std::exception_ptr)>([e](auto h) { h(e); }, use_task);
  };
  const auto value = [](std::exception_ptr e) {
    return operation<void(std::exception_ptr, int)>([e](auto h) { h(e, 5); }, use_task);
  };
  co_await nothing(nullptr);
  CHECK(co_await value(nullptr) == 5);
  const auto first = co_await failure_of(nothing(broken));
  CHECK(first.code == errc::data_loss);
  const auto second = co_await failure_of(value(broken));
  CHECK(second.code == errc::data_loss);
  const auto [ec] = co_await leat::as_tuple(nothing(broken));
  CHECK(ec == errc::data_loss);
  const auto [code, kept] = co_await leat::as_tuple(value(broken));
  CHECK(code == errc::data_loss);
  CHECK(kept == 5);
}

// ---- States.

LEAT_TEST("use_task: the operation starts when it is awaited, and may be moved before") {
  bool started = false;
  auto o = operation<void()>(
      [&started](auto h) {
        started = true;
        h();
      },
      use_task);
  auto moved = std::move(o);
  CHECK_FALSE(started);
  co_await moved;
  CHECK(started);
}

LEAT_TEST("use_task: a stop before the co_await keeps the operation from starting") {
  bool started = false;
  std::error_code code;
  task_group group;
  group.request_stop();
  group.spawn([](bool& s, std::error_code& out) -> task<> {
    const auto error = co_await failure_of(operation<void()>(
        [&s](auto h) {
          s = true;
          h();
        },
        use_task));
    out = error.code;
  }(started, code));
  co_await group.join();
  CHECK_FALSE(started);
  CHECK(code == errc::cancelled);
}

LEAT_TEST("use_task: the arguments of a handler are converted to its signature") {
  using transfer = void(leat::asio_error_code, std::size_t);
  const auto [ec, n] = co_await leat::as_tuple(operation<transfer>(
      [](auto h) { std::move(h)(asio::error::operation_aborted, 3); }, use_task));
  CHECK(ec == asio::error::operation_aborted);
  CHECK(n == 3);
  const std::size_t all =
      co_await operation<transfer>([](auto h) { std::move(h)({}, 4); }, use_task);
  CHECK(all == 4);
}

TEST_CASE("use_task: a second call of the handler ends the process with a message") {
  const std::string said = leat_test::abort_message([] {
    leat::sim::run([]() -> task<> {
      co_await operation<void(leat::asio_error_code)>(
          [](auto h) {
            h(std::error_code());
            h(std::error_code());
          },
          use_task);
    }());
  });
  CHECK(contains(said, "the handler of an Asio operation was called twice"));
}

LEAT_TEST("use_task: the slot of the handler converts to a slot of Asio, whose clear() clears it") {
  bool before = false;
  bool after = true;
  co_await operation<void()>(
      [&](auto h) {
        auto slot = asio::get_associated_cancellation_slot(h);
        asio::cancellation_slot converted = slot;
        slot.assign([](asio::cancellation_type_t) {});
        before = slot.has_handler();
        converted.clear();
        after = slot.has_handler();
        h();
      },
      use_task);
  CHECK(before);
  CHECK_FALSE(after);
}

LEAT_TEST("use_task: an exception of the initiation is thrown by the co_await") {
  const auto error = co_await failure_of(
      operation<void()>([](auto) { throw std::runtime_error("initiation"); }, use_task));
  CHECK(error.what == "initiation");
}

LEAT_TEST("use_task: a handler that is destroyed at once ends the wait as cancelled") {
  const auto make = [] {
    return operation<void(leat::asio_error_code, std::size_t)>(
        [](auto h) { auto gone = std::move(h); }, use_task);
  };
  const auto error = co_await failure_of(make());
  CHECK(error.code == errc::cancelled);
  CHECK(contains(error.what, "its handler was destroyed without a call"));
  const auto [ec, n] = co_await leat::as_tuple(make());
  CHECK(ec == errc::cancelled);
  CHECK(n == 0);
}

LEAT_ASIO_TEST("use_task: the task resumes on its scheduler, whichever thread calls the handler") {
  auto [a, b] = co_await operation<void(int, std::string)>(
      [](auto h) {
        std::thread([h = std::move(h)]() mutable {
          std::this_thread::sleep_for(1ms);
          h(1, "b");
        }).detach();
      },
      use_task);
  CHECK(a == 1);
  CHECK(b == "b");
  CHECK(leat::scheduler::current() == &leat::get_scheduler(io));
  const auto [ec] = co_await leat::as_tuple(operation<void(leat::asio_error_code)>(
      [](auto h) {
        std::thread([h = std::move(h)]() mutable {
          std::this_thread::sleep_for(1ms);
          auto gone = std::move(h);
        }).detach();
      },
      use_task));
  CHECK(ec == errc::cancelled);
  CHECK(leat::scheduler::current() == &leat::get_scheduler(io));
}

// ---- Operations of Asio.

LEAT_ASIO_TEST("use_task: awaits timers of other contexts, of a strand and of a thread pool") {
  leat_test::context_on_thread other;
  const auto here = [&] { return leat::scheduler::current() == &leat::get_scheduler(io); };
  asio::steady_timer elsewhere(other.io, 1ms);
  co_await elsewhere.async_wait(use_task);
  CHECK(here());
  asio::thread_pool pool(1);
  asio::steady_timer in_pool(pool, 1ms);
  co_await in_pool.async_wait(use_task);
  CHECK(here());
  asio::steady_timer on_strand(asio::make_strand(io), 1ms);
  co_await on_strand.async_wait(use_task);
  CHECK(here());
  co_await asio::post(io, use_task);
  CHECK(here());
}

LEAT_ASIO_TEST("use_task: awaits coroutines and composed operations of Asio") {
  const auto five = []() -> asio::awaitable<int> { co_return 5; };
  CHECK(co_await asio::co_spawn(io, five, use_task) == 5);
  const auto fail = []() -> asio::awaitable<void> {
    throw std::runtime_error("x");
    co_return;
  };
  const auto error = co_await failure_of(asio::co_spawn(io, fail, use_task));
  CHECK(error.what == "x");
  const auto seven = []() -> task<int> { co_return 7; };
  CHECK(co_await leat::async_run(io, seven(), use_task) == 7);
  auto steps = [i = 0](auto& self, std::error_code = {}) mutable {
    if (i++ < 3) {
      asio::post(std::move(self));
    } else {
      self.complete(std::error_code(), static_cast<std::size_t>(i));
    }
  };
  const std::size_t count = co_await asio::async_compose<const leat::use_task_t,
                                                         void(leat::asio_error_code, std::size_t)>(
      std::move(steps), use_task, io);
  CHECK(count == 4);
}

LEAT_ASIO_TEST("use_task: resolves, connects, accepts, reads and writes") {
  using asio::ip::tcp;
  tcp::acceptor acceptor(io, {asio::ip::make_address("127.0.0.1"), 0});
  task_group server;
  server.spawn([](tcp::acceptor& a) -> task<> {
    tcp::socket s = co_await a.async_accept(use_task);
    std::string text;
    const std::size_t n =
        co_await asio::async_read_until(s, asio::dynamic_buffer(text), '\n', use_task);
    co_await asio::async_write(s, asio::buffer(text, n), use_task);
  }(acceptor));
  tcp::resolver resolver(io);
  const auto found = co_await resolver.async_resolve(
      "127.0.0.1", std::to_string(acceptor.local_endpoint().port()), use_task);
  tcp::socket s(io);
  co_await asio::async_connect(s, found, use_task);
  co_await asio::async_write(s, asio::buffer("hello\n", 6), use_task);
  std::array<char, 6> reply{};
  CHECK(co_await asio::async_read(s, asio::buffer(reply), use_task) == 6);
  co_await server.join();
  const auto error = co_await failure_of(s.async_read_some(asio::buffer(reply), use_task));
  CHECK(error.code == asio::error::eof);
  CHECK(error.what.starts_with("async_receive: End of file"));
}

LEAT_ASIO_TEST("use_task: is the default token of an adapted I/O object") {
  using timer = leat::use_task_t::as_default_on_t<asio::steady_timer>;
  timer t(io, 1ms);
  co_await t.async_wait();
  auto adapted = use_task.as_default_on(asio::steady_timer(io, 1ms));
  co_await adapted.async_wait();
}

LEAT_ASIO_TEST("use_task: an operation that other code cancels fails with Asio's code") {
  asio::steady_timer t(io, 1h);
  task_group group;
  group.spawn([](asio::steady_timer& timer) -> task<> {
    timer.cancel();
    co_return;
  }(t));
  const auto [ec] = co_await leat::as_tuple(t.async_wait(use_task));
  CHECK(ec == asio::error::operation_aborted);
  CHECK(ec == errc::cancelled);
  co_await group.join();
}

TEST_CASE("use_task: a coroutine of another type awaits an operation") {
  asio::io_context io;
  leat::scheduler& s = leat::get_scheduler(io);
  bool done = false;
  const auto body = [](asio::steady_timer& t, bool& d) -> leat_test::foreign_coroutine {
    co_await t.async_wait(use_task);
    d = true;
  };
  asio::steady_timer t(io, 1ms);
  leat_test::foreign_coroutine running{};
  asio::post(leat::get_executor(s), [&] { running = body(t, done); });
  io.run();
  CHECK(done);
  running.handle.destroy();
}

}  // namespace use_task_test
