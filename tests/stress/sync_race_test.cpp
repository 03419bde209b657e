// The primitives between the tasks of two runtimes and a thread, under short limits, stops and
// selects. Permits are conserved, a lock is held once, and no value and no wake-up is lost: a lost
// wake-up makes the test hang.

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <random>
#include <stop_token>
#include <thread>
#include <utility>
#include <vector>

#include <catch2/catch.hpp>

#include "leat/async.hpp"
#include "leat/base/error.hpp"
#include "leat/queue/fifo_queue.hpp"
#include "leat/sync.hpp"
#include "support/effort.hpp"

namespace sync_race_test {

using namespace std::chrono_literals;
using leat::task;
using leat::task_group;

int rounds() { return static_cast<int>(leat_test::from_environment("LEAT_RACE_ROUNDS", 20'000)); }

// A random pause of up to 40 us, without a distribution of the standard library.
std::chrono::nanoseconds pause(std::mt19937& random) {
  return std::chrono::nanoseconds(random() % 40'000);
}
void spin(std::chrono::nanoseconds time) {
  const auto until = std::chrono::steady_clock::now() + time;
  while (std::chrono::steady_clock::now() < until) {
  }
}

struct two_runtimes {
  leat::runtime first;
  leat::runtime second;
  leat::scheduler& operator[](int i) {
    return i % 2 == 0 ? first.get_scheduler() : second.get_scheduler();
  }
};

/// A thread that stops what tasks wait for, at random times.
class stopper {
 public:
  stopper() : thread_([this] { run(); }) {}
  ~stopper() {
    enough_ = true;
    thread_.join();
  }
  /// Returns a token that may be stopped soon.
  std::stop_token next() {
    std::stop_source source;
    const std::lock_guard lock(mutex_);
    sources_.push_back(source);
    return source.get_token();
  }

 private:
  void run() {
    std::mt19937 random(9);
    while (!enough_) {
      std::vector<std::stop_source> taken;
      {
        const std::lock_guard lock(mutex_);
        taken.swap(sources_);
      }
      for (auto& s : taken) {
        spin(pause(random) / 4);
        s.request_stop();
      }
      std::this_thread::yield();
    }
  }

  std::mutex mutex_;
  std::vector<std::stop_source> sources_;
  std::atomic<bool> enough_{false};
  std::thread thread_;
};

// -- Semaphore: the permits in use never exceed the number of permits.

struct permits {
  leat::semaphore s{3, "permits"};
  stopper stops;
  std::atomic<std::size_t> inside{0};
  std::atomic<bool> exceeded{false};
  std::atomic<int> served{0};
  std::atomic<int> ended{0};

  void enter(const leat::semaphore::guard& guard) {
    const std::size_t n = guard.count();
    if (inside.fetch_add(n) + n > 3) exceeded = true;
    ++served;
  }
  void leave(const leat::semaphore::guard& guard) { inside -= guard.count(); }
};
task<> acquire_and_release(permits& p, unsigned seed) {
  std::mt19937 random(seed);
  for (int i = 0; i < rounds() / 4; ++i) {
    const std::size_t n = 1 + random() % 3;
    leat::semaphore::guard guard;
    switch (random() % 4) {
      case 0: {
        guard = co_await p.s.acquire(n);
        break;
      }
      case 1: {
        auto [ec, g] = co_await leat::as_tuple(leat::with_timeout(p.s.acquire(n), pause(random)));
        guard = std::move(g);
        break;
      }
      case 2: {
        auto [ec, g] = co_await leat::as_tuple(leat::with_stop(p.s.acquire(n), p.stops.next()));
        guard = std::move(g);
        break;
      }
      default: {
        auto done = co_await leat::select(p.s.acquire(n), leat::sleep_for(pause(random)));
        if (done.index() == 0) guard = std::get<0>(std::move(done));
      }
    }
    if (!guard) {
      ++p.ended;
      continue;
    }
    p.enter(guard);
    if (random() % 4 == 0) co_await leat::sleep_for(pause(random) / 4);
    p.leave(guard);
  }
}
TEST_CASE("semaphore: limits, stops and selects on two runtimes lose no permit", "[stress]") {
  permits p;
  two_runtimes runtimes;
  task_group group;
  for (int i = 0; i < 4; ++i) {
    group.spawn_on(runtimes[i], acquire_and_release(p, static_cast<unsigned>(i)));
  }
  std::mt19937 random(7);
  for (int i = 0; i < rounds() / 4; ++i) {
    try {
      const auto guard = leat::block_on(p.s.acquire(1 + random() % 3), pause(random));
      p.enter(guard);
      spin(pause(random) / 20);
      p.leave(guard);
    } catch (const leat::failure&) {
      ++p.ended;
    }
  }
  leat::block_on(group.join());
  CHECK_FALSE(p.exceeded);
  CHECK(p.s.available() == 3);
  CHECK(p.served > 0);
  CHECK(p.ended > 0);
}

// -- Mutexes: plain variables are safe under the lock.

struct locked_counts {
  leat::mutex mutex{"mutex"};
  leat::shared_mutex shared{"shared"};
  int under_mutex = 0;
  int under_shared = 0;
  std::atomic<int> locked_mutex{0};
  std::atomic<int> locked_shared{0};
  std::atomic<int> torn{0};
};
task<> lock_and_count(locked_counts& c, unsigned seed) {
  std::mt19937 random(seed);
  for (int i = 0; i < rounds() / 4; ++i) {
    switch (random() % 4) {
      case 0: {
        const auto lock = co_await c.mutex.lock();
        const int before = c.under_mutex;
        if (random() % 4 == 0) co_await leat::this_task::yield();
        c.under_mutex = before + 1;
        ++c.locked_mutex;
        break;
      }
      case 1: {
        auto [ec, lock] =
            co_await leat::as_tuple(leat::with_timeout(c.mutex.lock(), pause(random) / 4));
        if (ec) break;
        ++c.under_mutex;
        ++c.locked_mutex;
        break;
      }
      case 2: {
        const auto lock = co_await c.shared.lock_shared();
        const int before = c.under_shared;
        co_await leat::this_task::yield();
        if (c.under_shared != before) ++c.torn;
        break;
      }
      default: {
        const auto done = co_await leat::select(c.shared.lock(), c.mutex.lock());
        if (done.index() == 0) {
          ++c.under_shared;
          ++c.locked_shared;
        } else {
          ++c.under_mutex;
          ++c.locked_mutex;
        }
      }
    }
  }
}
TEST_CASE("mutex: one task of two runtimes holds it at a time", "[stress]") {
  locked_counts c;
  two_runtimes runtimes;
  task_group group;
  for (int i = 0; i < 4; ++i) {
    group.spawn_on(runtimes[i], lock_and_count(c, static_cast<unsigned>(i)));
  }
  for (int i = 0; i < rounds() / 4; ++i) {
    const auto lock = leat::block_on(c.mutex.lock());
    ++c.under_mutex;
    ++c.locked_mutex;
  }
  leat::block_on(group.join());
  CHECK(c.under_mutex == c.locked_mutex);
  CHECK(c.under_shared == c.locked_shared);
  CHECK(c.torn == 0);
  CHECK_FALSE(c.mutex.is_locked());
  const auto alone = c.shared.try_lock();
  CHECK(alone);
}

// -- Broadcast: every receiver gets all values of each sender in order.

struct item {
  int sender;
  int number;
};
using channel = leat::broadcast<item>;

task<> send_all(channel& c, int sender, bool limited) {
  std::mt19937 random(static_cast<unsigned>(sender));
  for (int n = 0; n < rounds() / 2;) {
    if (limited && random() % 2 == 0) {
      auto [ec, sent] =
          co_await leat::as_tuple(leat::with_timeout(c.send({sender, n}), pause(random) / 4));
      n += sent ? 1 : 0;
    } else {
      co_await c.send({sender, n});
      ++n;
    }
  }
}
task<> receive_all(channel::receiver& r, bool limited, int& received, int& errors) {
  std::mt19937 random(5);
  int next[2] = {0, 0};
  for (;;) {
    std::optional<channel::item> value;
    if (limited && random() % 2 == 0) {
      auto [ec, i] = co_await leat::as_tuple(leat::with_timeout(r.next(), pause(random) / 4));
      if (ec) continue;
      value = std::move(i);
    } else {
      value = co_await r.next();
    }
    if (!value) co_return;
    ++received;
    errors += value->missed != 0 || value->value.number != next[value->value.sender] ? 1 : 0;
    next[value->value.sender] = value->value.number + 1;
  }
}
task<> join_and_leave(channel& c) {
  std::mt19937 random(6);
  for (int i = 0; i < rounds() / 20; ++i) {
    auto r = c.subscribe();
    for (auto n = random() % 5; n > 0; --n) {
      static_cast<void>(co_await leat::as_tuple(leat::with_timeout(r.next(), pause(random) / 4)));
    }
  }
}
void race_on_broadcast(bool limited) {
  channel c(2, leat::lag_policy::wait, "room");
  two_runtimes runtimes;
  auto first = c.subscribe("first");
  auto second = c.subscribe("second");
  int received[2] = {0, 0};
  int errors[2] = {0, 0};
  task_group receivers;
  task_group senders;
  receivers.spawn_on(runtimes[0], receive_all(first, limited, received[0], errors[0]));
  receivers.spawn_on(runtimes[1], receive_all(second, limited, received[1], errors[1]));
  senders.spawn_on(runtimes[0], send_all(c, 0, limited));
  senders.spawn_on(runtimes[1], send_all(c, 1, limited));
  if (limited) senders.spawn_on(runtimes[1], join_and_leave(c));
  leat::block_on(senders.join());
  c.close();
  leat::block_on(receivers.join());
  for (int i = 0; i < 2; ++i) {
    CHECK(received[i] == rounds() / 2 * 2);
    CHECK(errors[i] == 0);
  }
}
TEST_CASE("broadcast: no value and no wake-up is lost between two runtimes", "[stress]") {
  race_on_broadcast(false);
  race_on_broadcast(true);
}

task<> overwrite(channel& c) {
  for (int n = 0; n < rounds(); ++n) {
    co_await c.send({0, n});
    if (n % 7 == 0) co_await leat::sleep_for(1us);
  }
}
task<> count_missed(channel::receiver& r, int& total) {
  while (auto i = co_await r.next()) total += 1 + static_cast<int>(i->missed);
}
TEST_CASE("broadcast: the values received and missed add up on two runtimes", "[stress]") {
  channel c(4, "room");
  two_runtimes runtimes;
  auto first = c.subscribe();
  auto second = c.subscribe();
  int totals[2] = {0, 0};
  task_group group;
  group.spawn_on(runtimes[0], count_missed(first, totals[0]));
  group.spawn_on(runtimes[1], count_missed(second, totals[1]));
  task_group sender;
  sender.spawn_on(runtimes[0], overwrite(c));
  leat::block_on(sender.join());
  c.close();
  leat::block_on(group.join());
  CHECK(totals[0] == rounds());
  CHECK(totals[1] == rounds());
}

// -- Oneshot: a value that was sent is received or destroyed with the channel.

struct value {
  explicit value(std::atomic<int>& l, int n) noexcept : live(&l), number(n) { ++*live; }
  value(value&& o) noexcept : live(o.live), number(o.number) { ++*live; }
  value& operator=(value&&) = delete;
  ~value() { --*live; }
  std::atomic<int>* live;
  int number;
};
using reply = leat::oneshot<value>;
struct request {
  reply::sender sender;
  int number = 0;
};
task<> answer(leat::fifo_queue<request>& requests, std::atomic<int>& live, int& sent) {
  std::mt19937 random(1);
  while (auto r = co_await requests.pop()) {
    if (random() % 4 == 0) spin(pause(random) / 4);
    if (random() % 8 == 0) continue;  // the sender leaves without a value
    if (random() % 8 == 0) {
      static_cast<void>(
          co_await leat::as_tuple(leat::with_timeout(r->sender.closed(), pause(random) / 4)));
    }
    sent += r->sender.send(value(live, r->number)) ? 1 : 0;
  }
}
task<> ask(leat::fifo_queue<request>& requests, int& received, int& errors) {
  std::mt19937 random(2);
  for (int i = 0; i < rounds(); ++i) {
    reply ends;
    request r{std::move(ends.tx), i};
    co_await requests.push(std::move(r));
    std::optional<value> v;
    const auto how = random() % 3;
    if (how > 0) {
      auto [ec, got] =
          co_await leat::as_tuple(leat::with_timeout(ends.rx.receive(), pause(random) / 4));
      if (!ec && got) v.emplace(std::move(*got));
      if (ec && how == 1) continue;
      if (!ec && !got) continue;
    }
    if (!v) {
      auto got = co_await ends.rx.receive();
      if (got) v.emplace(std::move(*got));
    }
    if (!v) continue;
    ++received;
    errors += v->number != i ? 1 : 0;
  }
  requests.close();
}
TEST_CASE("oneshot: no value is lost or received twice between two runtimes", "[stress]") {
  leat::fifo_queue<request> requests(2, "requests");
  two_runtimes runtimes;
  std::atomic<int> live{0};
  int sent = 0;
  int received = 0;
  int errors = 0;
  task_group group;
  group.spawn_on(runtimes[0], ask(requests, received, errors));
  group.spawn_on(runtimes[1], answer(requests, live, sent));
  leat::block_on(group.join());
  CHECK(live == 0);
  CHECK(errors == 0);
  CHECK(received > 0);
  CHECK(received <= sent);  // some receivers left after the value was sent
}

// -- Watch and event: no change and no set is missed.

task<> raise_in_turns(leat::watch<int>& w, int first) {
  for (int n = first; n < rounds(); n += 2) {
    co_await w.wait_until([n](int current) { return current >= n; });
    w.modify([](int& current) { ++current; });
  }
}
task<> follow(leat::watch<int>& w, int& errors, int& last) {
  std::mt19937 random(3);
  auto seen = w.current();
  for (;;) {
    auto [ec, next] =
        co_await leat::as_tuple(leat::with_timeout(w.changed(seen.version), pause(random) / 4));
    if (ec) continue;
    if (!next) break;
    errors += next->version <= seen.version || next->value != static_cast<int>(next->version);
    seen = *next;
  }
  last = seen.value;
}
TEST_CASE("watch: no change is missed between two runtimes", "[stress]") {
  leat::watch<int> w(0, "turn");
  two_runtimes runtimes;
  int errors = 0;
  int last = 0;
  task_group group;
  task_group follower;
  follower.spawn_on(runtimes[0], follow(w, errors, last));
  group.spawn_on(runtimes[0], raise_in_turns(w, 0));
  group.spawn_on(runtimes[1], raise_in_turns(w, 1));
  leat::block_on(group.join());
  w.close();
  leat::block_on(follower.join());
  CHECK(w.get() == rounds());
  CHECK(last == rounds());
  CHECK(errors == 0);
}

task<> set_each(leat::fifo_queue<leat::event*>& events) {
  while (auto e = co_await events.pop()) (*e)->set();
}
task<> wait_for_each(leat::fifo_queue<leat::event*>& events) {
  std::mt19937 random(4);
  for (int i = 0; i < rounds(); ++i) {
    const auto e = std::make_unique<leat::event>();
    co_await events.push(e.get());
    bool waits = random() % 2 == 0;
    while (waits) {
      const auto [ec] = co_await leat::as_tuple(leat::with_timeout(e->wait(), pause(random) / 4));
      if (!ec) break;
      waits = random() % 2 == 0;
    }
    if (!waits) co_await e->wait();
  }
  events.close();
}
TEST_CASE("event: no set is missed between two runtimes", "[stress]") {
  leat::fifo_queue<leat::event*> events(2, "events");
  two_runtimes runtimes;
  task_group group;
  group.spawn_on(runtimes[0], wait_for_each(events));
  group.spawn_on(runtimes[1], set_each(events));
  leat::block_on(group.join());
  SUCCEED();
}

}  // namespace sync_race_test
