// leat in programs that use Boost: their own contexts and executors, their coroutines and fibers.

#include <atomic>
#include <memory>
#include <string>
#include <thread>
#include <tuple>
#include <variant>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/as_tuple.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/experimental/awaitable_operators.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/spawn.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/strand.hpp>
#include <boost/asio/thread_pool.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/fiber/all.hpp>

#include "leat/leat.hpp"
#include "support/leat_test.hpp"

namespace embedding_test {

namespace asio = boost::asio;
using namespace std::chrono_literals;
using leat::fifo_queue;
using leat::task;
using leat::use_task;

task<int> add(int a, int b) {
  asio::steady_timer timer(*leat::get_io_context(*leat::scheduler::current()), 1ms);
  co_await timer.async_wait(use_task);
  co_return a + b;
}

// Runs add() on an executor with a handler, and returns what the handler received.
template <class Executor>
int sum_on(asio::io_context& io, Executor&& executor) {
  int sum = 0;
  leat::async_run(executor, add(1, 2), [&](const std::exception_ptr& e, int n) {
    if (!e) sum = n;
  });
  io.run();
  return sum;
}

TEST_CASE("Boost: tasks run on a program's io_context, its executor and any_io_executor") {
  asio::io_context io;
  SECTION("io_context") { CHECK(sum_on(io, io) == 3); }
  SECTION("executor") { CHECK(sum_on(io, io.get_executor()) == 3); }
  SECTION("any_io_executor") { CHECK(sum_on(io, asio::any_io_executor(io.get_executor())) == 3); }
}

TEST_CASE("Boost: a strand and a thread_pool as executors of the handler") {
  asio::io_context io;
  auto strand = asio::make_strand(io);
  asio::thread_pool pool(2);
  std::atomic<int> called = 0;
  leat::async_run(io, add(1, 2), asio::bind_executor(strand, [&](const std::exception_ptr&, int n) {
                    CHECK(strand.running_in_this_thread());
                    called += n;
                  }));
  leat::async_run(io, add(3, 4), asio::bind_executor(pool, [&](const std::exception_ptr&, int n) {
                    called += n;
                  }));
  io.run();
  pool.join();
  CHECK(called == 10);
}

TEST_CASE("Boost: several threads run the io_context of tasks") {
  asio::io_context io(2);
  fifo_queue<int> queue(4);
  std::atomic<int> sum = 0;
  constexpr int count = 1000;
  leat::async_run(
      io,
      [&]() -> task<> {
        for (int i = 0; i < count; ++i) co_await queue.push(1);
        queue.close();
      },
      asio::detached);
  asio::co_spawn(
      io,
      [&]() -> asio::awaitable<void> {
        while (const auto item = co_await queue.async_pop(asio::use_awaitable)) sum += *item;
      },
      asio::detached);
  {
    const std::jthread other([&] { io.run(); });
    io.run();
  }
  CHECK(sum == count);
}

TEST_CASE("Boost: a boost::asio::awaitable awaits a task, and its exception") {
  asio::io_context io;
  int sum = 0;
  std::string text;
  asio::co_spawn(
      io,
      [&]() -> asio::awaitable<void> {
        sum = co_await leat::async_run(io, add(5, 6), asio::use_awaitable);
        try {
          co_await leat::async_run(
              io,
              []() -> task<> {
                throw leat::failure(leat::errc::data_loss, "damaged");
                co_return;
              },
              asio::use_awaitable);
        } catch (const leat::failure& e) {
          text = e.what();
        }
      },
      asio::detached);
  io.run();
  CHECK(sum == 11);
  CHECK(text == "damaged: data loss");
}

asio::awaitable<int> add_later(int a, int b) {
  asio::steady_timer timer(co_await asio::this_coro::executor, 1ms);
  co_await timer.async_wait(asio::use_awaitable);
  co_return a + b;
}

TEST_CASE("Boost: a task awaits a boost::asio::awaitable, and a limit cancels it") {
  asio::io_context io;
  int sum = 0;
  leat::errc end{};
  leat::async_run(
      io,
      [&]() -> task<> {
        sum = co_await asio::co_spawn(io, add_later(7, 8), use_task);
        const auto wait = [&]() -> asio::awaitable<void> {
          asio::steady_timer timer(io, 1h);
          co_await timer.async_wait(asio::use_awaitable);
        };
        const auto ended =
            co_await leat::as_tuple(leat::with_timeout(asio::co_spawn(io, wait(), use_task), 1ms));
        if (ended.error == leat::errc::deadline_exceeded) end = leat::errc::deadline_exceeded;
      },
      asio::detached);
  io.run();
  CHECK(sum == 15);
  CHECK(end == leat::errc::deadline_exceeded);
}

TEST_CASE("Boost: || of awaitables loses no item of a queue") {
  using namespace asio::experimental::awaitable_operators;
  asio::io_context io;
  fifo_queue<int> queue(4);
  int received = 0;
  asio::co_spawn(
      io,
      [&]() -> asio::awaitable<void> {
        for (int i = 0; i < 100; ++i) {
          asio::steady_timer timer(io, std::chrono::microseconds(i));
          const auto first = co_await (queue.async_pop(asio::use_awaitable) ||
                                       timer.async_wait(asio::use_awaitable));
          if (first.index() == 0 && std::get<0>(first)) ++received;
        }
        while (co_await queue.async_pop(asio::use_awaitable)) ++received;
      },
      asio::detached);
  leat::async_run(
      io,
      [&]() -> task<> {
        for (int i = 0; i < 50; ++i) {
          co_await queue.push(i);
          co_await leat::sleep_for(20us);
        }
        queue.close();
      },
      asio::detached);
  io.run();
  CHECK(received == 50);
}

TEST_CASE("Boost: the coroutines of boost::asio::spawn wait for tasks and queues") {
  asio::io_context io;
  fifo_queue<int> queue(1);
  int sum = 0, popped = 0;
  asio::spawn(
      io,
      [&](asio::yield_context yield) {
        auto [error, result] = leat::async_run(io, add(1, 2), asio::as_tuple(yield));
        if (!error) sum = result;
        popped = *queue.async_pop(yield);
        boost::system::error_code ec;
        queue.close();
        CHECK_FALSE(queue.async_pop(yield[ec]).has_value());
        CHECK_FALSE(ec.failed());
      },
      asio::detached);
  leat::async_run(io, [&]() -> task<> { co_await queue.push(4); }, asio::detached);
  io.run();
  CHECK(sum == 3);
  CHECK(popped == 4);
}

TEST_CASE("Boost: fibers of Boost.Fiber wait beside tasks") {
  // The loop of the tasks has its own thread: block_on() would block all fibers of this one.
  leat::runtime runtime;
  fifo_queue<int> queue(2);
  boost::fibers::buffered_channel<int> results(4);
  leat::task_group group("doubling");
  group.spawn_on(runtime.get_scheduler(),
                 [](fifo_queue<int>& q, boost::fibers::buffered_channel<int>& out) -> task<> {
                   while (const auto item = co_await q.pop()) {
                     while (out.try_push(*item * 2) == boost::fibers::channel_op_status::full) {
                       co_await leat::this_task::yield();
                     }
                   }
                   out.close();
                 }(queue, results));
  int sum = 0;
  boost::fibers::fiber producer([&] {
    for (int i = 1; i <= 10; ++i) {
      // Waits in the fiber: the handler is called on another thread.
      const auto pushed = std::make_shared<boost::fibers::promise<bool>>();
      queue.async_push(i, [pushed](boost::system::error_code ec, bool accepted) {
        pushed->set_value(!ec && accepted);
      });
      CHECK(pushed->get_future().get());
    }
    queue.close();
  });
  boost::fibers::fiber consumer([&] {
    for (const int n : results) sum += n;
  });
  producer.join();
  consumer.join();
  leat::block_on(group.join());
  CHECK(sum == 110);
}

}  // namespace embedding_test
