#include "leat/sync/notification.hpp"

#include <chrono>
#include <sstream>
#include <string>
#include <thread>

#include <catch2/catch.hpp>

#include "leat/async/dump/dump.hpp"
#include "leat/async/sleep.hpp"
#include "leat/async/task_group.hpp"
#include "leat/sim.hpp"

namespace notification_test {

using namespace std::chrono_literals;
using leat::notification;
using leat::task;

TEST_CASE("notification: is stored once, however often it is sent", "[sync]") {
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

TEST_CASE("notification: each one ends one wait, in their order", "[sync]") {
  leat::sim::run([]() -> task<> {
    notification n("work");
    std::string order;
    leat::task_group waiting;
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
  }());
}

TEST_CASE("notification: a dump shows the wait", "[sync]") {
  leat::sim::run([]() -> task<> {
    notification n("work");
    std::string order;
    leat::task_group waiting;
    waiting.spawn(wait_and_note(n, order, 'a'));
    co_await leat::sleep_for(1ms);
    std::ostringstream out;
    leat::dump(out);
    CHECK(out.str().find("wait for notification 'work', at notification_test.cpp:") !=
          std::string::npos);
    n.notify();
    n.notify();  // the first one is on its way to the task
    co_await waiting.join();
    CHECK(n.try_wait());
  }());
}

TEST_CASE("notification: no thread misses one (stress: 20,000 rounds)", "[sync]") {
  constexpr int rounds = 20'000;
  notification ping;
  notification pong;
  std::thread other([&] {
    for (int i = 0; i < rounds; ++i) {
      ping.wait_blocking();
      pong.notify();
    }
  });
  for (int i = 0; i < rounds; ++i) {
    ping.notify();
    pong.wait_blocking(1min);
  }
  other.join();
  CHECK_FALSE(ping.try_wait());
}

}  // namespace notification_test
