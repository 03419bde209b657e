#include "leat/sync/shared_mutex.hpp"

#include <algorithm>

#include "leat/sim/world/world.hpp"
#include "support/dump.hpp"
#include "support/effort.hpp"
#include "support/leat_test.hpp"

namespace shared_mutex_test {

using leat::shared_mutex;

auto settle() { return leat::sleep_for(1ms); }

task<> read(shared_mutex& m, std::string& log, char name, leat::duration hold = 10ms) {
  const auto lock = co_await m.lock_shared();
  log += name;
  co_await leat::sleep_for(hold);
}
task<> write(shared_mutex& m, std::string& log, char name, leat::duration hold = 10ms) {
  const auto lock = co_await m.lock();
  log += name;
  co_await leat::sleep_for(hold);
}

LEAT_TEST("shared_mutex: readers share the lock, and a writer holds it alone") {
  shared_mutex m("table");
  CHECK(m.name() == "table");
  {
    const auto first = co_await m.lock_shared();
    const auto second = co_await m.lock_shared();
    CHECK(first);
    CHECK(second);
    CHECK(m.try_lock_shared());
    CHECK_FALSE(m.try_lock());
  }
  auto alone = co_await m.lock();
  CHECK_FALSE(m.try_lock());
  CHECK_FALSE(m.try_lock_shared());
  alone.unlock();
  alone.unlock();
  CHECK_FALSE(alone);
  CHECK(m.try_lock());
}

LEAT_TEST("shared_mutex: readers and writers are served in the order of their requests") {
  shared_mutex m;
  std::string log;
  task_group group;
  for (const char name : {'a', 'B', 'c', 'd', 'E', 'f'}) {
    const bool writes = name < 'a';  // a capital letter
    group.spawn(writes ? write(m, log, name) : read(m, log, name));
    co_await settle();
  }
  CHECK(log == "a");
  CHECK_FALSE(m.try_lock_shared());  // does not overtake the writer that waits
  co_await leat::sleep_for(9ms);
  CHECK(log == "aB");
  co_await leat::sleep_for(10ms);
  CHECK((log == "aBcd" || log == "aBdc"));
  co_await group.join();
  CHECK(log.substr(4) == "Ef");
}

LEAT_TEST("shared_mutex: a cancelled writer lets later readers through") {
  shared_mutex m;
  std::string log;
  auto reading = co_await m.lock_shared();
  task_group writers;
  task_group readers;
  writers.spawn([](shared_mutex& of) -> task<> {
    const auto [ec, lock] = co_await leat::as_tuple(of.lock());
    CHECK(ec == errc::cancelled);
    CHECK_FALSE(lock);
  }(m));
  co_await settle();
  readers.spawn(read(m, log, 'a', 0ms));
  readers.spawn(read(m, log, 'b', 0ms));
  co_await settle();
  CHECK(log.empty());
  writers.request_stop();
  co_await writers.join();
  co_await readers.join();
  CHECK(log.size() == 2);
  reading.unlock();
  CHECK(m.try_lock());
}

LEAT_TEST("shared_mutex: a writer whose limit expires lets later readers through") {
  shared_mutex m;
  std::string log;
  auto reading = co_await m.lock_shared();
  task_group group;
  group.spawn([](shared_mutex& of) -> task<> {
    const auto done = co_await leat::select(of.lock(), leat::sleep_for(5ms));
    CHECK(done.index() == 1);
  }(m));
  co_await settle();
  group.spawn(read(m, log, 'a', 0ms));
  co_await group.join();
  CHECK(log == "a");
  CHECK(reading);
}

LEAT_TEST("shared_mutex: the last reader of several serves the writer") {
  shared_mutex m;
  std::string log;
  auto first = co_await m.lock_shared();
  auto second = co_await m.lock_shared();
  task_group group;
  group.spawn(write(m, log, 'W', 0ms));
  co_await settle();
  second.unlock();
  co_await settle();
  CHECK(log.empty());
  first = shared_mutex::shared_guard();
  CHECK_FALSE(m.try_lock_shared());  // handed to the writer
  co_await group.join();
  CHECK(log == "W");
}

LEAT_TEST("shared_mutex: guards can be moved") {
  shared_mutex m;
  shared_mutex::guard writing;
  shared_mutex::shared_guard reading;
  CHECK_FALSE(writing);
  CHECK_FALSE(reading);
  writing = co_await m.lock();
  auto moved = std::move(writing);
  CHECK_FALSE(writing);
  CHECK(moved);
  moved = shared_mutex::guard();
  reading = co_await m.lock_shared();
  auto other = std::move(reading);
  CHECK(other);
  other.unlock();
  CHECK(m.try_lock());
}

task<> lock_shared_twice(shared_mutex& m) {
  const auto first = co_await m.lock_shared();
  co_await leat::sleep_for(10ms);
  const auto second = co_await m.lock_shared();
}
LEAT_TEST("shared_mutex: a dump reports the cycle of a second shared lock and a waiting writer") {
  shared_mutex m("table");
  std::string log;
  task_group group("users");
  group.spawn(lock_shared_twice(m), "reader");
  co_await settle();
  group.spawn(write(m, log, 'W'), "writer");
  co_await leat::sleep_for(20ms);
  const std::string text = leat_test::dump();
  co_await stop_and_join(group);
  INFO(text);
  CHECK(contains(text, "these probably wait for each other: "));
  CHECK(contains(text, "'reader' (lock_shared shared_mutex 'table' (1 shared))"));
  CHECK(contains(text, "'writer' (lock shared_mutex 'table' (1 shared))"));
  CHECK(log.empty());
}

LEAT_TEST("shared_mutex: without the waiting writer a second shared lock succeeds") {
  shared_mutex m;
  co_await lock_shared_twice(m);
  CHECK(m.try_lock());
}

// -- Under simulation.

struct use {
  int readers = 0;
  int writers = 0;
  int most_readers = 0;
  bool broken = false;
  void check() {
    broken = broken || writers > 1 || (writers == 1 && readers > 0);
    most_readers = std::max(most_readers, readers);
  }
};
task<> work(leat::sim::world& w, shared_mutex& m, use& u) {
  for (int i = 0; i < 5; ++i) {
    const auto limit = std::chrono::microseconds(w.random()() % 300);
    const auto hold = std::chrono::microseconds(w.random()() % 100);
    if (w.random()() % 3 == 0) {
      auto [ec, lock] = co_await leat::as_tuple(leat::with_timeout(m.lock(), limit));
      if (ec) continue;
      ++u.writers;
      u.check();
      co_await leat::sleep_for(hold);
      --u.writers;
    } else {
      auto [ec, lock] = co_await leat::as_tuple(leat::with_timeout(m.lock_shared(), limit));
      if (ec) continue;
      ++u.readers;
      u.check();
      co_await leat::sleep_for(hold);
      --u.readers;
    }
  }
}
TEST_CASE("shared_mutex: simulated writers are always alone") {
  int most_readers = 0;
  for (std::uint64_t seed = 1; seed <= leat_test::random_case_count(200); ++seed) {
    INFO("seed " << seed);
    leat::sim::world w(seed, {.threads = 3, .preemption = 0.3});
    w.run([&most_readers](leat::sim::world& in) -> task<> {
      shared_mutex m("table");
      use u;
      task_group group;
      for (std::size_t i = 0; i < 12; ++i) group.spawn_on(in.thread(i % 3), work(in, m, u));
      co_await group.join();
      CHECK_FALSE(u.broken);
      CHECK(m.try_lock());
      most_readers = std::max(most_readers, u.most_readers);
    });
  }
  CHECK(most_readers > 1);
}

}  // namespace shared_mutex_test
