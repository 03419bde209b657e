// Queues with Asio's completion tokens: their executors, allocators and cancellation.

#include <algorithm>
#include <variant>

#include <asio/experimental/awaitable_operators.hpp>

#include "leat/queue.hpp"
#include "support/asio_test.hpp"

namespace async_queue_test {

TEST_CASE("fifo_queue: a cancellation of type none has no effect") {
  leat::fifo_queue<int> q(4);
  asio::io_context io;
  asio::cancellation_signal stop;
  std::optional<int> waited;
  std::optional<int> found;
  const auto pop_into = [&](std::optional<int>& out) {
    q.async_pop(asio::bind_cancellation_slot(
        stop.slot(), asio::bind_executor(io.get_executor(),
                                         [&](std::error_code, std::optional<int> v) { out = v; })));
    stop.emit(asio::cancellation_type::none);
  };
  pop_into(waited);
  leat::block_on(q.push(1));
  io.run();
  CHECK(waited == 1);
  leat::block_on(q.push(2));
  pop_into(found);
  io.restart();
  io.run();
  CHECK(found == 2);
}

TEST_CASE("fifo_queue: destroying a context first returns undelivered results") {
  leat::fifo_queue<int> q(4);
  const auto kept = std::make_shared<int>(0);
  {
    asio::io_context io;
    q.async_push(1, asio::bind_executor(io.get_executor(), [kept](std::error_code, bool) {}));
    q.async_pop(asio::bind_executor(io.get_executor(), [kept](std::error_code, auto) {}));
    CHECK(kept.use_count() == 3);
  }
  CHECK(kept.use_count() == 1);
}

TEST_CASE("fifo_queue: a handler never runs inside the call that completes it") {
  leat::fifo_queue<int> q(1);
  asio::io_context io;
  bool called = false;
  q.async_pop(asio::bind_executor(io, [&](std::error_code ec, std::optional<int> item) {
    CHECK_FALSE(ec);
    CHECK(item == 3);
    called = true;
  }));
  CHECK(q.try_push(3));
  CHECK_FALSE(called);
  io.run();  // returns after the operation, which counts as work
  CHECK(called);
}

TEST_CASE("fifo_queue: a cancellation slot ends async_pop, which removes no item") {
  leat::fifo_queue<int> q(1);
  asio::io_context io;
  asio::cancellation_signal signal;
  std::error_code result;
  q.async_pop(asio::bind_cancellation_slot(
      signal.slot(), asio::bind_executor(io, [&](std::error_code ec, std::optional<int> item) {
        result = ec;
        CHECK_FALSE(item);
      })));
  asio::post(io, [&] { signal.emit(asio::cancellation_type::total); });
  io.run();
  CHECK(result == asio::error::operation_aborted);
  CHECK(result == errc::cancelled);
  CHECK(q.try_push(3));
  CHECK(q.try_pop() == 3);
}

TEST_CASE("fifo_queue: a cancellation after the end of async_pop has no effect") {
  leat::fifo_queue<int> q(1);
  asio::io_context io;
  asio::cancellation_signal signal;
  int calls = 0;
  CHECK(q.try_push(3));
  q.async_pop(asio::bind_cancellation_slot(
      signal.slot(), asio::bind_executor(io, [&](std::error_code ec, std::optional<int> item) {
        CHECK_FALSE(ec);
        CHECK(item == 3);
        ++calls;
        signal.emit(asio::cancellation_type::total);
      })));
  io.run();
  signal.emit(asio::cancellation_type::total);
  CHECK(calls == 1);
}

TEST_CASE("fifo_queue: a cancellation between a pop and its handler returns the item") {
  leat::fifo_queue<int> q(2);
  asio::io_context io;
  asio::cancellation_signal signal;
  int cancelled = 0;
  const auto note = [&](std::error_code ec, const auto& result) {
    CHECK_FALSE(result);
    cancelled += ec == errc::cancelled ? 1 : 0;
  };
  const auto token = [&] {
    return asio::bind_cancellation_slot(signal.slot(), asio::bind_executor(io, note));
  };
  const auto race = [&] {
    signal.emit(asio::cancellation_type::total);
    signal.emit(asio::cancellation_type::total);
    io.run();
    io.restart();
  };
  CHECK(q.try_push(1));
  CHECK(q.try_push(2));
  q.async_pop(token());
  CHECK(q.try_push(3));  // the pop has already made room
  race();
  CHECK(q.size() == 3);
  q.async_pop_many(2, token());
  race();
  q.async_pop_up_to(2, token());
  q.close();
  race();
  CHECK(cancelled == 3);
  for (int i = 1; i <= 3; ++i) CHECK(q.try_pop() == i);
  CHECK(q.statistics().popped == 3);
  CHECK(q.statistics().returned == 5);
}

TEST_CASE("fifo_queue: a returned item wakes the next waiting pop") {
  leat::fifo_queue<int> q(2);
  asio::io_context io;
  asio::cancellation_signal signal;
  std::optional<int> got;
  CHECK(q.try_push(3));
  q.async_pop(asio::bind_cancellation_slot(
      signal.slot(), asio::bind_executor(io, [&](std::error_code ec, std::optional<int>) {
        CHECK(ec == errc::cancelled);
      })));
  q.async_pop(asio::bind_executor(io, [&](std::error_code ec, std::optional<int> item) {
    CHECK_FALSE(ec);
    got = item;
  }));
  signal.emit(asio::cancellation_type::total);
  io.run();
  CHECK(got == 3);
}

TEST_CASE("fifo_queue: a completed async_push cannot be cancelled") {
  leat::fifo_queue<int> q(1);
  asio::io_context io;
  asio::cancellation_signal signal;
  bool done = false;
  q.async_push(3, asio::bind_cancellation_slot(
                      signal.slot(), asio::bind_executor(io, [&](std::error_code ec, bool in) {
                        CHECK_FALSE(ec);
                        done = in;
                      })));
  signal.emit(asio::cancellation_type::total);
  io.run();
  CHECK(done);
  CHECK(q.try_pop() == 3);
}

TEST_CASE("fifo_queue: Asio's pop || timer loses no item") {
  using namespace asio::experimental::awaitable_operators;
  leat::fifo_queue<int> q(16);
  asio::io_context io;
  std::vector<int> out;
  constexpr int count = 2000;
  asio::co_spawn(
      io,
      [&]() -> asio::awaitable<void> {
        for (int i = 0; i < count; ++i) co_await q.async_push(int{i}, asio::use_awaitable);
        q.close();
      },
      asio::detached);
  asio::co_spawn(
      io,
      [&]() -> asio::awaitable<void> {
        asio::steady_timer timer(io);
        for (;;) {
          timer.expires_after(std::chrono::microseconds(1));
          const auto first =
              co_await (q.async_pop(asio::use_awaitable) || timer.async_wait(asio::use_awaitable));
          if (first.index() == 1) continue;
          if (!std::get<0>(first)) co_return;
          out.push_back(*std::get<0>(first));
        }
      },
      asio::detached);
  io.run();
  CHECK(out.size() == count);
  CHECK(std::is_sorted(out.begin(), out.end()));
}

TEST_CASE("fifo_queue: async operations on a failed queue receive the code of the cause") {
  leat::fifo_queue<int> q(1);
  asio::io_context io;
  std::vector<std::error_code> codes;
  const auto note_pop = [&](std::error_code ec, std::optional<int> item) {
    codes.push_back(ec);
    CHECK_FALSE(item);
  };
  const auto note_push = [&](std::error_code ec, bool in) {
    codes.push_back(ec);
    CHECK_FALSE(in);
  };
  q.async_pop(asio::bind_executor(io, note_pop));  // waits
  q.fail(std::make_exception_ptr(leat::failure(errc::data_loss, "damaged")));
  q.fail(std::make_exception_ptr(leat::failure(errc::aborted, "the second cause")));
  q.async_pop(asio::bind_executor(io, note_pop));
  q.async_push(1, asio::bind_executor(io, note_push));
  io.run();
  CHECK(codes.size() == 3);
  for (const std::error_code& ec : codes) CHECK(ec == errc::data_loss);
}

TEST_CASE("async_pop: a cancellation after the queue is gone does not destroy its item") {
  asio::io_context io;
  static_cast<void>(leat::get_scheduler(io));
  std::optional<leat::fifo_queue<std::string>> q(std::in_place, 4, "q");
  REQUIRE(q->try_push("item"));
  asio::cancellation_signal signal;
  std::optional<std::string> got;
  q->async_pop(asio::bind_cancellation_slot(
      signal.slot(), asio::bind_executor(io, [&](std::error_code ec, auto item) {
        CHECK_FALSE(ec);
        got = std::move(item);
      })));
  q.reset();
  signal.emit(asio::cancellation_type::total);
  io.run();
  CHECK(got == "item");
}

}  // namespace async_queue_test
