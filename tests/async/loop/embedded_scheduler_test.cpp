#include "leat/async/loop/embedded_scheduler.hpp"

#include <atomic>
#include <deque>
#include <filesystem>
#include <sstream>
#include <sys/epoll.h>
#include <thread>
#include <unistd.h>

#include "base/internal/system_call.hpp"
#include "support/descriptors.hpp"
#include "support/function_item.hpp"
#include "support/leat_test.hpp"

namespace embedded_scheduler_test {

using item = leat_test::function_item;
using leat::embedded_scheduler;
using leat_test::loop_until_idle;
using leat_test::readable;

// Items that count their runs.
struct counting_items {
  counting_items(embedded_scheduler& s, int count) {
    for (int i = 0; i < count; ++i) items.emplace_back([this] { ++runs; });
    for (item& i : items) s.post(i);
  }
  int runs = 0;
  std::deque<item> items;
};

// An epoll descriptor that watches the scheduler with edge triggering.
class edges {
 public:
  explicit edges(const embedded_scheduler& s) : epoll_(::epoll_create1(EPOLL_CLOEXEC)) {
    epoll_event event{};
    event.events = EPOLLIN | EPOLLET;
    REQUIRE(::epoll_ctl(epoll_, EPOLL_CTL_ADD, s.descriptor(), &event) == 0);
  }
  edges(const edges&) = delete;
  edges& operator=(const edges&) = delete;
  ~edges() { ::close(epoll_); }

  [[nodiscard]] bool next(int milliseconds = 0) const {
    epoll_event event{};
    const auto wait = [&] { return ::epoll_wait(epoll_, &event, 1, milliseconds); };
    return leat::detail::retry_on_eintr(wait) == 1;
  }

