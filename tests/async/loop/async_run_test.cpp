#include "leat/async/loop/async_run.hpp"

#include <future>
#include <thread>
#include <tuple>
#include <variant>

#include <asio/execution/blocking.hpp>
#include <asio/execution/outstanding_work.hpp>
#include <asio/require.hpp>

#include "support/asio_test.hpp"
#include "support/counting_allocator.hpp"
#include "support/tracked.hpp"

namespace async_run_test {

using leat::async_run;

task<int> give(int n) {
  co_await leat::this_task::yield();
  co_return n;
}
task<void> nothing() { co_return; }
task<int> fail() {
  throw std::runtime_error("failed");
  co_return 0;
}
task<int> sleep_long() {
  co_await leat::sleep_for(1h);
  co_return 1;
}

TEST_CASE("async_run: a callback receives the value") {
  asio::io_context io;
  int got = 0;
  async_run(io, give(5), [&](std::exception_ptr error, int n) {
    CHECK_FALSE(error);
    got = n;
  });
  CHECK(got == 0);
  io.run();
  CHECK(got == 5);
}

TEST_CASE("async_run: a callback for a task<void> receives only the error") {
  asio::io_context io;
  bool called = false;
  async_run(io, nothing(), [&](std::exception_ptr error) { called = !error; });
  io.run();
  CHECK(called);
}

TEST_CASE("async_run: a callback receives an error with a default value") {
  asio::io_context io;
  std::string what;
  int value = 1;
  async_run(io, fail(), [&](std::exception_ptr error, int n) {
    what = error_of(error);
    value = n;
  });
  io.run();
  CHECK(what == "failed");
  CHECK(value == 0);
}

TEST_CASE("async_run: a result and a callback may be move-only") {
  asio::io_context io;
  const auto make = []() -> task<std::unique_ptr<int>> { co_return std::make_unique<int>(8); };
  int got = 0;
  async_run(io, make(),
            [&got, owned = std::make_unique<int>(1)](std::exception_ptr, std::unique_ptr<int> p) {
              got = *p + *owned;
            });
  io.run();
  CHECK(got == 9);
}

TEST_CASE("async_run: a future receives the value or the error") {
  asio::io_context io;
  std::future<int> good = async_run(io, give(5), asio::use_future);
  std::future<int> bad = async_run(io, fail(), asio::use_future);
  std::future<void> none = async_run(io, nothing(), asio::use_future);
  io.run();
  CHECK(good.get() == 5);
  CHECK_THROWS_WITH(bad.get(), "failed");
  CHECK_NOTHROW(none.get());
}

TEST_CASE("async_run: an Asio coroutine can await a task and receives its error") {
  asio::io_context io;
  const auto body = [&]() -> asio::awaitable<std::string> {
    const auto executor = co_await asio::this_coro::executor;
    const int n = co_await async_run(executor, give(5), asio::use_awaitable);
    co_await async_run(executor, nothing(), asio::use_awaitable);
    std::string what;
    try {
      co_await async_run(executor, fail(), asio::use_awaitable);
    } catch (const std::runtime_error& e) {
      what = e.what();
    }
    co_return std::to_string(n) + what;
  };
  std::future<std::string> result = asio::co_spawn(io, body, asio::use_future);
  io.run();
  CHECK(result.get() == "5failed");
}

TEST_CASE("async_run: detached runs the task, and io_context::run waits for it") {
  asio::io_context io;
  bool done = false;
  async_run(
      io,
      [](bool& d) -> task<void> {
        co_await leat::sleep_for(1ms);
        d = true;
      }(done),
      asio::detached);
  async_run(io, fail(), asio::detached);
  io.run();
  CHECK(done);
}

TEST_CASE("async_run: a token that never starts frees the task") {
  leat_test::counts counts;
  asio::io_context io;
  {
    const auto keep = [](leat_test::tracked) -> task<void> { co_return; };
    const asio::awaitable<void> lazy =
        async_run(io, keep(leat_test::tracked(counts, 1)), asio::use_awaitable);
    CHECK(counts.live == 1);
  }
  CHECK(counts.objects == 0);
}

TEST_CASE("async_run: the task runs where the executor's context runs") {
  asio::io_context io;
  const auto current_scheduler = []() -> task<leat::scheduler*> {
    co_return leat::scheduler::current();
  };
  leat::scheduler* seen[4] = {};
  async_run(io, current_scheduler(), [&](std::exception_ptr, leat::scheduler* s) { seen[0] = s; });
  async_run(asio::make_strand(io), current_scheduler(),
            [&](std::exception_ptr, leat::scheduler* s) { seen[1] = s; });
  async_run(asio::any_io_executor(io.get_executor()), current_scheduler(),
            [&](std::exception_ptr, leat::scheduler* s) { seen[2] = s; });
  async_run(asio::any_io_executor(asio::make_strand(asio::any_io_executor(io.get_executor()))),
            current_scheduler(), [&](std::exception_ptr, leat::scheduler* s) { seen[3] = s; });
  io.run();
  for (leat::scheduler* s : seen) CHECK(s == &leat::get_scheduler(io));
}

TEST_CASE("async_run: accepts an executor of an io_context with other properties") {
  asio::io_context io;
  const auto tracked = asio::require(io.get_executor(), asio::execution::outstanding_work.tracked);
  const auto posting = asio::require(io.get_executor(), asio::execution::blocking.never);
  const asio::any_io_executor executors[] = {tracked, posting, asio::make_strand(tracked)};
  int ended = 0;
  for (const asio::any_io_executor& e : executors) {
    async_run(e, give(1), [&](std::exception_ptr, int) { ++ended; });
  }
  while (ended < 3 && io.run_one() > 0) {
  }
  CHECK(ended == 3);
}

TEST_CASE("async_run: the handler runs on its associated executor") {
  asio::io_context io;
  asio::thread_pool pool(1);
  std::promise<std::thread::id> where;
  async_run(io, give(1), asio::bind_executor(pool, [&](std::exception_ptr, int) {
              where.set_value(std::this_thread::get_id());
            }));
  io.run();
  pool.join();
  CHECK(where.get_future().get() != std::this_thread::get_id());
}

TEST_CASE("async_run: without an associated executor the handler runs on the given one") {
  asio::io_context io;
  auto strand = asio::make_strand(io);
  bool inside = false;
  async_run(strand, give(1),
            [&](std::exception_ptr, int) { inside = strand.running_in_this_thread(); });
  io.run();
  CHECK(inside);
}

TEST_CASE("async_run: the handler runs outside the scheduler's turn") {
  asio::io_context io;
  bool in_turn = true;
  async_run(io, nothing(), [&](std::exception_ptr) { in_turn = leat::scheduler::current(); });
  io.run();
  CHECK_FALSE(in_turn);
}

TEST_CASE("async_run: uses the handler's allocator and frees the memory before the handler runs") {
  asio::io_context io;
  int live = 0;
  int total = 0;
  int live_in_handler = -1;
  async_run(io, give(1),
            asio::bind_allocator(leat_test::counting_allocator<std::byte>(live, total),
                                 [&](std::exception_ptr, int) { live_in_handler = live; }));
  CHECK(live == 1);
  io.run();
  CHECK(live_in_handler == 0);
  CHECK(total == 1);  // one allocation for the operation and its delivery
}

TEST_CASE("async_run: each type of cancellation requests a stop of the task") {
  for (const auto type : {asio::cancellation_type::terminal, asio::cancellation_type::partial,
                          asio::cancellation_type::total}) {
    asio::io_context io;
    asio::cancellation_signal signal;
    std::string what;
    async_run(io, sleep_long(),
              asio::bind_cancellation_slot(
                  signal.slot(), [&](std::exception_ptr error, int) { what = error_of(error); }));
    io.poll();
    CHECK(what == "");
    signal.emit(type);
    io.run();
    CHECK(what == "sleep: cancelled");
  }
}

TEST_CASE("async_run: a task that is cancelled before it starts still runs") {
  asio::io_context io;
  asio::cancellation_signal signal;
  int got = 0;
  async_run(
      io, give(3),
      asio::bind_cancellation_slot(signal.slot(), [&](std::exception_ptr, int n) { got = n; }));
  signal.emit(asio::cancellation_type::terminal);
  io.run();
  CHECK(got == 3);
}

TEST_CASE("async_run: a cancellation after completion has no effect") {
  asio::io_context io;
  asio::cancellation_signal signal;
  int calls = 0;
  async_run(io, give(3),
            asio::bind_cancellation_slot(signal.slot(), [&](std::exception_ptr, int) { ++calls; }));
  io.run();
  signal.emit(asio::cancellation_type::terminal);
  CHECK(calls == 1);
}

TEST_CASE("async_run: a cancellation between the end of the task and its handler has no effect") {
  asio::io_context io;
  asio::cancellation_signal signal;
  int got = 0;
  async_run(
      io, give(3),
      asio::bind_cancellation_slot(signal.slot(), [&](std::exception_ptr, int n) { got = n; }));
  while (got == 0) {
    signal.emit(asio::cancellation_type::terminal);
    io.run_one();
  }
  CHECK(got == 3);
}

TEST_CASE("async_run: a handler may start the next task") {
  asio::io_context io;
  int rounds = 0;
  struct again {
    asio::io_context& io;
    int& rounds;
    void operator()(std::exception_ptr, int) const {
      if (++rounds < 100) async_run(io, give(rounds), again{io, rounds});
    }
  };
  async_run(io, give(0), again{io, rounds});
  io.run();
  CHECK(rounds == 100);
}

TEST_CASE("async_run: an Asio coroutine's cancellation stops the task it awaits") {
  asio::io_context io;
  asio::cancellation_signal signal;
  std::string what;
  const auto body = [&]() -> asio::awaitable<void> {
    try {
      co_await async_run(io, sleep_long(), asio::use_awaitable);
    } catch (const leat::failure& e) {
      what = e.what();
    }
  };
  asio::co_spawn(io, body, asio::bind_cancellation_slot(signal.slot(), asio::detached));
  io.poll();
  signal.emit(asio::cancellation_type::terminal);
  io.run();
  CHECK(what == "sleep: cancelled");
}

// ---- A callable that returns an operation.

// Runs `body` on a context of its own, and returns the arguments of the handler.
template <class T, class Body>
std::pair<std::string, T> outcome_of(Body body) {
  asio::io_context io;
  std::pair<std::string, T> outcome;
  int calls = 0;
  async_run(io, std::move(body), [&](const std::exception_ptr& error, T value) {
    ++calls;
    outcome = {error_of(error), std::move(value)};
  });
  io.run();
  CHECK(calls == 1);
  return outcome;
}

TEST_CASE("async_run: a callable may return a task, an operation or a select") {
  CHECK(outcome_of<int>([] { return give(3); }).second == 3);
  CHECK(outcome_of<int>([n = std::make_unique<int>(4)] { return give(*n); }).second == 4);
  CHECK(outcome_of<std::variant<std::monostate, std::monostate>>([] {
          return leat::select(leat::sleep_for(1h), leat::sleep_for(1ms));
        }).second.index() == 1);
  CHECK(outcome_of<leat::operation_result<int>>([] {
          return leat::as_tuple(give(5));
        }).second.value == 5);
  CHECK(*outcome_of<std::unique_ptr<int>>([]() -> task<std::unique_ptr<int>> {
           co_return std::make_unique<int>(6);
         }).second == 6);
}

TEST_CASE("async_run: an operation without a result completes with its error alone") {
  asio::io_context io;
  int calls = 0;
  async_run(
      io, [] { return leat::sleep_for(1ms); },
      [&](const std::exception_ptr& error) { calls += error ? 100 : 1; });
  async_run(
      io.get_executor(), [] { return leat::this_task::yield(); },
      [&](const std::exception_ptr& error) { calls += error ? 100 : 1; });
  io.run();
  CHECK(calls == 2);
}

TEST_CASE("async_run: an exception of the callable or its operation reaches the handler") {
  CHECK(outcome_of<int>([]() -> task<int> { throw std::runtime_error("not called"); }).first ==
        "not called");
  CHECK(outcome_of<int>([] { return fail(); }).first == "failed");
  asio::io_context io;
  std::string timeout;
  async_run(
      io, [] { return leat::with_timeout(leat::sleep_for(1h), 1ms); },
      [&](const std::exception_ptr& error) { timeout = error_of(error); });
  io.run();
  CHECK(contains(timeout, "timed out without effect"));
}

TEST_CASE("async_run: a cancellation of a callable's operation requests a stop") {
  asio::io_context io;
  asio::cancellation_signal signal;
  std::string error;
  async_run(
      io, [] { return leat::sleep_for(1h); },
      asio::bind_cancellation_slot(signal.slot(),
                                   [&](const std::exception_ptr& e) { error = error_of(e); }));
  asio::post(io, [&] { signal.emit(asio::cancellation_type::terminal); });
  io.run();
  CHECK(contains(error, "cancelled"));
}

TEST_CASE("async_run: a value that was there before the cancellation is delivered") {
  asio::io_context io;
  asio::cancellation_signal signal;
  int value = 0;
  async_run(
      io,
      [&]() -> task<int> {
        signal.emit(asio::cancellation_type::terminal);
        co_return 7;
      },
      asio::bind_cancellation_slot(
          signal.slot(), [&](const std::exception_ptr& e, int n) { value = e ? -1 : n; }));
  io.run();
  CHECK(value == 7);
}

TEST_CASE("async_run: an asio::awaitable waits for an operation of leat") {
  asio::io_context io;
  std::size_t index = 9;
  asio::co_spawn(
      io,
      [&]() -> asio::awaitable<void> {
        const auto first = [] { return leat::select(leat::sleep_for(1h), leat::sleep_for(1ms)); };
        const auto executor = co_await asio::this_coro::executor;
        const auto done = co_await async_run(executor, first, asio::use_awaitable);
        index = done.index();
      },
      asio::detached);
  io.run();
  CHECK(index == 1);
}

}  // namespace async_run_test
