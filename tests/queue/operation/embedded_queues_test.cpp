// Queues and a coordinator between an embedded_scheduler and other threads.

#include <thread>

#include "leat/coordination/coordinator.hpp"
#include "leat/queue/fifo_queue.hpp"
#include "support/descriptors.hpp"
#include "support/leat_test.hpp"

namespace embedded_queues_test {

constexpr int count = 5000;

task<> produce(leat::fifo_queue<int>& out) {
  for (int i = 1; i <= count; ++i) co_await out.push(i);
  out.close();
}

task<> pass_on(leat::fifo_queue<int>& in, leat::fifo_queue<int>& out) {
  while (const auto i = co_await in.pop()) co_await out.push(*i);
  out.close();
}

task<> add_up(leat::fifo_queue<int>& in, long& sum) {
  while (const auto i = co_await in.pop()) sum += *i;
}

TEST_CASE("embedded_scheduler: queues connect it with a thread of a runtime") {
  leat::runtime rt;
  leat::embedded_scheduler s;
  leat::fifo_queue<int> there(3), back(3);
  long sum = 0;
  leat::coordinator coord;
  coord.spawn_on(s, produce(there), "producer");
  coord.spawn_on(rt.get_scheduler(), pass_on(there, back), "in between");
  coord.spawn_on(s, add_up(back, sum), "consumer");
  leat_test::loop_until_idle(s, 7);
  leat::block_on(coord.join());
  CHECK(sum == long{count} * (count + 1) / 2);
}

TEST_CASE("embedded_scheduler: an OS thread can push items to it with blocking calls") {
  leat::embedded_scheduler s;
  leat::fifo_queue<int> numbers(4);
  long sum = 0;
  leat::coordinator coord;
  coord.spawn_on(s, add_up(numbers, sum));
  std::thread feeder([&] {
    for (int i = 1; i <= count; ++i) REQUIRE(leat::block_on(numbers.push(i)));
    numbers.close();
  });
  leat_test::loop_until_idle(s);
  feeder.join();
  leat::block_on(coord.join());
  CHECK(sum == long{count} * (count + 1) / 2);
}

TEST_CASE("embedded_scheduler: the loop can push items between two turns") {
  leat::embedded_scheduler s;
  leat::fifo_queue<int> numbers(4);
  long sum = 0;
  leat::coordinator coord;
  coord.spawn_on(s, add_up(numbers, sum));
  s.run_ready();
  for (int i = 1; i <= 10; ++i) {
    CHECK_FALSE(leat_test::readable(s));
    REQUIRE(numbers.try_push(i));
    CHECK(leat_test::readable(s));
    s.run_ready();
    CHECK(sum == i * (i + 1) / 2);
  }
  numbers.close();
  leat_test::loop_until_idle(s);
  leat::block_on(coord.join());
}

TEST_CASE("embedded_scheduler: a coordinator stops its tasks, and a timeout ends a wait") {
  leat::embedded_scheduler s;
  leat::fifo_queue<int> numbers(4);
  bool timed_out = false;
  leat::coordinator coord;
  coord.spawn_on(s, [](leat::fifo_queue<int>& q) -> task<> { co_await q.pop(); }(numbers));
  coord.spawn_on(s, [](leat::fifo_queue<int>& q, leat::coordinator& c, bool& out) -> task<> {
    out = co_await code_of(leat::with_timeout(q.pop(), 2ms)) == errc::deadline_exceeded;
    c.request_stop();
  }(numbers, coord, timed_out));
  leat_test::loop_until_idle(s);
  leat::block_on(coord.join());
  CHECK(timed_out);
}

}  // namespace embedded_queues_test