 private:
  int epoll_;
};

task<> sleep(leat::duration d) { co_await leat::sleep_for(d); }

// ---- When the descriptor is readable.

TEST_CASE("embedded_scheduler: without work it is idle and not readable") {
  embedded_scheduler s;
  CHECK(s.idle());
  CHECK_FALSE(readable(s));
  const embedded_scheduler::turn turn = s.run_ready();
  CHECK_FALSE(turn.more);
  CHECK(turn.next == leat::no_deadline);
  CHECK(s.idle());
  CHECK_FALSE(readable(s));
}

TEST_CASE("embedded_scheduler: is readable from a post until the end of the turn that runs it") {
  embedded_scheduler s;
  for (int round = 0; round < 3; ++round) {
    counting_items posted(s, 3);
    CHECK(readable(s));
    CHECK_FALSE(s.idle());
    CHECK_FALSE(s.run_ready().more);
    CHECK(posted.runs == 3);
    CHECK_FALSE(readable(s));
    CHECK(s.idle());
  }
}

TEST_CASE("embedded_scheduler: items posted in a turn run in it and leave nothing readable") {
  embedded_scheduler s;
  bool ran = false;
  item second([&] { ran = true; });
  item first([&] { s.post(second); });
  s.post(first);
  CHECK_FALSE(s.run_ready().more);
  CHECK(ran);
  CHECK_FALSE(readable(s));
}

TEST_CASE("embedded_scheduler: a post on another thread makes it readable") {
  embedded_scheduler s;
  bool ran = false;
  item i([&] { ran = true; });
  std::thread other([&] { s.post(i); });
  CHECK(readable(s, 30'000));
  other.join();
  s.run_ready();
  CHECK(ran);
  CHECK_FALSE(readable(s));
}

TEST_CASE("embedded_scheduler: a burst of posts is one write") {
  embedded_scheduler s;
  const std::uint64_t before = leat_test::eventfd_writes();
  counting_items burst(s, 100);
  CHECK(leat_test::eventfd_writes() == before + 1);
  s.run_ready();
  CHECK(burst.runs == 100);
  CHECK(leat_test::eventfd_writes() == before + 1);
}

TEST_CASE("embedded_scheduler: becomes readable when a timer is due") {
  embedded_scheduler s;
  task_group group;
  group.spawn_on(s, sleep(1h), "long");
  const embedded_scheduler::turn first = s.run_ready();
  CHECK(first.next > s.now() + 50min);
  CHECK(first.next < s.now() + 70min);
  CHECK_FALSE(readable(s));
  CHECK_FALSE(s.idle());

  bool done = false;
  group.spawn_on(s, [](bool& d) -> task<> {
    co_await leat::sleep_for(2ms);
    d = true;
  }(done));
  const embedded_scheduler::turn second = s.run_ready();
  CHECK(second.next < first.next);
  CHECK(readable(s, 30'000));
  CHECK(s.run_ready().next == first.next);
  CHECK(done);
  CHECK_FALSE(readable(s));

  group.request_stop();
  CHECK(readable(s));
  CHECK(s.run_ready().next == leat::no_deadline);
  CHECK(s.idle());
  CHECK_FALSE(readable(s));
}

TEST_CASE("embedded_scheduler: after its last timer it is not readable") {
  embedded_scheduler s;
  task_group group;
  group.spawn_on(s, sleep(1ms));
  s.run_ready();
  REQUIRE(readable(s, 30'000));
  s.run_ready();
  CHECK(s.idle());
  CHECK_FALSE(readable(s));
}

TEST_CASE("embedded_scheduler: runs a thousand timers in order") {
  embedded_scheduler s;
  task_group group;
  int woken = 0;
  for (int i = 0; i < 10; ++i) {
    group.spawn_on(s, [](int start, int& n) -> task<> {
      for (int k = 0; k < 100; ++k, ++n) co_await leat::sleep_for(1us * ((start + k) % 13));
    }(i, woken));
  }
  loop_until_idle(s);
  CHECK(woken == 1000);
}

// ---- Edges.

TEST_CASE("embedded_scheduler: with edge triggering, one call per event is enough") {
  embedded_scheduler s;
  const edges watched(s);
  CHECK_FALSE(watched.next());
  counting_items posted(s, 5);
  for (int n = 1; n <= 5; ++n) {
    REQUIRE(watched.next());
    s.run_ready(1);
    CHECK(posted.runs == n);
  }
  while (watched.next()) CHECK_FALSE(s.run_ready(1).more);  // the last turn finds no item
  CHECK(s.idle());
  counting_items again(s, 1);
  CHECK(watched.next());
  s.run_ready();
  CHECK_FALSE(watched.next());
}

TEST_CASE("embedded_scheduler: every timer triggers an edge") {
  embedded_scheduler s;
  const edges watched(s);
  task_group group;
  int woken = 0;
  group.spawn_on(s, [](int& n) -> task<> {
    for (; n < 20; ++n) co_await leat::sleep_for(100us);
  }(woken));
  while (!s.idle()) {
    REQUIRE(watched.next(30'000));
    s.run_ready();
  }
  CHECK(woken == 20);
}

TEST_CASE("embedded_scheduler: no wake-up of other threads is lost") {
  constexpr int threads = 3;
  constexpr int each = 10'000;
  embedded_scheduler s;
  const edges watched(s);
  std::vector<std::deque<item>> items(threads);
  int runs = 0;
  for (auto& list : items) {
    for (int i = 0; i < each; ++i) list.emplace_back([&runs] { ++runs; });
  }
  std::vector<std::thread> posters;
  for (auto& list : items) {
    posters.emplace_back([&s, &list] {
      for (item& i : list) s.post(i);
    });
  }
  while (runs < threads * each) {
    if (!watched.next(30'000)) break;
    s.run_ready(64);
  }
  for (std::thread& t : posters) t.join();
  CHECK(runs == threads * each);
  while (s.run_ready().more) {
  }
}

// ---- The limits of a turn.

TEST_CASE("embedded_scheduler: run_ready(n) runs at most n items and leaves the rest") {
  embedded_scheduler s;
  counting_items posted(s, 10);
  CHECK(s.run_ready(4).more);
  CHECK(posted.runs == 4);
  CHECK(readable(s));
  CHECK_FALSE(s.idle());
  CHECK(s.run_ready(4).more);
  CHECK_FALSE(s.run_ready(4).more);
  CHECK(posted.runs == 10);
  CHECK_FALSE(readable(s));
}

TEST_CASE("embedded_scheduler: a turn ends at its time limit") {
  embedded_scheduler s;
  int runs = 0;
  std::deque<item> items;
  for (int i = 0; i < 12; ++i) {
    items.emplace_back([&] {
      const leat::time_point end = s.now() + 1ms;
      while (s.now() < end) {
      }
      ++runs;
    });
    s.post(items.back());
  }
  CHECK(s.run_ready(100, 1ms).more);
  CHECK(runs == 4);  // the turn reads the clock after four items
  CHECK(readable(s));
  CHECK(s.run_ready(100, leat::duration::zero()).more);
  CHECK(runs == 8);  // a turn runs four items even without time
  CHECK_FALSE(s.run_ready(100, 1h).more);
  CHECK(runs == 12);
  CHECK_FALSE(readable(s));
}

TEST_CASE("embedded_scheduler: is idle if the last item exceeds the time limit") {
  embedded_scheduler s;
  counting_items posted(s, 4);
  CHECK_FALSE(s.run_ready(100, leat::duration::zero()).more);
  CHECK(posted.runs == 4);
}

TEST_CASE("embedded_scheduler: a task that never waits does not block the loop") {
  embedded_scheduler s;
  bool end = false;
  task_group group;
  group.spawn_on(s, [](const bool& e) -> task<> {
    while (!e) co_await leat::this_task::yield();
  }(end));
  for (int i = 0; i < 5; ++i) CHECK(s.run_ready(10).more);
  end = true;
  loop_until_idle(s);
}

// ---- Operations on the scheduler.

TEST_CASE("embedded_scheduler: runs tasks and nested groups, and passes on an error") {
  embedded_scheduler s;
  task_group group;
  group.spawn_on(s, []() -> task<> {
    co_await leat::with_task_group([](task_group& g) -> task<> {
      g.spawn(sleep(1h));
      g.spawn([]() -> task<> {
        co_await leat::sleep_for(1ms);
        throw leat::failure(errc::data_loss, "broken");
      }());
      co_return;
    });
  }());
  loop_until_idle(s);
  CHECK_THROWS_WITH(leat::block_on(group.join()), Catch::Contains("broken"));
}

TEST_CASE("embedded_scheduler: a stop from another thread cancels waits") {
  embedded_scheduler s;
  task_group group;
  for (int i = 0; i < 10; ++i) group.spawn_on(s, sleep(1h));
  s.run_ready();
  CHECK_FALSE(readable(s));
  std::thread other([&] { group.request_stop(); });
  loop_until_idle(s);
  other.join();
  CHECK(group.live_tasks() == 0);
}

TEST_CASE("embedded_scheduler: a dump shows where its tasks wait") {
  embedded_scheduler s;
  task_group group("embedded");
  group.spawn_on(s, sleep(1h), "sleeper");
  s.run_ready();
  std::ostringstream out;
  std::atomic<bool> done{false};
  std::thread other([&] {
    leat::dump(out, 30s);
    done = true;
  });
  while (!done) s.run_ready();
  other.join();
  CHECK(contains(out.str(), "task group 'embedded', 1 task"));
  CHECK(contains(out.str(), "sleeper: sleep"));
  group.request_stop();
  loop_until_idle(s);
}

TEST_CASE("embedded_scheduler: the loop may move from thread to thread") {
  embedded_scheduler s;
  task_group group;
  int steps = 0;
  group.spawn_on(s, [](int& n) -> task<> {
    for (; n < 40; ++n) co_await leat::this_task::yield();
  }(steps));
  while (!s.idle()) std::thread([&] { s.run_ready(1); }).join();
  CHECK(steps == 40);
}

TEST_CASE("embedded_scheduler: starts no thread") {
  const auto threads = [] {
    const std::filesystem::directory_iterator all("/proc/self/task");
    return std::distance(begin(all), end(all));
  };
  const auto before = threads();
  embedded_scheduler s;
  task_group group;
  group.spawn_on(s, sleep(1ms));
  loop_until_idle(s);
  CHECK(threads() == before);
}

TEST_CASE("embedded_scheduler: two on one thread exchange work") {
  embedded_scheduler a, b;
  int runs = 0;
  std::optional<item> back;
  item there([&] { a.post(*back); });
  back.emplace([&] {
    if (++runs < 5) b.post(there);
  });
  b.post(there);
  while (readable(a) || readable(b)) {
    a.run_ready();
    b.run_ready();
  }
  CHECK(runs == 5);
}

}  // namespace embedded_scheduler_test
