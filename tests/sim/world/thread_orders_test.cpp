// Small programs with a race, on two real threads and in simulated worlds: a world shows every
// outcome that threads show.

#include <functional>
#include <set>
#include <stop_token>

#include "leat/queue/fifo_queue.hpp"
#include "leat/sim/world/world.hpp"
#include "leat/sync.hpp"
#include "support/leat_test.hpp"

namespace thread_orders_test {

using leat::scheduler;
using outcomes = std::set<std::string>;
using item_queue = leat::fifo_queue<int>;

// A program whose tasks run on two schedulers. Returns its outcome.
using program = std::function<task<std::string>(scheduler& a, scheduler& b)>;

// The time at which two events race. It is short, so that threads show both orders.
constexpr auto at = 20us;

std::string text_of(std::error_code ec) {
  if (!ec) return "done";
  if (ec == errc::deadline_exceeded) return "late";
  return ec == errc::cancelled ? "cancelled" : ec.message();
}

outcomes in_worlds(const program& p) {
  outcomes all;
  for (std::uint64_t seed = 1; seed <= 400; ++seed) {
    leat::sim::run(seed,
                   [&](leat::sim::world& w) -> task<> {
                     auto outcome = co_await p(w.thread(0), w.thread(1));
                     all.insert(std::move(outcome));
                   },
                   {.threads = 2, .preemption = 0.3});
  }
  return all;
}

outcomes on_threads(const program& p) {
  leat::runtime runtime({.threads = 2});
  outcomes all;
  for (int i = 0; i < 400; ++i) {
    all.insert(leat::block_on(p(runtime.get_scheduler(0), runtime.get_scheduler(1))));
  }
  return all;
}

void compare(const program& p, const outcomes& expected) {
  CHECK(in_worlds(p) == expected);
  for (const std::string& outcome : on_threads(p)) {
    INFO("threads: " << outcome);
    CHECK(expected.contains(outcome));
  }
}

// Runs a function after the time of the race.
template <class F>
task<> later(F f) {
  co_await leat::sleep_for(at);
  f();
}

// Takes as long as a step of a real program: less than the time of the race. No time passes in a
// world.
void take_time() {
  const auto begin = std::chrono::steady_clock::now();
  while (std::chrono::steady_clock::now() < begin + at / 2) {
  }
}

// Runs two tasks, one on each scheduler.
task<> run_both(scheduler& a, task<> first, scheduler& b, task<> second) {
  task_group group;
  group.spawn_on(a, std::move(first));
  group.spawn_on(b, std::move(second));
  co_await group.join();
}

TEST_CASE("orders: a push and the limit of a pop") {
  const program p = [](scheduler& a, scheduler& b) -> task<std::string> {
    item_queue q(1, "q");
    std::string outcome;
    const auto pop = [&]() -> task<> {
      const auto [ec, item] = co_await leat::as_tuple(leat::with_timeout(q.pop(), at));
      outcome = text_of(ec);
    };
    co_await run_both(a, pop(), b, later([&] { CHECK(q.try_push(1)); }));
    co_return outcome + ", " + std::to_string(q.size()) + " left";
  };
  compare(p, {"done, 0 left", "late, 1 left"});
}

TEST_CASE("orders: a push and the limit of a task that pops twice") {
  const program p = [](scheduler& a, scheduler& b) -> task<std::string> {
    item_queue q(1, "q"), full(1, "full");
    CHECK(full.try_push(2));
    std::string outcome;
    const auto pop = [&]() -> task<int> {
      const auto item = co_await q.pop();
      const auto [ec, next] = co_await leat::as_tuple(full.pop());
      co_return ec ? -*item : *item;
    };
    const auto limit = [&]() -> task<> {
      const auto [ec, item] = co_await leat::as_tuple(leat::with_timeout(pop(), at));
      outcome = text_of(ec) + " " + std::to_string(item);
    };
    co_await run_both(a, limit(), b, later([&] { CHECK(q.try_push(1)); }));
    co_return outcome + ", " + std::to_string(q.size()) + " left";
  };
  compare(p, {"done 1, 0 left", "done -1, 0 left", "late 0, 1 left"});
}

TEST_CASE("orders: the release of a semaphore and a stop") {
  const program p = [](scheduler& a, scheduler& b) -> task<std::string> {
    leat::semaphore s(0, 1, "s");
    std::string outcome;
    task_group waiters, others;
    const auto acquire = [&]() -> task<> {
      auto [ec, permit] = co_await leat::as_tuple(s.acquire());
      if (!ec) permit.forget();
      outcome = text_of(ec);
    };
    waiters.spawn_on(a, acquire());
    others.spawn_on(b, later([&] { s.release(); }));
    others.spawn_on(a, later([&] { waiters.request_stop(); }));
    co_await others.join();
    co_await leat::as_tuple(waiters.join());
    co_return outcome + ", " + std::to_string(s.available()) + " free";
  };
  compare(p, {"done, 0 free", "cancelled, 1 free"});
}

TEST_CASE("orders: a select of two queues") {
  const program p = [](scheduler& a, scheduler& b) -> task<std::string> {
    item_queue one(1, "one"), two(1, "two");
    std::string outcome;
    task_group group;
    const auto select = [&]() -> task<> {
      const auto done = co_await leat::select(one.pop(), two.pop());
      outcome = std::to_string(done.index());
    };
    group.spawn_on(a, select());
    group.spawn_on(a, later([&] { CHECK(one.try_push(1)); }));
    group.spawn_on(b, later([&] { CHECK(two.try_push(2)); }));
    co_await group.join();
    co_return outcome + ", " + std::to_string(one.size()) + std::to_string(two.size()) + " left";
  };
  compare(p, {"0, 01 left", "1, 10 left"});
}

TEST_CASE("orders: two pops and two pushes") {
  const program p = [](scheduler& a, scheduler& b) -> task<std::string> {
    item_queue q(2, "q");
    int first = 0, second = 0;
    task_group group;
    const auto pop = [&](int& into) -> task<> { into = (co_await q.pop()).value(); };
    group.spawn_on(a, pop(first));
    group.spawn_on(b, pop(second));
    group.spawn_on(a, later([&] { CHECK(q.try_push(1)); }));
    group.spawn_on(b, later([&] { CHECK(q.try_push(2)); }));
    co_await group.join();
    co_return std::to_string(first) + std::to_string(second);
  };
  compare(p, {"12", "21"});
}

TEST_CASE("orders: a push and a close") {
  const program p = [](scheduler& a, scheduler& b) -> task<std::string> {
    item_queue q(1, "q");
    bool pushed = false;
    co_await run_both(a, later([&] { pushed = q.try_push(1); }), b, later([&] { q.close(); }));
    co_return std::string(pushed ? "pushed" : "closed") + ", " + std::to_string(q.size());
  };
  compare(p, {"pushed, 1", "closed, 0"});
}

TEST_CASE("orders: a message and the limit of its receiver") {
  const program p = [](scheduler& a, scheduler& b) -> task<std::string> {
    leat::oneshot<int> reply("reply");
    std::string outcome;
    bool sent = false;
    const auto receive = [&]() -> task<> {
      auto rx = std::move(reply.rx);
      const auto [ec, value] = co_await leat::as_tuple(leat::with_timeout(rx.receive(), at));
      outcome = text_of(ec);
    };
    co_await run_both(a, receive(), b, later([&] { sent = reply.tx.send(1); }));
    co_return outcome + (sent ? ", sent" : ", not sent");
  };
  // The receiver may also leave after the message was sent, without having received it.
  compare(p, {"done, sent", "late, sent", "late, not sent"});
}

TEST_CASE("orders: an event and a stop through a token") {
  const program p = [](scheduler& a, scheduler& b) -> task<std::string> {
    leat::event ready("ready");
    std::stop_source source;
    std::string outcome;
    task_group group;
    const auto wait = [&]() -> task<> {
      const auto [ec] = co_await leat::as_tuple(leat::with_stop(ready.wait(), source.get_token()));
      outcome = text_of(ec);
    };
    group.spawn_on(a, wait());
    group.spawn_on(a, later([&] { ready.set(); }));
    group.spawn_on(b, later([&] { source.request_stop(); }));
    co_await group.join();
    co_return outcome;
  };
  compare(p, {"done", "cancelled"});
}

TEST_CASE("orders: a sleep and a stop") {
  const program p = [](scheduler& a, scheduler& b) -> task<std::string> {
    std::string outcome;
    task_group sleepers;
    const auto sleep = [&]() -> task<> {
      const auto [ec] = co_await leat::as_tuple(leat::sleep_for(at));
      outcome = text_of(ec);
    };
    sleepers.spawn_on(a, sleep());
    task_group others;
    others.spawn_on(b, later([&] { sleepers.request_stop(); }));
    co_await others.join();
    co_await leat::as_tuple(sleepers.join());
    co_return outcome;
  };
  compare(p, {"done", "cancelled"});
}

TEST_CASE("orders: the first of two tasks") {
  const program p = [](scheduler& a, scheduler& b) -> task<std::string> {
    item_queue q(2, "q");
    std::string outcome;
    const auto note = [&](int which) -> task<> {
      co_await leat::sleep_for(at);
      CHECK(q.try_push(which));
    };
    co_await run_both(a, note(1), b, note(2));
    while (const auto which = q.try_pop()) outcome += std::to_string(*which);
    co_return outcome;
  };
  compare(p, {"12", "21"});
}

TEST_CASE("orders: a lock and its limit") {
  const program p = [](scheduler& a, scheduler& b) -> task<std::string> {
    leat::mutex m("m");
    std::string outcome;
    const auto hold = [&]() -> task<> {
      auto held = co_await m.lock();
      co_await leat::sleep_for(at);
    };
    const auto lock = [&]() -> task<> {
      const auto [ec, held] = co_await leat::as_tuple(leat::with_timeout(m.lock(), at));
      outcome = text_of(ec);
    };
    co_await run_both(a, hold(), b, lock());
    co_return outcome;
  };
  compare(p, {"done", "late"});
}

TEST_CASE("orders: a sleep for 0 and an older limit of the same thread") {
  const program p = [](scheduler& a, scheduler&) -> task<std::string> {
    item_queue q(1, "q");
    std::string outcome;
    task_group group;
    const auto push = [&]() -> task<> {
      co_await leat::sleep_for(at);
      co_await leat::sleep_for(0s);
      CHECK(q.try_push(1));
    };
    const auto pop = [&]() -> task<> {
      take_time();
      const auto [ec, item] = co_await leat::as_tuple(leat::with_timeout(q.pop(), at));
      outcome = text_of(ec);
    };
    group.spawn_on(a, push());
    group.spawn_on(a, pop());
    co_await group.join();
    co_return outcome + ", " + std::to_string(q.size()) + " left";
  };
  compare(p, {"done, 0 left", "late, 1 left"});
}

TEST_CASE("orders: a limit within a limit of the same time") {
  const program p = [](scheduler& a, scheduler& b) -> task<std::string> {
    item_queue q(1, "q");
    std::string inner, outer;
    const auto pop = [&]() -> task<> {
      const auto [ec, item] = co_await leat::as_tuple(leat::with_timeout(q.pop(), at));
      inner = text_of(ec);
      if (ec) throw leat::failure(ec, "pop");
    };
    const auto limit = [&]() -> task<> {
      const auto [ec] = co_await leat::as_tuple(leat::with_timeout(pop(), at));
      outer = text_of(ec);
    };
    co_await run_both(a, limit(), b, later([&] { CHECK(q.try_push(1)); }));
    co_return inner + " in " + outer + ", " + std::to_string(q.size()) + " left";
  };
  compare(p, {"done in done, 0 left", "cancelled in late, 1 left"});
}

}  // namespace thread_orders_test
