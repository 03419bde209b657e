#include "support/turns.hpp"
#include "leat/coordination.hpp"
#include "leat/queue/fifo_queue.hpp"
#include "support/leat_test.hpp"

// Loops whose steps never wait let timers, stops and other tasks run.

namespace turns_test {

using leat_test::slow_call;

// Does not push anything, as a source that filters out everything it reads.
task<bool> push_nothing(std::size_t& calls, std::size_t most) { co_return ++calls < most; }

LEAT_TEST("queue_runner: a stop ends an operation that never waits and pushes nothing") {
  constexpr std::size_t most = 1'000'000;
  leat::fifo_queue<int> q(1);
  std::size_t calls = 0;
  leat::queue_runner runner(q);
  runner.add([&calls] { return push_nothing(calls, most); });
  leat::coordinator coord;
  runner.start(coord);
  co_await leat::sleep_for(0ms);
  coord.request_stop();
  co_await coord.join();
  CHECK(calls > 0);
  CHECK(calls < most);
}

task<bool> compute(slow_call& call, std::size_t most) {
  call();
  co_return call.calls() < most;
}

LEAT_REAL_TIME_TEST("queue_runner: ends the turn after operations that compute for long") {
  slow_call call;
  leat::fifo_queue<int> q(1);
  leat::queue_runner runner(q);
  runner.add([&] { return compute(call, 50); });
  co_await runner.run();
  CHECK(call.turns() >= 5);
}

LEAT_REAL_TIME_TEST("looper: ends the turn after calls that compute for long") {
  slow_call call;
  task_group group;
  group.spawn(leat::looper([&]() -> task<> {
    call();
    if (call.calls() == 50) group.request_stop();
    co_return;
  }));
  co_await group.join();
  CHECK(call.calls() == 50);
  CHECK(call.turns() >= 5);
}

}  // namespace turns_test
