// Signals that a world raises, and the guards that receive them.

#include "leat/sim/world/world.hpp"
#include "support/leat_test.hpp"

namespace signals_test {

using leat::stop_on_signal;
using leat::sim::world;

task<> sleep_an_hour() { co_await leat::sleep_for(1h); }

task<> raise_after(world& w, leat::duration wait, int signal, bool& received) {
  co_await leat::sleep_for(wait);
  received = w.raise(signal);
}

TEST_CASE("world: a raised signal stops the group of its guard") {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    world w(seed, {.threads = 2, .preemption = 0.5});
    w.run([](world& in) -> task<> {
      task_group sleepers("sleepers"), others("others");
      const stop_on_signal guard(sleepers, {SIGTERM, SIGINT});
      bool received = false;
      sleepers.spawn(sleep_an_hour());
      sleepers.spawn_on(in.thread(1), sleep_an_hour());
      others.spawn_on(in.thread(1), raise_after(in, 5s, SIGTERM, received));
      co_await sleepers.join();
      co_await others.join();
      CHECK(received);
      CHECK(guard.signal() == SIGTERM);
      CHECK(in.now().time_since_epoch() == 5s);
    });
  }
}

LEAT_TEST("stop_on_signal: on a simulated scheduler it handles no real signal") {
  struct sigaction before{}, now{};
  ::sigaction(SIGUSR2, nullptr, &before);
  task_group group;
  const stop_on_signal guard(group, {SIGUSR2});
  ::sigaction(SIGUSR2, nullptr, &now);
  CHECK(now.sa_handler == before.sa_handler);
  CHECK(guard.signal() == 0);
  co_await group.join();
}

TEST_CASE("world: a signal without a guard, and a second one, are not received") {
  world w(1);
  w.run([](world& in) -> task<> {
    CHECK_FALSE(in.raise(SIGTERM));
    task_group one("one"), two("two");
    const stop_on_signal first(one, {SIGTERM}), second(two, {SIGTERM, SIGINT});
    CHECK_FALSE(in.raise(SIGHUP));
    CHECK(in.raise(SIGTERM));  // both guards receive it
    CHECK_FALSE(in.raise(SIGTERM));
    CHECK_FALSE(in.raise(SIGINT));
    one.spawn(sleep_an_hour());
    two.spawn(sleep_an_hour());
    co_await one.join();
    co_await two.join();
    CHECK(first.signal() == SIGTERM);
    CHECK(second.signal() == SIGTERM);
  });
  CHECK_FALSE(w.raise(SIGTERM));
}

TEST_CASE("world: a guard that is destroyed before its turn stops nothing") {
  world w(1);
  w.run([](world& in) -> task<> {
    task_group group("group");
    {
      const stop_on_signal guard(group);
      CHECK(in.raise(SIGINT));
    }
    CHECK_FALSE(in.raise(SIGINT));
    bool ended = false;
    group.spawn([](bool& out) -> task<> {
      co_await leat::sleep_for(1s);
      out = true;
    }(ended));
    co_await group.join();
    CHECK(ended);
  });
}

TEST_CASE("world: a signal reaches no guard of another world") {
  world outer(1), inner(2);
  outer.run([&inner](world& in) -> task<> {
    task_group group("group");
    const stop_on_signal guard(group);
    CHECK_FALSE(inner.raise(SIGTERM));
    CHECK(guard.signal() == 0);
    CHECK(in.raise(SIGTERM));
    co_await group.join();
  });
}

}  // namespace signals_test
