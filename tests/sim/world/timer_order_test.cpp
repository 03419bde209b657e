// The order of timers that are due, and of the steps at the same time.

#include "leat/queue/fifo_queue.hpp"
#include "leat/sim/world/world.hpp"
#include "leat/sync/semaphore.hpp"
#include "support/leat_test.hpp"

namespace timer_order_test {

using leat::sim::world;
using item_queue = leat::fifo_queue<int>;

task<> push_later(item_queue& to) {
  co_await leat::sleep_for(10ms);
  co_await to.push(1);
}

task<> pop_in_time(item_queue& from, std::error_code& result) {
  const auto [ec, item] = co_await leat::as_tuple(leat::with_timeout(from.pop(), 10ms));
  result = ec;
}

// A pop whose limit expires at the time of the push. Returns the code of the pop.
std::error_code pop_at_its_limit(world& w) {
  std::error_code result;
  w.run([&](world& here) -> task<> {
    item_queue q(1, "q");
    const auto invariants = here.scoped([&] { here.add_invariants(q); });
    task_group group;
    group.spawn_on(here.thread(0), pop_in_time(q, result), "consumer");
    group.spawn_on(here.thread(here.threads() - 1), push_later(q), "producer");
    co_await group.join();
    CHECK(q.size() == (result ? 1 : 0));
  });
  return result;
}

std::size_t index_of(const std::vector<std::string>& lines, const std::string& text) {
  std::size_t i = 0;
  while (i < lines.size() && lines[i].find(text) == std::string::npos) ++i;
  return i;
}

TEST_CASE("world: an operation that is served at the time of its limit may succeed") {
  for (const std::size_t threads : {std::size_t{1}, std::size_t{2}}) {
    int served = 0, late = 0, served_then_expired = 0;
    for (std::uint64_t seed = 1; seed <= 300; ++seed) {
      world w(seed, {.threads = threads});
      w.trace();
      const std::error_code result = pop_at_its_limit(w);
      if (result) {
        CHECK(result == errc::deadline_exceeded);
        ++late;
        continue;
      }
      ++served;
      const auto& lines = w.schedule();
      const std::size_t push = index_of(lines, "producer resumes after sleep");
      const std::size_t expired = index_of(lines, "timer of consumer expires");
      const std::size_t resumed = index_of(lines, "consumer resumes after limit on pop");
      REQUIRE(resumed < lines.size());
      served_then_expired += push < expired && expired < resumed ? 1 : 0;
    }
    INFO(served << " served, " << late << " late, " << served_then_expired
                << " served before the limit and resumed after it");
    CHECK(served > 30);
    CHECK(late > 30);
    CHECK(served_then_expired > 10);
  }
}

TEST_CASE("world: by default, the timers that are due expire before other steps") {
  for (const std::size_t threads : {std::size_t{1}, std::size_t{2}}) {
    world w(std::vector<std::uint32_t>(), 1, {.threads = threads});
    CHECK(pop_at_its_limit(w) == errc::deadline_exceeded);
  }
}

TEST_CASE("world: the timers of one thread expire in the order of their times") {
  for (std::uint64_t seed = 1; seed <= 100; ++seed) {
    world w(seed);
    w.trace();
    w.run([](world&) -> task<> {
      const auto sleep_until = [](leat::time_point end) -> task<> {
        co_await leat::sleep_until(end);
      };
      task_group group;
      const leat::time_point past{};
      co_await leat::sleep_for(1s);
      for (const int at : {3, 1, 2}) {  // all of them are due
        group.spawn(sleep_until(past + at * 1ms), std::to_string(at));
      }
      co_await group.join();
    });
    const auto& lines = w.schedule();
    std::vector<std::size_t> starts, ends;
    for (const std::string name : {"1", "2", "3"}) {
      starts.push_back(index_of(lines, ": " + name + " begins"));
      ends.push_back(index_of(lines, "timer of " + name + " expires"));
    }
    for (std::size_t later = 1; later < 3; ++later) {
      for (std::size_t i = 0; i < later; ++i) {
        // The earlier one comes first, unless the later one has expired before it was set.
        if (starts[i] < ends[later]) CHECK(ends[i] < ends[later]);
      }
    }
  }
}

TEST_CASE("world: a limit of 0 lets a task that never waits succeed") {
  const auto take = [](leat::semaphore& s) -> task<int> {
    auto permit = co_await s.acquire();
    permit.forget();
    co_return 7;
  };
  const world::body body = [take](world&) -> task<> {
    leat::semaphore s(10, "s");
    const auto [code, permit] = co_await leat::as_tuple(leat::with_timeout(s.acquire(), 0s));
    CHECK_FALSE(code);
    CHECK((co_await leat::with_timeout(take(s), 0s)) == 7);
    const auto done = co_await leat::select(take(s), leat::sleep_for(0s));
    CHECK(done.index() == 0);
    item_queue q(1, "q");
    const auto wait = [](item_queue& from) -> task<> { co_await from.pop(); };
    const auto [ec] = co_await leat::as_tuple(leat::with_timeout(wait(q), 0s));
    CHECK(ec == errc::deadline_exceeded);
  };
  for (std::uint64_t seed = 1; seed <= 200; ++seed) leat::sim::run(seed, body);
}

}  // namespace timer_order_test
