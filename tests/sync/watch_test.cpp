#include "leat/sync/watch.hpp"

#include <thread>

#include <asio/bind_executor.hpp>
#include <asio/io_context.hpp>

#include "leat/sync/completion_tokens.hpp"
#include "support/leat_test.hpp"
#include "support/loops.hpp"
#include "support/tracked.hpp"
#include "sync/throwing_copy.hpp"

namespace watch_test {

using leat::watch;
using leat_test::throwing_copy;

auto settle() { return leat::sleep_for(1ms); }

LEAT_TEST("watch: has a value and a version that each change increases") {
  watch<int> limit(8, "limit");
  CHECK(limit.name() == "limit");
  CHECK(limit.get() == 8);
  CHECK(limit.current().version == 0);
  CHECK(limit.set(16));
  CHECK(limit.set(16));  // an equal value is a change too
  CHECK(limit.get() == 16);
  CHECK(limit.current().value == 16);
  CHECK(limit.current().version == 2);
  CHECK_FALSE(limit.try_changed(2));
  CHECK(limit.try_changed(1)->value == 16);
  CHECK(limit.try_changed(0)->version == 2);
  const auto next = co_await limit.changed(0);
  CHECK(next->version == 2);
  const watch<std::string> empty;
  CHECK(empty.get().empty());
}

struct no_default {
  explicit no_default(int n) : number(n) {}
  int number;
};
LEAT_TEST("watch: accepts a type without a default constructor") {
  watch<no_default> w(no_default(1));
  CHECK(w.set(no_default(2)));
  const auto next = co_await w.changed(0);
  CHECK(next->value.number == 2);
}

task<> follow(watch<int>& w, std::vector<int>& seen, bool& ended, leat::duration work) {
  auto state = w.current();
  seen.push_back(state.value);
  while (auto next = co_await w.changed(state.version)) {
    state = *next;
    seen.push_back(state.value);
    if (work > 0ms) co_await leat::sleep_for(work);
  }
  ended = true;
}
LEAT_TEST("watch: readers see the latest value, and changes during their work are one change") {
  watch<int> w(0);
  std::vector<int> fast;
  std::vector<int> slow;
  bool fast_ended = false;
  bool slow_ended = false;
  task_group group;
  group.spawn(follow(w, fast, fast_ended, 0ms));
  group.spawn(follow(w, slow, slow_ended, 27ms));
  co_await settle();
  for (int i = 1; i <= 6; ++i) {
    w.set(i);
    co_await leat::sleep_for(10ms);
  }
  CHECK(w.close());
  co_await group.join();
  CHECK(fast == std::vector{0, 1, 2, 3, 4, 5, 6});
  CHECK(slow == std::vector{0, 1, 3, 6});
  CHECK(fast_ended);
  CHECK(slow_ended);
}

LEAT_TEST("watch: a reader that was woken gets the value at the time when it resumes") {
  watch<int> w(0);
  std::vector<int> seen;
  bool ended = false;
  task_group group;
  group.spawn(follow(w, seen, ended, 0ms));
  co_await settle();
  w.set(1);
  w.set(2);
  w.set(3);
  co_await settle();
  CHECK(seen == std::vector{0, 3});
  w.close();
  co_await group.join();
}

LEAT_TEST("watch: a close ends waits without a newer value, and refuses changes") {
  watch<int> w(1);
  w.set(2);
  bool ended = false;
  std::vector<int> seen;
  task_group group;
  group.spawn(follow(w, seen, ended, 0ms));
  co_await settle();
  CHECK_FALSE(w.is_closed());
  CHECK(w.close());
  CHECK_FALSE(w.close());
  CHECK(w.is_closed());
  co_await group.join();
  CHECK(ended);
  CHECK_FALSE(w.set(3));
  int calls = 0;
  CHECK_FALSE(w.modify([&](int& n) {
    ++calls;
    n = 4;
  }));
  CHECK(w.get() == 2);
  CHECK(w.current().version == 1);
  const auto newer = co_await w.changed(0);
  CHECK(newer->value == 2);
  CHECK_FALSE(co_await w.changed(1));
  const auto reached = co_await w.wait_until([](int n) { return n == 2; });
  CHECK(reached == 2);
  const auto never = co_await w.wait_until([](int n) { return n == 3; });
  CHECK_FALSE(never);
}

TEST_CASE("watch: modify calls the function again if the value changed meanwhile") {
  watch<int> w(1);
  int calls = 0;
  CHECK(w.modify([&](int& n) {
    if (++calls <= 2) w.set(10 * calls);
    n += 1;
  }));
  CHECK(calls == 3);
  CHECK(w.get() == 21);
  CHECK(w.current().version == 3);
}

TEST_CASE("watch: modify loses no change of another thread") {
  watch<int> w(0);
  const auto count = [&w] {
    for (int i = 0; i < 2000; ++i) w.modify([](int& n) { ++n; });
  };
  std::thread one(count), two(count);
  one.join();
  two.join();
  CHECK(w.get() == 4000);
  CHECK(w.current().version == 4000);
}

TEST_CASE("watch: a function of modify that throws has no effect") {
  watch<int> w(1);
  CHECK_THROWS_AS(w.modify([](int& n) {
    n = 2;
    throw std::runtime_error("no");
  }),
                  std::runtime_error);
  CHECK(w.get() == 1);
  CHECK(w.current().version == 0);
}

LEAT_TEST("watch: a copy that throws loses nothing") {
  throwing_copy::failures = 0;
  watch<throwing_copy> w(throwing_copy(1));
  CHECK(w.set(throwing_copy(2)));
  throwing_copy::failures = 5;
  CHECK_THROWS_AS(w.get(), leat_test::copy_failed);
  CHECK_THROWS_AS(w.current(), leat_test::copy_failed);
  CHECK_THROWS_AS(w.try_changed(0), leat_test::copy_failed);
  CHECK_THROWS_AS(w.modify([](throwing_copy& t) { t.number = 3; }), leat_test::copy_failed);
  int thrown = 0;
  if (co_await throws<leat_test::copy_failed>(w.changed(0))) ++thrown;
  CHECK(thrown == 1);
  CHECK(throwing_copy::failures == 0);
  const auto next = co_await w.changed(0);
  CHECK(next->value.number == 2);
  CHECK(next->version == 1);
  task_group group;
  group.spawn([](watch<throwing_copy>& of, int& n) -> task<> {
    if (co_await throws<leat_test::copy_failed>(of.changed(1))) ++n;
  }(w, thrown));
  co_await settle();
  w.set(throwing_copy(4));
  throwing_copy::failures = 1;
  co_await group.join();
  CHECK(thrown == 2);
  CHECK(w.try_changed(1)->value.number == 4);
}

TEST_CASE("watch: a copy that throws completes a token with its code") {
  throwing_copy::failures = 0;
  watch<throwing_copy> w(throwing_copy(1));
  w.set(throwing_copy(2));
  throwing_copy::failures = 1;
  asio::io_context io;
  std::error_code code;
  w.async_changed(0, asio::bind_executor(io, [&](std::error_code ec, const auto& state) {
                    code = ec;
                    CHECK_FALSE(state);
                  }));
  io.run();
  CHECK(code);
  CHECK(throwing_copy::failures == 0);
}

LEAT_TEST("watch: a replaced value is destroyed, after the lock is released") {
  leat_test::counts n;
  {
    watch<leat_test::tracked> w(leat_test::tracked(n, 1));
    CHECK(n.live == 1);
    w.set(leat_test::tracked(n, 2));
    CHECK(n.live == 1);
    CHECK(n.copies == 0);
    CHECK(w.get() == 2);
    CHECK(n.copies == 1);
  }
  CHECK(n.objects == 0);
  struct asks_watch {
    watch<std::shared_ptr<asks_watch>>* of = nullptr;
    ~asks_watch() {
      if (of) static_cast<void>(of->get());
    }
  };
  watch<std::shared_ptr<asks_watch>> w(std::make_shared<asks_watch>());
  w.get()->of = &w;
  w.set(nullptr);  // the destructor of the old value uses the watch
  CHECK(w.get() == nullptr);
  co_return;
}

LEAT_TEST("watch: wait_until calls the predicate once at first and once after each change") {
  watch<int> w(0);
  std::vector<int> asked;
  std::optional<int> result;
  task_group group;
  group.spawn([](watch<int>& of, std::vector<int>& seen, std::optional<int>& out) -> task<> {
    std::vector<int>* const to = &seen;
    auto waiting = of.wait_until([to](int n) {
      to->push_back(n);
      return n >= 3;
    });
    out = co_await std::move(waiting);
  }(w, asked, result));
  co_await settle();
  CHECK(asked == std::vector{0});
  w.set(1);
  co_await settle();
  w.set(5);
  w.set(2);  // the task sees the latest
  co_await settle();
  w.set(4);
  co_await group.join();
  CHECK(asked == std::vector{0, 1, 2, 4});
  CHECK(result == 4);
}

LEAT_TEST("watch: wait_until ends by a stop, a limit, a close and a throwing predicate") {
  watch<int> w(0);
  const auto never = [](int) { return false; };
  const auto [late, none] = co_await leat::as_tuple(leat::with_timeout(w.wait_until(never), 5ms));
  CHECK(late == errc::deadline_exceeded);
  leat_test::outcome stopped;
  bool closed = false;
  task_group group;
  group.spawn([](watch<int>& of, leat_test::outcome& o) -> task<> {
    o = co_await outcome_of(
        [](watch<int>& v) -> task<> { co_await v.wait_until([](int) { return false; }); }(of));
  }(w, stopped));
  co_await settle();
  group.request_stop();
  co_await group.join();
  CHECK(stopped.code == errc::cancelled);
  CHECK(stopped.text.starts_with("wait for a change of watch (version 0)"));
  CHECK(co_await throws<std::runtime_error>(
      w.wait_until([](int) -> bool { throw std::runtime_error("no"); })));
  task_group closing;
  closing.spawn([](watch<int>& of, bool& ended) -> task<> {
    const auto reached = co_await of.wait_until([](int) { return false; });
    ended = !reached;
  }(w, closed));
  co_await settle();
  w.close();
  co_await closing.join();
  CHECK(closed);
}

TEST_CASE("watch: blocking waits end by a change and by a close") {
  watch<int> w(0);
  std::thread changer([&] {
    std::this_thread::sleep_for(2ms);
    w.set(1);
    std::this_thread::sleep_for(2ms);
    w.close();
  });
  const auto first = leat::block_on(w.changed(0));
  CHECK(first->value == 1);
  CHECK_FALSE(leat::block_on(w.changed(1)));
  changer.join();
  CHECK(leat::block_on(w.changed(0))->value == 1);
}

task<> wait_for_change(watch<int>& w) { co_await w.changed(0); }

TEST_CASE("watch: destroyed before a woken task has read it, it ends the process with a message") {
  const auto message = [](bool woken) {
    return leat_test::abort_message([woken] {
      leat_test::embedded_loop loop;
      task_group group;
      auto w = std::make_unique<watch<int>>(0, "limit");
      group.spawn_on(loop.get_scheduler(), wait_for_change(*w), "reader");
      loop.run_ready();
      if (woken) w->set(1);
      w.reset();
    });
  };
  CHECK(contains(message(true),
                 "destroyed before the tasks that it woke have read it: join the tasks first"));
  const std::string waiting = message(false);
  CHECK(contains(waiting, "watch 'limit' destroyed"));
  CHECK(contains(waiting, "\n  wait of reader, at watch_test.cpp:"));
}

LEAT_TEST("watch: a receiver has seen the value at subscribe(), and then each that it returns",
          "[sync]") {
  watch<int> limit(1, "limit");
  limit.set(2);
  auto changes = limit.subscribe();
  CHECK_FALSE(changes.try_changed());
  limit.set(3);
  limit.set(4);
  CHECK(co_await changes.changed() == 4);
  CHECK_FALSE(changes.try_changed());
  limit.set(5);
  CHECK(changes.try_changed() == 5);
  limit.set(6);
  CHECK(changes.get() == 6);
  CHECK_FALSE(changes.try_changed());
}

LEAT_TEST("watch: each receiver counts for itself, and a copy has seen the same", "[sync]") {
  watch<int> limit(1, "limit");
  auto first = limit.subscribe();
  limit.set(2);
  auto copy = first;
  CHECK(co_await first.changed() == 2);
  CHECK_FALSE(first.try_changed());
  CHECK(co_await copy.changed() == 2);
}

LEAT_TEST("watch: a limit that ends changed() of a receiver leaves the change unseen", "[sync]") {
  watch<int> limit(1, "limit");
  auto changes = limit.subscribe();
  const auto late = co_await leat::as_tuple(leat::with_timeout(changes.changed(), 1ms));
  CHECK(late.error == leat::errc::deadline_exceeded);
  limit.set(2);
  CHECK(co_await changes.changed() == 2);
}

LEAT_TEST("watch: a receiver gets the last value after close(), and then nothing", "[sync]") {
  watch<int> limit(1, "limit");
  auto changes = limit.subscribe();
  limit.set(2);
  limit.close();
  CHECK(co_await changes.changed() == 2);
  CHECK_FALSE(co_await changes.changed());
}

LEAT_TEST("watch: a waiting receiver wakes at the change", "[sync]") {
  watch<int> limit(1, "limit");
  co_await leat::with_task_group([&limit](leat::task_group& group) -> leat::task<> {
    auto changes = limit.subscribe();
    group.spawn([&limit]() -> leat::task<> {
      co_await leat::sleep_for(1ms);
      limit.set(7);
    });
    CHECK(co_await changes.changed() == 7);
  });
}

}  // namespace watch_test
