#include "leat/sync/semaphore.hpp"

#include <algorithm>
#include <limits>
#include <thread>

#include "leat/sim/world/world.hpp"
#include "support/effort.hpp"
#include "support/leat_test.hpp"

namespace semaphore_test {

using leat::semaphore;

auto settle() { return leat::sleep_for(1ms); }

task<> acquire_and_log(semaphore& s, std::size_t count, std::string& log, leat::duration hold) {
  const auto guard = co_await s.acquire(count);
  log += guard ? static_cast<char>('0' + count) : '-';
  if (hold > 0ms) co_await leat::sleep_for(hold);
}

LEAT_TEST("semaphore: permits are taken by guards and returned by their destructors") {
  semaphore s(5, "connections");
  CHECK(s.name() == "connections");
  CHECK(s.available() == 5);
  CHECK(s.maximum() == 5);
  {
    const auto two = co_await s.acquire(2);
    CHECK(two.count() == 2);
    const auto one = co_await s.acquire();
    CHECK(one.count() == 1);
    CHECK(s.available() == 2);
    CHECK_FALSE(s.try_acquire(3));
    CHECK(s.try_acquire(2).count() == 2);
    CHECK(s.available() == 2);
  }
  CHECK(s.available() == 5);
}

LEAT_TEST("semaphore: a request for many permits is not overtaken") {
  semaphore s(3);
  std::string log;
  auto two = s.try_acquire(2);
  task_group group;
  group.spawn(acquire_and_log(s, 3, log, 1ms));
  co_await settle();
  group.spawn(acquire_and_log(s, 1, log, 1ms));
  co_await settle();
  CHECK(s.available() == 1);
  CHECK_FALSE(s.try_acquire());  // does not barge either
  CHECK(log.empty());
  two.release();
  co_await group.join();
  CHECK(log == "31");
}

LEAT_TEST("semaphore: one release serves several requests up to the first that does not fit") {
  semaphore s(6);
  std::string log;
  auto all = s.try_acquire(6);
  task_group group;
  for (const std::size_t count : {2U, 3U, 4U, 1U}) {
    group.spawn(acquire_and_log(s, count, log, 10ms));
    co_await settle();
  }
  all.release();
  co_await settle();
  CHECK(log.size() == 2);
  CHECK(s.available() == 1);
  co_await group.join();
  CHECK(log.substr(2).find('4') != log.npos);
  CHECK(s.available() == 6);
}

LEAT_TEST("semaphore: a cancelled request for many permits lets later ones through") {
  semaphore s(3);
  std::string log;
  auto two = s.try_acquire(2);
  task_group heavy;
  task_group light;
  heavy.spawn([](semaphore& of) -> task<> {
    const auto [ec, guard] = co_await leat::as_tuple(of.acquire(3));
    CHECK(ec == errc::cancelled);
    CHECK_FALSE(guard);
  }(s));
  co_await settle();
  light.spawn(acquire_and_log(s, 1, log, 0ms));
  light.spawn(acquire_and_log(s, 1, log, 0ms));
  co_await settle();
  CHECK(log.empty());
  heavy.request_stop();
  co_await heavy.join();
  co_await light.join();
  CHECK(log == "11");
}

LEAT_TEST("semaphore: a request whose limit expires lets later ones through") {
  semaphore s(3);
  std::string log;
  auto two = s.try_acquire(2);
  task_group group;
  group.spawn([](semaphore& of) -> task<> {
    const auto [ec, guard] = co_await leat::as_tuple(leat::with_timeout(of.acquire(2), 10ms));
    CHECK(ec == errc::deadline_exceeded);
  }(s));
  co_await settle();
  group.spawn(acquire_and_log(s, 1, log, 0ms));
  co_await group.join();
  CHECK(log == "1");
}

LEAT_TEST("semaphore: a close ends waiting and later requests, and guards remain valid") {
  semaphore s(2);
  std::string log;
  auto held = s.try_acquire(2);
  task_group group;
  group.spawn(acquire_and_log(s, 1, log, 0ms));
  group.spawn(acquire_and_log(s, 2, log, 0ms));
  co_await settle();
  CHECK_FALSE(s.is_closed());
  CHECK(s.close());
  CHECK_FALSE(s.close());
  CHECK(s.is_closed());
  co_await group.join();
  CHECK(log == "--");
  CHECK(held.count() == 2);
  held.release();
  CHECK(s.available() == 2);
  CHECK_FALSE(s.try_acquire());
  const auto later = co_await s.acquire();
  CHECK_FALSE(later);
  CHECK(later.count() == 0);
  const auto [ec, none] = co_await leat::as_tuple(leat::with_timeout(s.acquire(), 1ms));
  CHECK_FALSE(ec);
  CHECK_FALSE(none);
  const auto done = co_await leat::select(s.acquire(), leat::sleep_for(1ms));
  CHECK(done.index() == 0);
}

TEST_CASE("semaphore: a close ends a blocked thread") {
  semaphore s(1);
  auto held = s.try_acquire();
  std::thread closer([&] {
    std::this_thread::sleep_for(2ms);
    s.close();
  });
  CHECK_FALSE(leat::block_on(s.acquire()));
  closer.join();
  CHECK_FALSE(leat::block_on(s.acquire()));
}

TEST_CASE("semaphore: a guard can be moved, released and forgotten") {
  semaphore s(3);
  semaphore::guard empty;
  CHECK_FALSE(empty);
  CHECK(empty.count() == 0);
  empty.release();
  empty.forget();
  auto two = s.try_acquire(2);
  semaphore::guard moved(std::move(two));
  CHECK_FALSE(two);
  CHECK(two.count() == 0);
  CHECK(moved.count() == 2);
  moved = s.try_acquire(1);  // returns the two permits
  CHECK(s.available() == 2);
  semaphore::guard& self = moved;
  moved = std::move(self);
  CHECK(moved.count() == 1);
  moved.release();
  moved.release();
  CHECK(s.available() == 3);
  auto forgotten = s.try_acquire(2);
  forgotten.forget();
  CHECK_FALSE(forgotten);
  CHECK(s.available() == 1);
  CHECK(s.maximum() == 3);
  CHECK(s.release(2));  // creates them again
  CHECK(s.available() == 3);
}

LEAT_TEST("semaphore: a guard that is assigned serves the next task") {
  semaphore s(1);
  std::string log;
  auto held = s.try_acquire();
  task_group group;
  group.spawn(acquire_and_log(s, 1, log, 0ms));
  co_await settle();
  held = semaphore::guard();
  co_await group.join();
  CHECK(log == "1");
}

TEST_CASE("semaphore: a release beyond the maximum stops there and returns false") {
  semaphore s(1, 3);
  CHECK(s.release());
  CHECK(s.release());
  CHECK_FALSE(s.release());
  CHECK(s.available() == 3);
  semaphore other(1, 3);
  CHECK_FALSE(other.release(std::numeric_limits<std::size_t>::max()));
  CHECK(other.available() == 3);
  CHECK(other.release(0));
  auto held = other.try_acquire(2);
  CHECK(other.release(2));  // there can be as many free permits, and two are held
  held.release();
  CHECK(other.available() == 3);
}

LEAT_TEST("semaphore: with no permit and a maximum of one, it stores one signal") {
  semaphore ready(0, 1, "ready");
  CHECK(ready.release());
  CHECK_FALSE(ready.release());  // the same signal
  (co_await ready.acquire()).forget();
  CHECK_FALSE(ready.try_acquire());
  int received = 0;
  task_group group;
  group.spawn([](semaphore& signal, int& n) -> task<> {
    for (; n < 3; ++n) {
      auto guard = co_await signal.acquire();
      guard.forget();
    }
  }(ready, received));
  for (int i = 1; i <= 3; ++i) {
    CHECK(ready.release());
    co_await settle();
    CHECK(received == i);
  }
  co_await group.join();
  CHECK(ready.available() == 0);
}

LEAT_TEST("semaphore: released permits go to waiting requests before they become free") {
  semaphore s(0, 2);
  std::string log;
  task_group group;
  group.spawn(acquire_and_log(s, 1, log, 10ms));
  group.spawn(acquire_and_log(s, 1, log, 10ms));
  co_await settle();
  CHECK(s.release(1));
  CHECK(s.available() == 0);
  CHECK_FALSE(s.try_acquire());
  CHECK(s.release(1));
  co_await settle();
  CHECK(log == "11");
  co_await group.join();
  CHECK(s.available() == 2);
}

TEST_CASE("semaphore: invalid arguments are errors with a message") {
  const auto error = [](auto call) {
    const auto o = outcome_of(call);
    CHECK(o.code == errc::invalid_argument);
    return o.text;
  };
  semaphore s(2, "connections");
  semaphore nameless(2);
  CHECK(error([] { semaphore bad(0, "connections"); }) ==
        "semaphore 'connections': 0 permits of at most 0: it needs a maximum of at least 1: "
        "invalid argument");
  CHECK(error([] { semaphore bad(3, 2); }) ==
        "semaphore: 3 permits of at most 2: raise the maximum or start with fewer permits: "
        "invalid argument");
  CHECK(error([&] { (void)s.acquire(3); }) ==
        "semaphore 'connections': acquire of 3 permits, but there are at most 2: it would wait "
        "forever: invalid argument");
  CHECK(error([&] { (void)nameless.try_acquire(0); }) ==
        "semaphore: acquire of 0 permits, but a request needs at least 1: invalid argument");
  CHECK(contains(error([&] { (void)leat::block_on(s.acquire(0)); }), "acquire of 0 permits"));
  CHECK(contains(error([&] { (void)leat::block_on(s.acquire(3), 1ms); }), "at most 2"));
  CHECK(s.available() == 2);
}

LEAT_TEST("semaphore: a cancelled request names the number of permits") {
  semaphore s(8, "connections");
  auto held = s.try_acquire(7);
  const auto o = co_await outcome_of([](semaphore& of) -> task<> {
    const auto guard = co_await leat::with_timeout(of.acquire(3), 1ms);
  }(s));
  CHECK(o.code == errc::deadline_exceeded);
  INFO(o.text);
  CHECK(o.text.starts_with("acquire 3 of semaphore 'connections' (1 of 8 free)"));
}

// -- Under simulation: threads, cancellations and weights.

struct use {
  std::size_t inside = 0;
  std::size_t most = 0;
  int served = 0;
};
task<> hold_for_a_while(leat::sim::world& w, semaphore& s, use& u) {
  for (int i = 0; i < 5; ++i) {
    const std::size_t count = 1 + w.random()() % 3;
    const auto limit = std::chrono::microseconds(w.random()() % 300);
    auto [ec, guard] = co_await leat::as_tuple(leat::with_timeout(s.acquire(count), limit));
    if (ec) continue;
    u.inside += guard.count();
    u.most = std::max(u.most, u.inside);
    ++u.served;
    co_await leat::sleep_for(std::chrono::microseconds(w.random()() % 100));
    u.inside -= guard.count();
  }
}
TEST_CASE("semaphore: simulated tasks never hold more permits than there are") {
  int served = 0;
  for (std::uint64_t seed = 1; seed <= leat_test::random_case_count(200); ++seed) {
    INFO("seed " << seed);
    leat::sim::world w(seed, {.threads = 3, .preemption = 0.3});
    w.run([&served](leat::sim::world& in) -> task<> {
      semaphore s(5, "permits");
      use u;
      task_group group;
      for (std::size_t i = 0; i < 12; ++i) {
        group.spawn_on(in.thread(i % 3), hold_for_a_while(in, s, u));
      }
      co_await group.join();
      CHECK(u.most <= 5);
      CHECK(s.available() == 5);
      served += u.served;
    });
  }
  CHECK(served > 0);
}

}  // namespace semaphore_test
