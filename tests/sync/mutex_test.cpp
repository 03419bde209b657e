#include "leat/sync/mutex.hpp"

#include <deque>
#include <map>
#include <random>

#include "leat/sim/world/world.hpp"
#include "leat/sync.hpp"
#include "support/asio_test.hpp"
#include "support/effort.hpp"

namespace mutex_test {

using leat::mutex;

task<> hold(mutex& m, leat::duration time) {
  const auto lock = co_await m.lock();
  co_await leat::sleep_for(time);
}

LEAT_TEST("mutex: is locked until the last of the tasks that requested it has unlocked it") {
  mutex m("index");
  CHECK(m.name() == "index");
  CHECK_FALSE(m.is_locked());
  auto lock = co_await m.lock();
  CHECK(m.is_locked());
  task_group group;
  group.spawn(hold(m, 5ms));
  co_await leat::sleep_for(1ms);
  lock.unlock();
  CHECK(m.is_locked());  // about to be locked by the task
  co_await group.join();
  CHECK_FALSE(m.is_locked());
}

LEAT_TEST("mutex: a guard can be moved, also to another task") {
  mutex m;
  mutex::guard nothing;
  CHECK_FALSE(nothing);
  nothing.unlock();
  auto lock = m.try_lock();
  auto moved = std::move(lock);
  CHECK_FALSE(lock);
  CHECK(moved);
  mutex::guard& self = moved;
  moved = std::move(self);
  CHECK(moved);
  task_group group;
  group.spawn([](mutex::guard held) -> task<> {
    co_await leat::sleep_for(1ms);
    CHECK(held);
  }(std::move(moved)));
  CHECK_FALSE(m.try_lock());
  co_await group.join();
  CHECK(m.try_lock());
}

LEAT_TEST("mutex: a select with two locks of the same mutex takes one") {
  mutex m;
  auto held = m.try_lock();
  task_group group;
  int won = -1;
  group.spawn([](mutex& of, int& index) -> task<> {
    const auto done = co_await leat::select(of.lock(), of.lock());
    index = static_cast<int>(done.index());
    co_await leat::sleep_for(1ms);
  }(m, won));
  co_await leat::sleep_for(1ms);
  held.unlock();
  CHECK(m.is_locked());
  co_await group.join();
  CHECK(won == 0);
  CHECK(m.try_lock());
}

// -- Under simulation.

struct use {
  bool inside = false;
  bool broken = false;
  int served = 0;
};
task<> lock_often(leat::sim::world& w, mutex& m, mutex& other, use& u) {
  for (int i = 0; i < 5; ++i) {
    mutex::guard lock;
    switch (w.random()() % 3) {
      case 0: {
        lock = co_await m.lock();
        break;
      }
      case 1: {
        const auto limit = std::chrono::microseconds(w.random()() % 200);
        auto [ec, held] = co_await leat::as_tuple(leat::with_timeout(m.lock(), limit));
        if (ec) continue;
        lock = std::move(held);
        break;
      }
      default: {
        auto done = co_await leat::select(other.lock(), m.lock());
        if (done.index() == 0) continue;
        lock = std::get<1>(std::move(done));
      }
    }
    u.broken = u.broken || u.inside;
    u.inside = true;
    ++u.served;
    if (w.random()() % 2 == 0) co_await leat::this_task::yield();
    u.inside = false;
  }
}
TEST_CASE("mutex: one of many simulated tasks holds it at a time") {
  int served = 0;
  for (std::uint64_t seed = 1; seed <= leat_test::random_case_count(300); ++seed) {
    INFO("seed " << seed);
    leat::sim::world w(seed, {.threads = 3, .preemption = 0.3});
    w.run([&served](leat::sim::world& in) -> task<> {
      mutex m("index");
      mutex other("other");
      use u;
      task_group group;
      for (std::size_t i = 0; i < 9; ++i) {
        group.spawn_on(in.thread(i % 3), lock_often(in, m, other, u));
      }
      co_await group.join();
      CHECK_FALSE(u.broken);
      CHECK_FALSE(m.is_locked());
      CHECK_FALSE(other.is_locked());
      served += u.served;
    });
  }
  CHECK(served > 0);
}

// -- Against a model of the wait queue of a semaphore.

/// A semaphore whose operations are served in order: the model.
struct model {
  std::size_t free;
  std::deque<std::pair<int, std::size_t>> waiting = {};
  std::map<int, std::size_t> held = {};

  void serve() {
    while (!waiting.empty() && waiting.front().second <= free) {
      free -= waiting.front().second;
      held.insert(waiting.front());
      waiting.pop_front();
    }
  }
};
struct real_semaphore {
  asio::io_context io;
  leat::semaphore s{5, "permits"};
  std::map<int, leat::semaphore::guard> held = {};
  std::map<int, std::unique_ptr<asio::cancellation_signal>> signals = {};
  int cancelled = 0;

  void acquire(int id, std::size_t count) {
    auto& signal = *(signals[id] = std::make_unique<asio::cancellation_signal>());
    s.async_acquire(
        count, asio::bind_cancellation_slot(
                   signal.slot(), asio::bind_executor(
                                      io, [this, id](std::error_code ec, leat::semaphore::guard g) {
                                        if (ec) {
                                          ++cancelled;
                                        } else {
                                          held.emplace(id, std::move(g));
                                        }
                                      })));
  }
  void run() {
    io.restart();
    io.poll();
  }
};
void compare_with_model(std::uint32_t seed) {
  std::mt19937 random(seed);
  model expected{5};
  real_semaphore real;
  int cancelled = 0;
  for (int id = 0; id < 200; ++id) {
    const auto action = random() % 8;
    if (action < 4) {
      const std::size_t count = 1 + random() % 5;
      real.acquire(id, count);
      expected.waiting.emplace_back(id, count);
    } else if (action < 5 && !expected.waiting.empty()) {
      const auto at = expected.waiting.begin() +
                      static_cast<std::ptrdiff_t>(random() % expected.waiting.size());
      real.signals[at->first]->emit(asio::cancellation_type::total);
      expected.waiting.erase(at);
      ++cancelled;
    } else if (!expected.held.empty()) {
      const auto at = std::next(expected.held.begin(),
                                static_cast<std::ptrdiff_t>(random() % expected.held.size()));
      real.held.erase(at->first);
      expected.free += at->second;
      expected.held.erase(at);
    }
    expected.serve();
    REQUIRE(real.s.available() == expected.free);
    REQUIRE(real.s.is_consistent());
    REQUIRE(real.s.waiting_count() == expected.waiting.size());
    real.run();
    REQUIRE(real.cancelled == cancelled);
    REQUIRE(real.held.size() == expected.held.size());
    for (const auto& [key, count] : expected.held) {
      REQUIRE(real.held.contains(key));
      REQUIRE(real.held[key].count() == count);
    }
  }
  real.s.close();
  real.run();
}
TEST_CASE("semaphore: serves requests of any size in order, as a model does") {
  for (std::uint32_t seed = 0; seed < leat_test::random_case_count(500); ++seed) {
    INFO("seed " << seed);
    compare_with_model(seed);
  }
}

}  // namespace mutex_test
