#include "leat/sync/event.hpp"

#include <atomic>
#include <stop_token>
#include <thread>

#include "support/effort.hpp"
#include "support/leat_test.hpp"
#include "support/loops.hpp"

namespace event_test {

using leat::event;

task<> count_when_set(event& e, int& count) {
  co_await e.wait();
  ++count;
}

LEAT_TEST("event: stays set until it is reset") {
  event ready("index loaded");
  CHECK(ready.name() == "index loaded");
  CHECK_FALSE(ready.is_set());
  ready.set();
  ready.set();
  CHECK(ready.is_set());
  co_await ready.wait();
  co_await ready.wait();
  ready.reset();
  CHECK_FALSE(ready.is_set());
  ready.reset();
  const auto [late] = co_await leat::as_tuple(leat::with_timeout(ready.wait(), 1ms));
  CHECK(late == errc::deadline_exceeded);
}

LEAT_TEST("event: set wakes all operations that wait") {
  event ready;
  int count = 0;
  task_group group;
  for (int i = 0; i < 5; ++i) group.spawn(count_when_set(ready, count));
  co_await leat::sleep_for(1ms);
  CHECK(count == 0);
  ready.set();
  CHECK(count == 0);
  co_await group.join();
  CHECK(count == 5);
}

LEAT_TEST("event: a set before a reset wakes the operations that waited, and no later ones") {
  event ready;
  int before = 0;
  int after = 0;
  task_group earlier;
  task_group later;
  earlier.spawn(count_when_set(ready, before));
  co_await leat::sleep_for(1ms);
  ready.set();
  ready.reset();
  later.spawn(count_when_set(ready, after));
  co_await earlier.join();
  CHECK(before == 1);
  co_await leat::sleep_for(1ms);
  CHECK(after == 0);
  ready.set();
  co_await later.join();
  CHECK(after == 1);
}

task<> set_and_destroy(std::optional<event>& e) {
  co_await leat::sleep_for(1ms);
  e->set();
  e.reset();
}
LEAT_TEST("event: may be destroyed after set, before the tasks that it woke resume") {
  std::optional<event> ready(std::in_place, "short-lived");
  int count = 0;
  task_group group;
  for (int i = 0; i < 3; ++i) group.spawn(count_when_set(*ready, count));
  group.spawn([](event& e, int& n) -> task<> {
    const auto done = co_await leat::select(e.wait(), leat::sleep_for(1h));
    n += done.index() == 0 ? 1 : 0;
  }(*ready, count));
  co_await set_and_destroy(ready);
  co_await group.join();
  CHECK(count == 4);
}

TEST_CASE("event: a task that is destroyed after set does not access the destroyed event") {
  auto ready = std::make_unique<event>("short-lived");
  int count = 0;
  leat_test::asio_loop loop;
  task_group group;
  group.spawn_on(loop.get_scheduler(), count_when_set(*ready, count));
  loop.run_ready();
  ready->set();
  ready.reset();
  loop.end();
  CHECK(leat_test::is_cancelled(group));
  CHECK(count == 0);
}

TEST_CASE("event: wakes blocked threads and may be destroyed after them") {
  for (int round = 0; round < 200; ++round) {
    auto ready = std::make_unique<event>();
    std::vector<std::thread> threads;
    for (int i = 0; i < 3; ++i) threads.emplace_back([&] { leat::block_on(ready->wait()); });
    ready->set();
    for (auto& t : threads) t.join();
    ready.reset();
  }
  SUCCEED();
}

TEST_CASE("event: may be destroyed when a wait returns, while set() returns on another thread") {
  std::atomic<event*> to_set{nullptr};
  std::jthread setter([&](const std::stop_token& stop) {
    while (!stop.stop_requested()) {
      if (event* const e = to_set.exchange(nullptr)) {
        e->set();
      } else {
        std::this_thread::yield();
      }
    }
  });
  for (std::uint64_t round = 0; round < leat_test::scaled_count(20'000); ++round) {
    auto ready = std::make_unique<event>();
    to_set = ready.get();
    while (round % 2 == 0 && !ready->is_set()) std::this_thread::yield();
    leat::block_on(ready->wait());
    ready.reset();
  }
  SUCCEED();
}

TEST_CASE("event: destroyed while a task waits, it names the task") {
  const std::string text = leat_test::abort_message([] {
    leat_test::embedded_loop loop;
    task_group group("loaders");
    int count = 0;
    auto ready = std::make_unique<event>("index loaded");
    group.spawn_on(loop.get_scheduler(), count_when_set(*ready, count), "reader");
    loop.run_ready();
    ready.reset();
  });
  INFO(text);
  CHECK(contains(text, "event 'index loaded' destroyed"));
  CHECK(contains(text, "\n  wait of reader, at event_test.cpp:"));
}

TEST_CASE("event: a blocking wait on a scheduler ends the process with a message") {
  const std::string text = leat_test::abort_message([] {
    leat::sim::run([]() -> task<> {
      event ready;
      leat::block_on(ready.wait());
      co_return;
    }());
  });
  CHECK(contains(text, "blocking operation on a scheduler thread would deadlock: use co_await"));
}

}  // namespace event_test
