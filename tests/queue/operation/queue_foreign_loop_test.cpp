// Queues that coroutines of other libraries await in handlers of Asio and on other threads.

#include <thread>
#include <variant>

#include "leat/queue/fifo_queue.hpp"
#include "support/asio_test.hpp"
#include "support/foreign_coroutine.hpp"

namespace queue_foreign_loop_test {

using leat_test::foreign_coroutine;

struct context_with_scheduler : asio::io_context {
  context_with_scheduler() { static_cast<void>(leat::get_scheduler(*this)); }
};

foreign_coroutine add_all(leat::fifo_queue<int>& q, int& sum, std::string& error) {
  try {
    while (const auto item = co_await q.pop()) sum += *item;
  } catch (const leat::failure& e) {
    error = e.what();
  }
}

foreign_coroutine push_all(leat::fifo_queue<int>& q, int count, int& pushed) {
  for (int i = 1; i <= count; ++i) {
    const bool added = co_await q.push(int{i});
    if (added) ++pushed;
  }
  q.close();
}

TEST_CASE("queue: a coroutine in a handler of Asio pops what another thread pushes") {
  context_with_scheduler io;
  leat::fifo_queue<int> q(2);
  int sum = 0;
  std::string error;
  foreign_coroutine f;
  asio::post(io, [&] { f = add_all(q, sum, error); });
  std::jthread producer([&] {
    for (int i = 1; i <= 1000; ++i) leat::block_on(q.push(int{i}));
    q.close();
  });
  io.run();  // does not return while the coroutine waits
  CHECK(sum == 500'500);
  CHECK(error.empty());
  f.handle.destroy();
}

TEST_CASE("queue: a coroutine in a handler of Asio waits for free capacity") {
  context_with_scheduler io;
  leat::fifo_queue<int> q(2);
  int pushed = 0;
  foreign_coroutine f;
  asio::post(io, [&] { f = push_all(q, 1000, pushed); });
  int sum = 0;
  std::jthread consumer([&] {
    while (const auto item = leat::block_on(q.pop())) sum += *item;
  });
  io.run();
  consumer.join();
  CHECK(pushed == 1000);
  CHECK(sum == 500'500);
  f.handle.destroy();
}

TEST_CASE("queue: coroutines on two contexts exchange items") {
  context_with_scheduler one, two;
  leat::fifo_queue<int> q(1);
  int pushed = 0;
  int sum = 0;
  std::string error;
  foreign_coroutine pusher, popper;
  asio::post(one, [&] { pusher = push_all(q, 1000, pushed); });
  asio::post(two, [&] { popper = add_all(q, sum, error); });
  {
    const std::jthread first([&] { one.run(); });
    const std::jthread second([&] { two.run(); });
  }
  CHECK(pushed == 1000);
  CHECK(sum == 500'500);
  pusher.handle.destroy();
  popper.handle.destroy();
}

TEST_CASE("queue: a select in a handler of Asio takes one item and leaves the other queue") {
  context_with_scheduler io;
  leat::fifo_queue<int> a(2), b(2);
  int taken = 0;
  const auto body = [](leat::fifo_queue<int>& x, leat::fifo_queue<int>& y,
                       int& out) -> foreign_coroutine {
    const auto first = co_await leat::select(x.pop(), y.pop(), leat::sleep_for(1h));
    if (first.index() == 1) out = std::get<1>(first).value();
    const auto second = co_await leat::select(x.pop(), leat::sleep_for(1ms));
    if (second.index() == 1) out += 100;
  };
  foreign_coroutine f;
  asio::post(io, [&] { f = body(a, b, taken); });
  asio::post(io, [&] {
    asio::post(io, [&] {
      CHECK(b.try_push(1));
      CHECK(b.try_push(2));
    });
  });
  io.run();
  CHECK(taken == 101);
  CHECK(b.try_pop() == 2);
  f.handle.destroy();
}

TEST_CASE("queue: without a scheduler a pop fails, as_tuple() reports it, and no item is lost") {
  leat::fifo_queue<int> q(2);
  REQUIRE(q.try_push(7));
  const auto check = [&](auto run) {
    int sum = 0;
    std::string error;
    std::error_code code;
    const auto body = [](leat::fifo_queue<int>& own, std::error_code& out) -> foreign_coroutine {
      const auto [ec, item] = co_await leat::as_tuple(own.pop());
      out = item ? leat::asio_error_code() : ec;
    };
    run([&] { add_all(q, sum, error).handle.destroy(); });
    run([&] { body(q, code).handle.destroy(); });
    CHECK(sum == 0);
    CHECK(contains(error, "thread without a scheduler"));
    CHECK(code == errc::failed_precondition);
  };
  check([](auto f) { f(); });
  check([](auto f) {
    asio::io_context io;
    asio::post(io, f);
    io.run();
  });
  check([](auto f) {
    asio::thread_pool pool(1);
    asio::post(pool, f);
    pool.join();
  });
  CHECK(q.try_pop() == 7);
}

TEST_CASE("queue: after resume_on() a coroutine of a thread pool pops") {
  leat::fifo_queue<int> q(2);
  int sum = 0;
  std::string error;
  const auto body = [](leat::scheduler& s, leat::fifo_queue<int>& own, int& out,
                       std::string& text) -> foreign_coroutine {
    try {
      co_await leat::resume_on(s);
      while (const auto item = co_await own.pop()) out += *item;
    } catch (const leat::failure& e) {
      text = e.what();
    }
  };
  asio::io_context io;
  foreign_coroutine f;
  asio::thread_pool pool(1);
  asio::post(pool, [&] { f = body(leat::get_scheduler(io), q, sum, error); });
  pool.join();
  std::jthread producer([&] {
    leat::block_on(q.push(1));
    leat::block_on(q.push(2));
    q.close();
  });
  io.run();
  CHECK(sum == 3);
  CHECK(error.empty());
  f.handle.destroy();
}

TEST_CASE("queue: a pop of a coroutine is withdrawn when its context is destroyed") {
  for (const bool started : {false, true}) {
    leat::fifo_queue<int> q(2);
    int sum = 0;
    std::string error;
    foreign_coroutine f;
    {
      context_with_scheduler io;
      asio::post(io, [&] { f = add_all(q, sum, error); });
      io.poll_one();
      if (started) io.poll();
      CHECK(q.statistics().waiting_pops == (started ? 1U : 0U));
    }
    CHECK(q.statistics().waiting_pops == 0);
    CHECK(q.try_push(1));  // nothing waits for it
    f.handle.destroy();
    CHECK(sum == 0);
    CHECK(q.try_pop() == 1);
  }
}

TEST_CASE("queue: an item that a coroutine has popped returns if its context is destroyed") {
  for (const bool select : {false, true}) {
    leat::fifo_queue<int> q(3);
    int sum = 0;
    std::string error;
    const auto selecting = [](leat::fifo_queue<int>& own, int& out) -> foreign_coroutine {
      const auto done = co_await leat::select(own.pop(), leat::sleep_for(1h));
      out = static_cast<int>(done.index()) + 1;
    };
    foreign_coroutine f;
    {
      context_with_scheduler io;
      asio::post(io, [&] { f = select ? selecting(q, sum) : add_all(q, sum, error); });
      io.poll();
      CHECK(q.try_push(1));  // served, and the wake-up is posted
      CHECK(q.try_push(2));
    }
    CHECK(sum == 0);
    f.handle.destroy();
    CHECK(q.try_pop() == 1);
    CHECK(q.try_pop() == 2);
  }
}

TEST_CASE("queue: contexts are destroyed while other threads push to their coroutines") {
  int received = 0;
  leat::fifo_queue<int> q(4);
  constexpr int count = 2000;
  std::jthread producer([&] {
    for (int i = 0; i < count; ++i) leat::block_on(q.push(1));
    q.close();
  });
  const auto body = [](leat::fifo_queue<int>& own, int& out) -> foreign_coroutine {
    while (const auto item = co_await own.pop()) out += *item;
  };
  for (int round = 0; round < 200; ++round) {
    foreign_coroutine f;
    {
      context_with_scheduler io;
      asio::post(io, [&] { f = body(q, received); });
      for (int i = 0; i < 5; ++i) io.poll_one();
    }
    f.handle.destroy();
  }
  while (const auto item = leat::block_on(q.pop())) received += *item;
  CHECK(received == count);
}

TEST_CASE("async_run: pops of a callable's select lose no item") {
  asio::io_context io;
  leat::fifo_queue<int> a(2), b(2);
  int taken = 0;
  leat::async_run(
      io, [&] { return leat::select(a.pop(), b.pop()); },
      [&](const std::exception_ptr& error, std::variant<std::optional<int>, std::optional<int>> r) {
        if (!error && r.index() == 1) taken = std::get<1>(r).value();
      });
  CHECK(b.try_push(1));
  CHECK(b.try_push(2));
  io.run();
  CHECK(taken == 1);
  CHECK(b.try_pop() == 2);
}

}  // namespace queue_foreign_loop_test
