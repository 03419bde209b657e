#include "leat/async/scheduler/scheduler_driver.hpp"

#include <atomic>
#include <deque>
#include <functional>
#include <thread>

#include <sched.h>

#include "support/function_item.hpp"
#include "support/leat_test.hpp"

namespace scheduler_test {

using item = leat_test::function_item;
using leat::time_point;

/// A driver that runs nothing by itself and counts its requests.
class manual_scheduler final : public leat::scheduler_driver {
 public:
  [[nodiscard]] time_point now() const noexcept override { return now_; }
  void work_started() noexcept override {}
  void work_finished() noexcept override {}

  using scheduler_driver::expire_due;
  using scheduler_driver::has_remote_items;
  using scheduler_driver::run_ready;

  void drain() {
    while (run_ready(100)) {
    }
  }
  /// Runs an item that calls `f`, and then all that is ready.
  void run(std::function<void()> f) {
    item i(std::move(f));
    post(i);
    drain();
  }

  std::atomic<int> wakes{0};
  std::vector<time_point> armed;
  std::vector<time_point> expired;  // when its noting_timers expired
  time_point now_{};

 private:
  void wake() noexcept override { ++wakes; }
  void arm(time_point when) noexcept override { armed.push_back(when); }
};

/// Items that record their index when they run.
struct noting_items {
  explicit noting_items(int count) {
    for (int i = 0; i < count; ++i) items.emplace_back([this, i] { order.push_back(i); });
  }
  std::vector<int> order;
  std::deque<item> items;
};

time_point at(std::int64_t n) { return time_point{} + leat::duration(n); }

struct noting_timer : leat::timer {
  explicit noting_timer(manual_scheduler& s) noexcept
      : timer([](timer& t) noexcept {
          manual_scheduler& on = static_cast<noting_timer&>(t).sched;
          on.expired.push_back(on.now_);
        }),
        sched(s) {}
  manual_scheduler& sched;
};

TEST_CASE("scheduler: items run in the order in which they were posted") {
  manual_scheduler s;
  noting_items n(5);
  for (item& i : n.items) s.post(i);
  s.drain();
  CHECK(n.order == std::vector{0, 1, 2, 3, 4});
}

TEST_CASE("scheduler: an item never runs inside post, in a turn or outside") {
  manual_scheduler s;
  std::vector<int> order;
  item second([&] { order.push_back(2); });
  item first([&] {
    s.post(second);
    order.push_back(1);
  });
  s.post(first);
  CHECK(order.empty());
  s.drain();
  CHECK(order == std::vector{1, 2});
}

TEST_CASE("scheduler: an item may post itself again, and may be destroyed by its run") {
  manual_scheduler s;
  int runs = 0;
  auto* again = new item([] {});
  again->function = [&runs, &s, again] {
    if (++runs < 3) {
      s.post(*again);
    } else {
      const auto last = std::move(again->function);  // the running function outlives its item
      delete again;
    }
  };
  s.post(*again);
  s.drain();
  CHECK(runs == 3);
}

TEST_CASE("scheduler: current() returns it only during its turns") {
  manual_scheduler s;
  leat::scheduler* seen = nullptr;
  item i([&] { seen = leat::scheduler::current(); });
  s.post(i);
  CHECK(leat::scheduler::current() == nullptr);
  s.drain();
  CHECK(seen == &s);
  CHECK(leat::scheduler::current() == nullptr);
}

TEST_CASE("scheduler: a turn runs at most the given number of items") {
  manual_scheduler s;
  noting_items n(5);
  for (item& i : n.items) s.post(i);
  CHECK(s.run_ready(2));
  CHECK(n.order == std::vector{0, 1});
  CHECK(s.run_ready(2));
  CHECK_FALSE(s.run_ready(2));
  CHECK(n.order == std::vector{0, 1, 2, 3, 4});
}

TEST_CASE("scheduler: the driver is woken once for each burst") {
  manual_scheduler s;
  noting_items n(10);
  for (std::size_t i = 0; i < 5; ++i) s.post(n.items[i]);
  CHECK(s.wakes == 1);
  s.drain();
  for (std::size_t i = 5; i < 10; ++i) s.post(n.items[i]);
  CHECK(s.wakes == 2);
  s.drain();
  CHECK(n.order.size() == 10);
}

TEST_CASE("scheduler: a post within a turn does not wake the driver") {
  manual_scheduler s;
  noting_items n(3);
  s.run([&] {
    for (item& i : n.items) s.post(i);
  });
  CHECK(s.wakes == 1);
  CHECK(n.order.size() == 3);
}

TEST_CASE("scheduler: a post in the turn of another scheduler wakes the driver") {
  manual_scheduler a, b;
  int ran = 0;
  item there([&] { ++ran; });
  a.run([&] { b.post(there); });
  CHECK(b.wakes == 1);
  CHECK(ran == 0);
  b.drain();
  CHECK(ran == 1);
}

TEST_CASE("scheduler: items from other threads are not lost, duplicated or reordered") {
  constexpr int threads = 4;
  constexpr int each = 5000;
  manual_scheduler s;
  std::vector<std::vector<int>> seen(threads);
  std::vector<std::deque<item>> items(threads);
  for (std::size_t t = 0; t < threads; ++t) {
    for (int i = 0; i < each; ++i) items[t].emplace_back([&seen, t, i] { seen[t].push_back(i); });
  }
  std::atomic<int> posting{threads};
  std::vector<std::thread> posters;
  for (std::size_t t = 0; t < threads; ++t) {
    posters.emplace_back([&, t] {
      for (item& i : items[t]) s.post(i);
      --posting;
    });
  }
  // Runs only after a wake-up, as a driver does. A lost wake-up would leave items in the queue.
  int wakes = 0;
  for (bool more = false;;) {
    const bool last_look = posting == 0;
    if (const int w = s.wakes; w != wakes || more) {
      wakes = w;
      more = s.run_ready(64);
    } else if (last_look) {
      break;
    } else {
      std::this_thread::yield();
    }
  }
  for (std::thread& t : posters) t.join();
  for (const auto& order : seen) {
    REQUIRE(order.size() == each);
    for (int i = 0; i < each; ++i) REQUIRE(order[static_cast<std::size_t>(i)] == i);
  }
  CHECK_FALSE(s.has_remote_items());
}

// Returns the processors that this process may use.
std::vector<int> processors() {
  cpu_set_t set;
  std::vector<int> found;
  if (::sched_getaffinity(0, sizeof set, &set) != 0) return found;
  for (int id = 0; id < CPU_SETSIZE; ++id) {
    if (CPU_ISSET(static_cast<std::size_t>(id), &set)) found.push_back(id);
  }
  return found;
}

// Keeps the calling thread on one processor.
void run_on_processor(int id) {
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(static_cast<std::size_t>(id), &set);
  REQUIRE(::sched_setaffinity(0, sizeof set, &set) == 0);
}

// Runs a turn that may spin for minutes on `own`, after a wake-up by a thread on `other`. That
// thread posts a second item once the first one has run. Returns true if the turn ran both.
bool spins_for(int own, int other, manual_scheduler& s, item& second) {
  std::atomic<bool> may_post{false};
  std::atomic<bool> began{false};
  item first([&] { began = true; });
  std::thread poster([&] {
    run_on_processor(other);
    s.post(first);
    may_post = true;
    while (!began) std::this_thread::yield();
    s.post(second);
  });
  bool more = false;
  std::thread runner([&] {
    run_on_processor(own);
    while (!may_post) std::this_thread::yield();
    more = s.run_ready(2, 2'000'000'000);  // ends after two items, not after the spins
  });
  runner.join();
  poster.join();
  return more;
}

TEST_CASE("scheduler: a spinning turn runs items of other threads without a wake-up") {
  const std::vector<int> cpus = processors();
  if (cpus.size() < 2) return;
  manual_scheduler s;
  bool ran = false;
  item second([&] { ran = true; });
  CHECK(spins_for(cpus[0], cpus[1], s, second));
  CHECK(ran);
  CHECK(s.wakes == 1);
  s.drain();
}

TEST_CASE("scheduler: does not spin if its waker runs on the same processor") {
  const std::vector<int> cpus = processors();
  REQUIRE(!cpus.empty());
  bool has_spun = true;
  for (int i = 0; i < 5 && has_spun; ++i) {  // the waker may preempt the turn and post in time
    manual_scheduler s;
    item second([] {});
    has_spun = spins_for(cpus[0], cpus[0], s, second);
    s.drain();
  }
  CHECK_FALSE(has_spun);
}

TEST_CASE("scheduler: timers expire in order, in the turn after their time") {
  manual_scheduler s;
  noting_timer a(s), b(s);
  s.run([&] {
    s.add_timer(b, at(20));
    s.add_timer(a, at(10));
  });
  CHECK(s.expired.empty());
  REQUIRE(s.armed == std::vector{at(10)});
  s.now_ = at(10);
  s.drain();
  CHECK(s.expired == std::vector{at(10)});
  CHECK(s.armed.back() == at(20));
  s.now_ = at(30);
  s.drain();
  CHECK(s.expired == std::vector{at(10), at(30)});
}

TEST_CASE("scheduler: does not set the same driver time twice") {
  manual_scheduler s;
  noting_timer a(s), b(s);
  s.run([&] { s.add_timer(a, at(10)); });
  s.run([&] { s.add_timer(b, at(20)); });
  CHECK(s.armed == std::vector{at(10)});
  s.now_ = at(50);
  s.drain();
}

TEST_CASE("scheduler: a cancelled timer does not expire and updates the driver") {
  manual_scheduler s;
  noting_timer t(s);
  s.run([&] { s.add_timer(t, at(10)); });
  s.run([&] {
    CHECK(s.cancel_timer(t));
    CHECK_FALSE(s.cancel_timer(t));
  });
  s.now_ = at(50);
  s.drain();
  CHECK(s.expired.empty());
  CHECK(s.armed == std::vector{at(10), leat::no_deadline});
}

TEST_CASE("scheduler: updates the driver if timers expire in a turn that cancels a later one") {
  manual_scheduler s;
  noting_timer near(s), far(s);
  s.run([&] { s.add_timer(far, at(1000)); });
  s.run([&] {
    s.add_timer(near, at(10));
    s.now_ = at(10);
    s.expire_due();
    s.cancel_timer(far);
  });
  CHECK(s.expired == std::vector{at(10)});
  CHECK(s.armed == std::vector{at(1000), leat::no_deadline});
}

TEST_CASE("scheduler: a timer is armed again if the driver called for its time before it was set") {
  manual_scheduler s;
  noting_timer t(s);
  s.run([&] { s.add_timer(t, at(10)); });
  s.run([&] {
    s.cancel_timer(t);
    s.now_ = at(11);
    s.expire_due();
    s.add_timer(t, at(10));
  });
  CHECK(s.armed == std::vector{at(10), at(10)});
  s.drain();
  CHECK(s.expired == std::vector{at(11)});
}

TEST_CASE("scheduler: the time is constant within a turn") {
  manual_scheduler s;
  s.now_ = at(5);
  bool stood = false;
  s.run([&] {
    s.now_ = at(6);
    stood = s.turn_time() == at(5);
  });
  CHECK(stood);
}

/// A wait for the given scheduler that only counts its wake-ups.
struct noting_wait : leat::wait_operation {
  noting_wait(leat::scheduler& s, int& n) noexcept
      : wait_operation(nothing, std::source_location::current()), woken(n) {
    scheduler_ = &s;
    run_ = [](work_item& i) noexcept { ++static_cast<noting_wait&>(i).woken; };
  }
  static inline const kind nothing{"wait", [](wait_operation&) noexcept {},
                                   [](const wait_operation&, std::ostream&) {}};
  int& woken;
};

TEST_CASE("scheduler: wake_later wakes once for many waiters, at the end of the turn") {
  manual_scheduler here, there;
  int woken = 0;
  std::deque<noting_wait> waits;
  for (int i = 0; i < 10; ++i) waits.emplace_back(there, woken);
  int wakes_within = -1;
  here.run([&] {
    for (noting_wait& w : waits) here.wake_later(w);
    wakes_within = there.wakes;
  });
  CHECK(wakes_within == 0);
  CHECK(there.wakes == 1);
  there.drain();
  CHECK(woken == 10);
}

TEST_CASE("scheduler: wake_later collects a limited number of waiters") {
  manual_scheduler here, there;
  int woken = 0;
  std::deque<noting_wait> waits;
  for (int i = 0; i < 1000; ++i) waits.emplace_back(there, woken);
  bool delivered_some = false;
  here.run([&] {
    for (noting_wait& w : waits) here.wake_later(w);
    delivered_some = there.has_remote_items();
  });
  CHECK(delivered_some);
  there.drain();
  CHECK(woken == 1000);
}

TEST_CASE("scheduler: flush_wakeups delivers within the turn") {
  manual_scheduler here, there;
  int woken = 0;
  noting_wait w(there, woken);
  int wakes = 0;
  here.run([&] {
    here.wake_later(w);
    here.flush_wakeups();
    wakes = there.wakes;
  });
  there.drain();
  CHECK(wakes == 1);
  CHECK(woken == 1);
}

TEST_CASE("scheduler: a task's share of a turn is bounded") {
  manual_scheduler s;
  int first = 0;
  int second = 0;
  item a([&] {
    while (s.consume_budget()) ++first;
  });
  item b([&] {
    while (s.consume_budget()) ++second;
  });
  s.post(a);
  s.post(b);
  s.drain();
  CHECK(first > 0);
  CHECK(first < 10'000);
  CHECK(second == first);  // each item has its own budget
}

TEST_CASE("scheduler: running inside another scheduler ends the process") {
  const std::string said = leat_test::abort_message([] {
    manual_scheduler a, b;
    a.run([&] { b.run_ready(1); });
  });
  CHECK(contains(said, "run inside another one"));
}

TEST_CASE("scheduler: destruction with pending work ends the process") {
  const std::string said = leat_test::abort_message([] {
    item i([] {});
    manual_scheduler s;
    s.post(i);
  });
  CHECK(contains(said, "destroyed with pending work"));
}

}  // namespace scheduler_test
