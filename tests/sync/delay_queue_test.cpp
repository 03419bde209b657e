#include "leat/sync/delay_queue.hpp"

#include <exception>
#include <mutex>
#include <thread>

#include <asio/io_context.hpp>

#include "leat/queue/fifo_queue.hpp"
#include "leat/sim/world/sweep.hpp"
#include "support/leat_test.hpp"

namespace delay_queue_test {

using leat::delay_key;
using leat::delay_queue;

// Appends to `log` each value and the time at which it was popped: "b10 a20 end20".
task<> pop_all(delay_queue<char>& q, std::string& log) {
  const leat::scheduler& here = leat::this_task::get_scheduler();
  const leat::time_point start = here.now();
  for (;;) {
    const std::optional<char> value = co_await q.pop();
    const auto at = std::chrono::duration_cast<std::chrono::milliseconds>(here.now() - start);
    if (!log.empty()) log += ' ';
    log += (value ? std::string(1, *value) : "end") + std::to_string(at.count());
    if (!value) co_return;
  }
}

LEAT_TEST("delay_queue: values leave in the order of their deadlines") {
  delay_queue<char> q("values");
  CHECK(q.insert('c', 30ms));
  CHECK(q.insert('a', 20ms));
  CHECK(q.insert('b', 20ms));
  CHECK(q.insert('x', -1ms));
  CHECK(q.size() == 4);
  q.close();
  std::string log;
  co_await pop_all(q, log);
  CHECK(log == "x0 a20 b20 c30 end30");
}

LEAT_TEST("delay_queue: a pop that waits sees every change of the earliest deadline") {
  delay_queue<char> q;
  std::string log;
  task_group group;
  group.spawn(pop_all(q, log));
  co_await leat::sleep_for(5ms);
  const delay_key a = q.insert('a', 50ms);
  co_await leat::sleep_for(5ms);
  CHECK(q.insert('b', 10ms));               // earlier: expires at 20
  const delay_key c = q.insert('c', 15ms);  // would expire at 25
  co_await leat::sleep_for(12ms);
  CHECK(q.reset(c, 18ms));  // later: 40
  CHECK(q.reset(a, 8ms));   // earlier: 30
  const delay_key d = q.insert('d', 100ms);
  co_await leat::sleep_for(28ms);
  CHECK(q.remove(d) == 'd');
  co_await leat::sleep_for(50ms);
  q.close();  // at 100, while it is empty
  co_await group.join();
  CHECK(log == "b20 a30 c40 end100");
}

LEAT_TEST("delay_queue: a key ends with its value") {
  delay_queue<char> q;
  CHECK_FALSE(delay_key());
  CHECK_FALSE(q.reset(delay_key(), 1ms));
  const delay_key popped = q.insert('a', 0ms);
  const delay_key removed = q.insert('b', 0ms);
  CHECK(popped != removed);
  CHECK(q.try_pop() == 'a');
  CHECK(q.remove(removed) == 'b');
  CHECK(q.insert('c', 1h));
  for (const delay_key key : {popped, removed}) {
    CHECK(key);
    CHECK_FALSE(q.reset(key, 0ms));
    CHECK_FALSE(q.remove(key));
  }
  CHECK(q.size() == 1);
  CHECK_FALSE(q.try_pop());
  co_return;
}

LEAT_TEST("delay_queue: a closed queue leaves the value to its owner") {
  delay_queue<std::unique_ptr<int>> q;
  CHECK(q.insert(std::make_unique<int>(1), 10ms));
  CHECK(q.close());
  CHECK_FALSE(q.close());
  CHECK(q.is_closed());
  auto late = std::make_unique<int>(2);
  CHECK_FALSE(q.insert(std::move(late), 10ms));
  CHECK(late);
  const auto first = co_await q.pop();
  CHECK(**first == 1);
  CHECK_FALSE(co_await q.pop());
}

LEAT_TEST("delay_queue: the end of a closed queue reaches every pop that waits") {
  delay_queue<char> q;
  const delay_key only = q.insert('a', 1h);
  std::vector<std::string> logs(3);
  task_group group;
  for (std::string& log : logs) group.spawn(pop_all(q, log));
  co_await leat::sleep_for(1ms);
  CHECK_FALSE(q.try_pop());
  q.close();
  co_await leat::sleep_for(1ms);
  CHECK(q.remove(only) == 'a');
  co_await group.join();
  CHECK(logs == std::vector<std::string>(3, "end2"));
}

LEAT_TEST("delay_queue: a limit or a stop removes nothing, and the next pop goes on") {
  delay_queue<char> q;
  CHECK(q.insert('a', 20ms));
  const auto [ec, none] = co_await leat::as_tuple(leat::with_timeout(q.pop(), 10ms));
  CHECK(ec == errc::deadline_exceeded);
  CHECK_FALSE(none);
  std::string stopped;
  std::string log;
  task_group first;
  task_group second;
  first.spawn(pop_all(q, stopped));
  co_await leat::sleep_for(1ms);
  second.spawn(pop_all(q, log));
  co_await leat::sleep_for(1ms);
  first.request_stop();
  co_await first.join();
  q.close();
  co_await second.join();
  CHECK(stopped.empty());
  CHECK(log == "a9 end9");
}

LEAT_TEST("delay_queue: select() leaves the value of a branch that loses") {
  delay_queue<char> q;
  leat::fifo_queue<int> jobs(1);
  CHECK(q.insert('a', 10ms));
  auto first = co_await leat::select(jobs.pop(), q.pop(), leat::sleep_for(5ms));
  CHECK(first.index() == 2);
  CHECK(q.size() == 1);
  auto second = co_await leat::select(jobs.pop(), q.pop(), leat::sleep_for(50ms));
  REQUIRE(second.index() == 1);
  CHECK(std::get<1>(second) == 'a');
}

// A limit, a stop and other tasks meet the deadlines at the same instants, in an order that the
// seed decides.
task<> meet(int& limited, int& late_resets) {
  delay_queue<int> q("meeting");
  std::vector<int> seen(8);
  std::vector<delay_key> keys;
  for (int i = 0; i < 8; ++i) keys.push_back(q.insert(int{i}, 1ms * (i / 2)));
  task_group stopped;
  task_group group;
  const auto pop_some = [](delay_queue<int>& from, std::vector<int>& to, int& late) -> task<> {
    for (;;) {
      auto [ec, value] = co_await leat::as_tuple(leat::with_timeout(from.pop(), 1ms));
      if (ec == errc::cancelled) co_return;
      if (ec) {
        ++late;
      } else if (!value) {
        co_return;
      } else {
        ++to[static_cast<std::size_t>(*value)];
      }
    }
  };
  stopped.spawn(pop_some(q, seen, limited));
  for (int i = 0; i < 2; ++i) group.spawn(pop_some(q, seen, limited));
  co_await leat::sleep_for(1ms);
  stopped.request_stop();
  const int reset = q.reset(keys[4], 1ms) ? 1 : 0;
  co_await leat::sleep_for(1ms);
  if (q.remove(keys[7])) ++seen[7];
  q.close();
  co_await stopped.join();
  co_await group.join();
  late_resets += reset;
  for (const int times : seen) {
    if (times != 1) throw leat::failure(errc::data_loss, "value lost or delivered twice");
  }
}

TEST_CASE("delay_queue: no value is lost at the instant of a limit or a stop") {
  int limited = 0;
  int reset = 0;
  leat::sim::sweep([&](leat::sim::world&) { return meet(limited, reset); }, {.count = 200});
  CHECK(limited > 0);
  CHECK(reset > 0);
}

TEST_CASE("delay_queue: many threads insert and pop each value once") {
  constexpr int producers = 4;
  constexpr int each = 250;
  delay_queue<int> q;
  std::mutex mutex;
  std::vector<int> seen(producers * each);
  leat::runtime threads({.threads = 2});
  std::vector<std::jthread> inserting;
  for (int p = 0; p < producers; ++p) {
    inserting.emplace_back([&q, p] {
      for (int i = 0; i < each; ++i) {
        const delay_key key = q.insert(p * each + i, std::chrono::microseconds(i % 7 * 100));
        if (i % 3 == 0) q.reset(key, 50us);
      }
    });
  }
  leat::block_on([](auto& from, auto& lock, auto& to, auto& on) -> task<> {
    task_group group;
    for (int i = 0; i < 4; ++i) {
      group.spawn_on(on.next_scheduler(), [](auto& values, auto& m, auto& counts) -> task<> {
        while (const auto value = co_await values.pop()) {
          const std::lock_guard guard(m);
          ++counts[static_cast<std::size_t>(*value)];
        }
      }(from, lock, to));
    }
    while (true) {
      int sum = 0;
      {
        const std::lock_guard guard(lock);
        for (const int n : to) sum += n;
      }
      if (sum >= producers * each) break;
      co_await leat::sleep_for(1ms);
    }
    from.close();
    co_await group.join();
  }(q, mutex, seen, threads));
  CHECK(seen == std::vector<int>(producers * each, 1));
}

TEST_CASE("delay_queue: a pop that ends with its event loop leaves the value") {
  delay_queue<char> q;
  CHECK(q.insert('a', 1h));
  {
    asio::io_context io;
    std::string log;
    leat::async_run(io, pop_all(q, log), [](const std::exception_ptr&) {});
    io.poll();
    CHECK_FALSE(q.try_pop());
  }
  CHECK(q.insert('b', 0ms));
  CHECK(q.try_pop() == 'b');
  CHECK(q.size() == 1);
}

TEST_CASE("delay_queue: values are destroyed with the queue") {
  const auto value = std::make_shared<int>(1);
  {
    delay_queue<std::shared_ptr<int>> q;
    CHECK(q.insert(value, 1h));
    CHECK(value.use_count() == 2);
  }
  CHECK(value.use_count() == 1);
}

}  // namespace delay_queue_test
