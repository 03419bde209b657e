// async_run() on the executors of all kinds of schedulers.

#include <exception>

#include <asio/this_coro.hpp>

#include "support/asio_test.hpp"
#include "support/child_process.hpp"
#include "support/loops.hpp"

namespace async_run_executor_test {

using leat::async_run;
using leat_test::asio_loop;
using leat_test::embedded_loop;

task<leat::scheduler*> find_scheduler() { co_return &leat::this_task::get_scheduler(); }
task<int> sleep_long() {
  co_await leat::sleep_for(1h);
  co_return 1;
}

TEST_CASE("async_run: an executor without a scheduler ends the process") {
  const auto ask = []() -> asio::awaitable<void> {
    co_await async_run(co_await asio::this_coro::executor, sleep_long(), asio::use_awaitable);
  };
  const std::string in_coroutine = leat_test::abort_message([&] {
    asio::thread_pool pool(1);
    asio::co_spawn(pool, ask(), asio::detached);
    pool.join();
  });
  CHECK_THAT(in_coroutine, Catch::Contains("async_run() on an executor without a scheduler"));
  const std::string with_handler = leat_test::abort_message([] {
    async_run(asio::any_io_executor(asio::system_executor()), sleep_long(),
              [](std::exception_ptr, int) {});
  });
  CHECK_THAT(with_handler, Catch::Contains("pass an executor of an asio::io_context"));
}

TEST_CASE("async_run: accepts a strand of an any_io_executor, also as that of a handler") {
  asio::io_context io;
  const auto strand = asio::make_strand(asio::any_io_executor(io.get_executor()));
  int ended = 0;
  const auto handler = [&](std::exception_ptr error, leat::scheduler* ran_on) {
    CHECK_FALSE(error);
    CHECK(ran_on == &leat::get_scheduler(io));
    CHECK(strand.running_in_this_thread());
    ++ended;
  };
  async_run(strand, find_scheduler(), handler);
  async_run(io, find_scheduler(), asio::bind_executor(strand, handler));
  io.run();  // stays until both have ended
  CHECK(ended == 2);
}

LEAT_LOOP_TEST("async_run: accepts the executor of any scheduler") {
  TestType loop;
  leat::scheduler& sched = loop.get_scheduler();
  const leat::scheduler_executor plain = leat::get_executor(sched);
  int ended = 0;
  const auto handler = [&](std::exception_ptr error, leat::scheduler* ran_on) {
    CHECK_FALSE(error);
    CHECK(ran_on == &sched);
    CHECK(leat::scheduler::current() == &sched);
    ++ended;
  };
  async_run(plain, find_scheduler(), handler);
  async_run(asio::any_io_executor(plain), find_scheduler(), handler);
  async_run(asio::any_io_executor(asio::make_strand(plain)), find_scheduler(), handler);
  const asio::any_io_executor erased(plain);
  async_run(asio::any_io_executor(asio::make_strand(erased)), find_scheduler(), handler);
  CHECK(ended == 0);
  loop.run_ready();
  CHECK(ended == 4);
}

LEAT_LOOP_TEST("async_run: a cancellation stops a task on the executor of any scheduler") {
  TestType loop;
  asio::cancellation_signal signal;
  bool cancelled = false;
  async_run(leat::get_executor(loop.get_scheduler()), sleep_long(),
            asio::bind_cancellation_slot(signal.slot(), [&](std::exception_ptr error, int) {
              cancelled = leat::to_error_code(error) == errc::cancelled;
            }));
  loop.run_ready();
  signal.emit(asio::cancellation_type::terminal);
  loop.run_ready();
  CHECK(cancelled);
}

LEAT_LOOP_TEST("async_run: the end of a scheduler destroys the handler of its executor") {
  TestType loop;
  const auto owned = std::make_shared<int>(0);
  async_run(leat::get_executor(loop.get_scheduler()), sleep_long(),
            [copy = owned](std::exception_ptr, int) { FAIL("the handler was called"); });
  loop.run_ready();
  CHECK(owned.use_count() == 2);
  loop.end();
  CHECK(owned.use_count() == 1);
}

LEAT_TEST("async_run: a coroutine of Asio awaits a task in simulated time") {
  leat::scheduler& sched = leat::this_task::get_scheduler();
  const leat::time_point begin = sched.now();
  int got = 0;
  asio::co_spawn(
      leat::get_executor(sched),
      [](int& out) -> asio::awaitable<void> {
        const asio::any_io_executor executor = co_await asio::this_coro::executor;
        out = co_await async_run(executor, sleep_long(), asio::use_awaitable);
      }(got),
      asio::detached);
  co_await leat::sleep_for(2h);
  CHECK(got == 1);
  CHECK(sched.now() - begin == 2h);
}

}  // namespace async_run_executor_test
