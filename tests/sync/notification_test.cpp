#include "leat/sync/notification.hpp"

#include <thread>

#include "leat/sim.hpp"
#include "support/dump.hpp"
#include "support/leat_test.hpp"

namespace notification_test {

using leat::notification;

TEST_CASE("notification: is stored once, however often it is sent") {
  notification n("work");
  CHECK_FALSE(n.try_wait());
  n.notify();
  n.notify();
  CHECK(n.try_wait());
  CHECK_FALSE(n.try_wait());
}

task<> wait_and_note(notification& n, std::string& order, char name) {
  co_await n.wait();
  order += name;
}

LEAT_TEST("notification: each one ends one wait, in their order") {
  notification n("work");
  std::string order;
  task_group waiting;
  for (const char name : {'a', 'b', 'c'}) waiting.spawn(wait_and_note(n, order, name));
  co_await leat::sleep_for(1ms);
  n.notify();
  n.notify();
  co_await leat::sleep_for(1ms);
  CHECK(order == "ab");
  CHECK(n.waiting_count() == 1);
  n.notify();
  co_await waiting.join();
  CHECK(order == "abc");
  CHECK_FALSE(n.try_wait());
}

LEAT_TEST("notification: a dump shows the wait") {
  notification n("work");
  std::string order;
  task_group waiting;
  waiting.spawn(wait_and_note(n, order, 'a'));
  co_await leat::sleep_for(1ms);
  CHECK(contains(leat_test::dump(), "wait for notification 'work', at notification_test.cpp:"));
  n.notify();
  n.notify();  // the first one is on its way to the task
  co_await waiting.join();
  CHECK(n.try_wait());
}

TEST_CASE("notification: no thread misses one (stress: 20,000 rounds)") {
  constexpr int rounds = 20'000;
  notification ping;
  notification pong;
  std::thread other([&] {
    for (int i = 0; i < rounds; ++i) {
      leat::block_on(ping.wait());
      pong.notify();
    }
  });
  for (int i = 0; i < rounds; ++i) {
    ping.notify();
    leat::block_on(pong.wait(), 1min);
  }
  other.join();
  CHECK_FALSE(ping.try_wait());
}

}  // namespace notification_test
