// The operations on primitives with Asio's completion tokens.

#include <thread>

#include <asio/experimental/awaitable_operators.hpp>

#include "support/asio_test.hpp"
#include "support/counting_allocator.hpp"
#include "sync/wait_kinds.hpp"

namespace wait_tokens_test {

/// A handler that counts its calls and drops the result.
struct handler {
  int& calls;
  std::error_code& code;
  std::shared_ptr<int> kept = {};

  void operator()(std::error_code ec, auto... results) const {
    ++calls;
    code = ec;
    static_cast<void>(std::make_tuple(std::move(results)...));
  }
};

struct state {
  asio::io_context io;
  asio::cancellation_signal signal;
  int calls = 0;
  std::error_code code;

  [[nodiscard]] handler handle() { return {calls, code}; }
  [[nodiscard]] auto token() { return asio::bind_executor(io.get_executor(), handle()); }
  [[nodiscard]] auto cancellable() { return asio::bind_cancellation_slot(signal.slot(), token()); }
};

TEMPLATE_TEST_CASE("async: a handler never runs inside the call that serves it", "[sync]",
                   LEAT_TEST_WAITS_OF_ALL_FORMS) {
  TestType kind;
  state s;
  kind.async_wait(s.token());
  s.io.poll();
  CHECK(s.calls == 0);
  kind.wake();
  CHECK(s.calls == 0);
  s.io.restart();
  s.io.run();  // returns after the operation, which counts as work
  CHECK(s.calls == 1);
  CHECK_FALSE(s.code);
}

TEMPLATE_TEST_CASE("async: an operation that need not wait completes after the call", "[sync]",
                   LEAT_TEST_WAITS_OF_ALL_FORMS) {
  TestType kind;
  state s;
  kind.wake();
  kind.async_wait(s.token());
  CHECK(s.calls == 0);
  s.io.run();
  CHECK(s.calls == 1);
  CHECK_FALSE(s.code);
}

TEMPLATE_TEST_CASE("async: a slot cancels a wait without an effect", "[sync]",
                   LEAT_TEST_WAITS_OF_ALL_FORMS) {
  TestType kind;
  state s;
  kind.async_wait(s.cancellable());
  s.signal.emit(asio::cancellation_type::none);
  s.io.poll();
  CHECK(s.calls == 0);
  s.signal.emit(asio::cancellation_type::total);
  s.signal.emit(asio::cancellation_type::total);
  CHECK(s.calls == 0);
  kind.wake();
  s.io.restart();
  s.io.run();
  CHECK(s.calls == 1);
  CHECK(s.code == asio::error::operation_aborted);
  CHECK(s.code == errc::cancelled);
  CHECK(kind.remains());
}

TEMPLATE_TEST_CASE("async: a slot cancels a completed operation before its handler is called",
                   "[sync]", LEAT_TEST_WAITS_OF_ALL_FORMS) {
  for (const bool waits : {false, true}) {
    TestType kind;
    state s;
    if (!waits) kind.wake();
    kind.async_wait(s.cancellable());
    if (waits) kind.wake();
    s.signal.emit(asio::cancellation_type::terminal);
    s.io.run();
    CHECK(s.calls == 1);
    CHECK(s.code == asio::error::operation_aborted);
    CHECK(kind.remains());
  }
}

TEMPLATE_TEST_CASE("async: a cancellation after the handler has no effect", "[sync]",
                   LEAT_TEST_WAITS_OF_ALL_FORMS) {
  TestType kind;
  state s;
  kind.wake();
  kind.async_wait(s.cancellable());
  s.io.run();
  s.signal.emit(asio::cancellation_type::total);
  CHECK(s.calls == 1);
  CHECK_FALSE(s.code);
}

TEMPLATE_TEST_CASE("async: a context that is destroyed withdraws or undoes the operation", "[sync]",
                   LEAT_TEST_WAITS_OF_ALL_FORMS) {
  enum class end { while_it_waits, after_it_was_served, after_it_completed_at_once };
  for (const end e :
       {end::while_it_waits, end::after_it_was_served, end::after_it_completed_at_once}) {
    CAPTURE(static_cast<int>(e));
    TestType kind;
    auto s = std::make_unique<state>();
    const auto kept = std::make_shared<int>(0);
    std::error_code code;
    int calls = 0;
    if (e == end::after_it_completed_at_once) kind.wake();
    kind.async_wait(asio::bind_executor(s->io.get_executor(), handler{calls, code, kept}));
    if (e == end::while_it_waits) CHECK(kept.use_count() == 2);
    if (e == end::after_it_was_served) kind.wake();
    s.reset();
    CHECK(kept.use_count() == 1);
    CHECK(calls == 0);
    if (e == end::while_it_waits) kind.wake();
    CHECK(kind.remains());
  }
}

TEMPLATE_TEST_CASE("async: operations use the allocator of the handler, and free before it runs",
                   "[sync]", LEAT_TEST_WAITS_OF_ALL_FORMS) {
  TestType kind;
  asio::io_context io;
  int live = 0;
  int total = 0;
  int live_in_handler = -1;
  kind.async_wait(asio::bind_allocator(
      leat_test::counting_allocator<std::byte>(live, total),
      asio::bind_executor(io, [&](std::error_code, const auto&...) { live_in_handler = live; })));
  CHECK(live == 1);
  kind.wake();
  io.run();
  CHECK(live_in_handler == 0);
  CHECK(live == 0);
}

TEMPLATE_TEST_CASE("async: use_future receives the result", "[sync]",
                   LEAT_TEST_WAITS_OF_ALL_FORMS) {
  TestType kind;
  auto future = kind.async_wait(asio::use_future);
  kind.wake();
  static_cast<void>(future.get());
}

template <class Kind>
asio::awaitable<void> wait_in_awaitable(Kind& kind, bool& done) {
  static_cast<void>(co_await kind.async_wait(asio::use_awaitable));
  done = true;
}
TEMPLATE_TEST_CASE("async: use_awaitable resumes on its context", "[sync]",
                   LEAT_TEST_WAITS_OF_ALL_FORMS) {
  TestType kind;
  asio::io_context io;
  bool done = false;
  asio::co_spawn(io, wait_in_awaitable(kind, done), asio::detached);
  io.poll();
  std::thread([&] { kind.wake(); }).join();
  CHECK_FALSE(done);
  io.restart();
  io.run();
  CHECK(done);
}

TEMPLATE_TEST_CASE("async: deferred starts the operation when it is called", "[sync]",
                   LEAT_TEST_WAITS_OF_ALL_FORMS) {
  TestType kind;
  state s;
  auto later = kind.async_wait(asio_tokens::deferred);
  s.io.run();
  CHECK(s.calls == 0);
  std::move(later)(s.token());
  kind.wake();
  s.io.restart();
  s.io.run();
  CHECK(s.calls == 1);
  CHECK_FALSE(s.code);
}

// -- The permits of locks in particular.

TEMPLATE_TEST_CASE("async: a cancelled completion passes the lock to the next operation", "[sync]",
                   LEAT_TEST_WAITS_FOR_LOCKS) {
  TestType kind;
  state first;
  state second;
  kind.async_wait(first.cancellable());
  kind.async_wait(second.token());
  kind.wake();  // serves the first one
  second.io.poll();
  CHECK(second.calls == 0);
  first.signal.emit(asio::cancellation_type::total);
  second.io.restart();
  second.io.run();
  CHECK(second.calls == 1);
  CHECK_FALSE(second.code);
  first.io.run();
  CHECK(first.code == asio::error::operation_aborted);
  CHECK(kind.remains());
}

TEMPLATE_TEST_CASE("async: a destroyed context passes the lock to the next operation", "[sync]",
                   LEAT_TEST_WAITS_FOR_LOCKS) {
  TestType kind;
  auto first = std::make_unique<state>();
  state second;
  kind.async_wait(first->token());
  kind.async_wait(second.token());
  kind.wake();
  first.reset();
  second.io.run();
  CHECK(second.calls == 1);
  CHECK(kind.remains());
}

TEMPLATE_TEST_CASE("async: a handler receives the lock and holds it", "[sync]",
                   LEAT_TEST_WAITS_FOR_LOCKS) {
  TestType kind;
  asio::io_context io;
  std::optional<typename TestType::guard> received;
  kind.async_wait(asio::bind_executor(
      io, [&](std::error_code, typename TestType::guard guard) { received = std::move(guard); }));
  kind.wake();
  io.run();
  REQUIRE(received);
  CHECK(*received);
  CHECK_FALSE(kind.remains());
  received.reset();
  CHECK(kind.remains());
}

template <class Kind>
asio::awaitable<void> race_with_timer(Kind& kind, int rounds, int& served) {
  using namespace asio::experimental::awaitable_operators;
  asio::steady_timer timer(co_await asio::this_coro::executor);
  for (int i = 0; i < rounds; ++i) {
    timer.expires_after(std::chrono::microseconds(i % 3));
    const auto first =
        co_await (kind.async_wait(asio::use_awaitable) || timer.async_wait(asio::use_awaitable));
    if (first.index() == 0) ++served;
  }
}
template <class Kind>
asio::awaitable<void> lock_and_unlock(Kind& kind, int rounds) {
  for (int i = 0; i < rounds; ++i) {
    const auto guard = co_await kind.async_wait(asio::use_awaitable);
    co_await asio::post(asio::use_awaitable);
  }
}
TEMPLATE_TEST_CASE("async: an Asio operator || with a timer loses no lock", "[sync]",
                   LEAT_TEST_WAITS_FOR_LOCKS) {
  TestType kind;
  kind.wake();
  asio::io_context io;
  int served = 0;
  asio::co_spawn(io, race_with_timer(kind, 500, served), asio::detached);
  asio::co_spawn(io, race_with_timer(kind, 500, served), asio::detached);
  asio::co_spawn(io, lock_and_unlock(kind, 500), asio::detached);
  io.run();
  CHECK(served > 0);
  CHECK(kind.remains());
}

// -- Particular results.

TEST_CASE("event: may be destroyed after set, before the handler is called") {
  auto ready = std::make_unique<leat::event>("short-lived");
  state s;
  ready->async_wait(s.token());
  ready->set();
  ready.reset();
  s.io.run();
  CHECK(s.calls == 1);
  CHECK_FALSE(s.code);
}

TEST_CASE("semaphore: async_acquire throws for an impossible request") {
  leat::semaphore s(2, "connections");
  asio::io_context io;
  const auto ignore = [](std::error_code, const leat::semaphore::guard&) {};
  CHECK_FAILS(errc::invalid_argument, "semaphore 'connections': acquire of 3",
              s.async_acquire(3, asio::bind_executor(io, ignore)));
  CHECK(s.available() == 2);
}

TEST_CASE("semaphore: async_acquire receives an empty guard after a close") {
  leat::semaphore s(1);
  asio::io_context io;
  int closed = 0;
  const auto note = [&closed](std::error_code ec, const leat::semaphore::guard& guard) {
    closed += !ec && !guard ? 1 : 0;
  };
  const auto held = s.try_acquire();
  s.async_acquire(1, asio::bind_executor(io, note));
  s.close();
  s.async_acquire(1, asio::bind_executor(io, note));
  io.run();
  CHECK(closed == 2);
}

TEST_CASE("broadcast: a completed async_send cannot be cancelled") {
  leat::broadcast<int> c(1, leat::lag_policy::wait);
  auto receiver = c.subscribe();
  state s;
  bool sent = false;
  const auto send = [&](int value) {
    c.async_send(value,
                 asio::bind_cancellation_slot(
                     s.signal.slot(), asio::bind_executor(s.io, [&](std::error_code ec, bool in) {
                       s.code = ec;
                       sent = in;
                     })));
  };
  send(1);
  s.signal.emit(asio::cancellation_type::total);
  s.io.run();
  CHECK_FALSE(s.code);
  CHECK(std::exchange(sent, false));
  send(2);
  CHECK(receiver.try_next()->value == 1);
  s.signal.emit(asio::cancellation_type::total);
  s.io.restart();
  s.io.run();
  CHECK_FALSE(s.code);
  CHECK(std::exchange(sent, false));
  send(3);
  s.signal.emit(asio::cancellation_type::total);
  s.io.restart();
  s.io.run();
  CHECK(s.code == asio::error::operation_aborted);
  CHECK_FALSE(sent);
  CHECK(receiver.try_next()->value == 2);
  CHECK_FALSE(receiver.try_next());
}

}  // namespace wait_tokens_test
