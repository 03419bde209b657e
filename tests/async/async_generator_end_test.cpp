// Generators that end early: by a stop, a limit, their destruction, or that of their scheduler.

#include <variant>

#include "async/task_steps.hpp"
#include "support/leat_test.hpp"
#include "support/loops.hpp"

namespace async_generator_end_test {

using leat::async_generator;
using leat_test::counted;
using task_steps::run_and_stop;

async_generator<int> slow_count(int& bodies, leat::duration pause = 1s) {
  const counted c(bodies);
  for (int i = 1;; ++i) {
    co_yield i;
    co_await leat::sleep_for(pause);
  }
}

async_generator<int> forward(int& bodies) {
  const counted c(bodies);
  auto inner = slow_count(bodies, 1h);
  while (const auto v = co_await inner.next()) co_yield *v;
}

/// Yields one value after it was stopped.
async_generator<int> yield_after_stop(int& bodies) {
  const counted c(bodies);
  const auto [ec] = co_await leat::as_tuple(leat::sleep_for(1h));
  co_yield ec == errc::cancelled ? 100 : 0;
  co_yield 101;
}

task<> read_all(async_generator<int>& all, std::vector<int>& values) {
  while (const auto v = co_await all.next()) values.push_back(*v);
}

async_generator<int> count_quickly(int& bodies) {
  const counted c(bodies);
  for (int i = 0;; ++i) co_yield i;
}

LEAT_LOOP_TEST("async_generator: a loop may end between a value and the task that receives it") {
  int bodies = 0;
  std::size_t received = 0;
  task_group group;
  TestType loop;
  group.spawn_on(loop.get_scheduler(), [](int& b, std::size_t& n) -> task<> {
    auto all = count_quickly(b);
    while (co_await all.next()) ++n;
  }(bodies, received));
  loop.run_one_turn();
  CHECK(bodies == 1);
  CHECK(received > 0);
  loop.end();
  CHECK(bodies == 0);
  CHECK(leat_test::is_cancelled(group));
}

task<> read_one(async_generator<int>& all) { static_cast<void>(co_await all.next()); }

// --------------------------------------------------------------------------------- destroyed

LEAT_TEST("async_generator: destroyed before its start, it destroys its arguments") {
  const auto argument = std::make_shared<int>(1);
  {
    const auto body = [](std::shared_ptr<int> p) -> async_generator<int> { co_yield *p; };
    const auto all = body(argument);
    CHECK(argument.use_count() == 2);
  }
  CHECK(argument.use_count() == 1);
  co_return;
}

LEAT_TEST("async_generator: destroyed at a co_yield, it destroys the locals of its body") {
  int bodies = 0;
  {
    auto all = forward(bodies);
    CHECK(co_await all.next() == 1);
    CHECK(bodies == 2);
  }
  CHECK(bodies == 0);
}

LEAT_TEST("async_generator: an assignment destroys the generator that it replaces") {
  int bodies = 0;
  auto all = slow_count(bodies);
  CHECK(co_await all.next() == 1);
  all = async_generator<int>();
  CHECK(bodies == 0);
}

LEAT_TEST("async_generator: locals of the body are destroyed before next() reports the end") {
  int bodies = 0;
  const auto body = [](int& n) -> async_generator<int> {
    const counted c(n);
    co_yield 1;
  };
  auto all = body(bodies);
  CHECK(co_await all.next() == 1);
  CHECK(bodies == 1);
  CHECK(co_await all.next() == std::nullopt);
  CHECK(bodies == 0);
}

// ------------------------------------------------------------------------------------- stop

LEAT_TEST("async_generator: a stop ends the wait in the body, and each later next()") {
  int bodies = 0;
  auto all = slow_count(bodies, 1h);
  std::vector<int> values;
  co_await run_and_stop(read_all(all, values));
  CHECK(values == std::vector<int>{1});
  CHECK(bodies == 0);
  CHECK(co_await code_of(all.next()) == errc::cancelled);
}

LEAT_TEST("async_generator: a body that catches a stop can yield another value") {
  int bodies = 0;
  auto all = yield_after_stop(bodies);
  std::vector<int> values;
  co_await run_and_stop(read_all(all, values));
  CHECK(values == std::vector<int>{100, 101});
}

// ----------------------------------------------------------------------------------- limits

LEAT_TEST("async_generator: with_timeout() returns a value that arrives in time") {
  int bodies = 0;
  auto all = slow_count(bodies);
  for (int i = 1; i <= 3; ++i) {
    CHECK(co_await leat::with_timeout(all.next(), 2s) == i);
  }
}

LEAT_TEST("async_generator: a limit that expires ends the generator") {
  int bodies = 0;
  auto all = slow_count(bodies, 1h);
  CHECK(co_await all.next() == 1);
  const std::string expired =
      co_await message_of(leat::with_timeout(all.next(), 2s), errc::deadline_exceeded);
  CHECK(contains(expired, "sleep"));
  CHECK(bodies == 0);
  CHECK(co_await code_of(all.next()) == errc::cancelled);
}

LEAT_TEST("async_generator: a value that is yielded despite an expired limit is returned") {
  int bodies = 0;
  auto all = yield_after_stop(bodies);
  const auto [ec, value] = co_await leat::as_tuple(leat::with_timeout(all.next(), 1s));
  CHECK_FALSE(ec);
  CHECK(value == 100);
  CHECK(co_await all.next() == 101);
}

LEAT_TEST("async_generator: select() accepts next() next to other operations") {
  int bodies = 0;
  auto all = slow_count(bodies);
  auto first = co_await leat::select(leat::sleep_for(10s), all.next());
  CHECK(std::get<1>(first) == 1);
  auto second = co_await leat::select(all.next(), leat::sleep_for(10s));
  CHECK(std::get<0>(second) == 2);
  auto third = co_await leat::select(all.next(), leat::sleep_for(1ms));
  CHECK(third.index() == 1);
  CHECK(bodies == 0);
  CHECK(co_await code_of(all.next()) == errc::cancelled);
}

// ---------------------------------------------------------------------------------- misuse

TEST_CASE("async_generator: next() of an empty generator ends the process with a message") {
  const std::string said = leat_test::abort_message([] {
    leat::block_on([]() -> task<> {
      async_generator<int> empty;
      co_await empty.next();
    }());
  });
  CHECK(contains(said, "next() of an empty async_generator"));
}

TEST_CASE("async_generator: two calls of next() at a time end the process with a message") {
  const std::string said = leat_test::abort_message([] {
    leat::block_on([]() -> task<> {
      int bodies = 0;
      auto all = slow_count(bodies);
      co_await all.next();
      co_await leat::when_all(read_one(all), read_one(all));
    }());
  });
  CHECK(contains(said, "whose previous next() is still in progress"));
}

TEST_CASE("async_generator: a generator that awaits itself ends the process with a message") {
  const std::string said = leat_test::abort_message([] {
    leat::block_on([]() -> task<> {
      async_generator<int> all;
      all = [](async_generator<int>& self) -> async_generator<int> {
        co_yield *co_await self.next();
      }(all);
      co_await all.next();
    }());
  });
  CHECK(contains(said, "never in the generator itself"));
}

// Calls `f` while a task waits in next().
template <class F>
std::string abort_message_during_next(F f) {
  return leat_test::abort_message([&f] {
    leat::block_on([](F& g) -> task<> {
      int bodies = 0;
      std::optional all(slow_count(bodies, 1ms));
      co_await all->next();
      task_group group;
      group.spawn(read_one(*all));
      co_await leat::this_task::yield();
      g(all);
      co_await group.join();
    }(f));
  });
}

TEST_CASE("async_generator: destroyed during next(), it ends the process with a message") {
  const std::string said =
      abort_message_during_next([](std::optional<async_generator<int>>& all) { all.reset(); });
  CHECK(contains(said, "destroyed while its next() is in progress"));
}

TEST_CASE("async_generator: moved during next(), it ends the process with a message") {
  const std::string said = abort_message_during_next([](std::optional<async_generator<int>>& all) {
    const async_generator<int> other = std::move(*all);
  });
  CHECK(contains(said, "moved while its next() is in progress"));
}

// Calls `f` while a task has received a value, but waits for its turn.
template <class F>
std::string abort_message_before_turn(F f) {
  return leat_test::abort_message([&f] {
    leat::block_on([](F& g) -> task<> {
      int bodies = 0;
      std::optional all(count_quickly(bodies));
      int received = 0;
      task_group group;
      group.spawn([](async_generator<int>& from, int& n) -> task<> {
        while (co_await from.next()) ++n;
      }(*all, received));
      co_await leat::this_task::yield();
      CHECK(received == 255);  // of 256
      co_await g(all);
    }(f));
  });
}

TEST_CASE("async_generator: next() is in progress until its task has the value") {
  using generator = std::optional<async_generator<int>>;
  const std::string destroyed = abort_message_before_turn([](generator& all) -> task<> {
    all.reset();
    co_return;
  });
  CHECK(contains(destroyed, "destroyed while its next() is in progress"));
  const std::string moved = abort_message_before_turn([](generator& all) -> task<> {
    const async_generator<int> other = std::move(*all);
    co_return;
  });
  CHECK(contains(moved, "moved while its next() is in progress"));
  const std::string twice =
      abort_message_before_turn([](generator& all) -> task<> { co_await read_one(*all); });
  CHECK(contains(twice, "previous next() is still in progress"));
}

// ----------------------------------------------------------------------------- scheduler end

task<> own_and_read(int& bodies) {
  auto all = slow_count(bodies, 1h);
  while (co_await all.next()) {
  }
}
task<> own_and_stay(int& bodies) {
  auto all = slow_count(bodies, 1h);
  co_await all.next();
  co_await leat::sleep_for(1h);
}
task<> nested(int& bodies) {
  auto all = forward(bodies);
  while (co_await all.next()) {
  }
}
task<> in_child(int& bodies) {
  auto all = slow_count(bodies, 1h);
  std::vector<int> values;
  co_await read_all(all, values);
}
task<> in_group(int& bodies) {
  auto all = slow_count(bodies, 1h);
  std::vector<int> values;
  task_group group;
  group.spawn(read_all(all, values));
  co_await group.join();
}
// The generator does not outlive its reader, which is an error in a program that continues.
task<> read_sibling(async_generator<int> all) {
  static async_generator<int>* shared = nullptr;
  const auto own = [](async_generator<int> owned) -> task<> {
    shared = &owned;
    co_await leat::sleep_for(1h);
  };
  const auto read = []() -> task<> {
    co_await leat::this_task::yield();
    while (co_await shared->next()) {
    }
  };
  task_group group;
  group.spawn(read());
  group.spawn(own(std::move(all)));
  co_await group.join();
}
task<> in_sibling(int& bodies) { return read_sibling(slow_count(bodies, 1h)); }
task<> under_timeout(int& bodies) {
  auto all = slow_count(bodies, 1h);
  while (co_await leat::with_timeout(all.next(), 10h)) {
  }
}
task<> in_select(int& bodies) {
  auto all = forward(bodies);
  for (;;) co_await leat::select(all.next(), leat::sleep_for(10h));
}
task<> stopped_by_timeout(int& bodies) {
  auto all = yield_after_stop(bodies);
  while (co_await leat::with_timeout(all.next(), 0s)) {
  }
}

// A generator that never waits: its reader has received a value, but other tasks run first.
task<> own_and_read_fast(int& bodies) {
  auto all = count_quickly(bodies);
  while (co_await all.next()) {
  }
}
task<> read_fast_sibling(int& bodies) { return read_sibling(count_quickly(bodies)); }

const leat_test::scenario scenarios[] = {
    {"generator in the task that awaits next()", own_and_read},
    {"generator at a co_yield", own_and_stay},
    {"generator in a generator", nested},
    {"next() in a child task", in_child},
    {"next() in a task group", in_group},
    {"next() in a sibling of the task that owns it", in_sibling},
    {"with_timeout", under_timeout},
    {"select", in_select},
    {"with_timeout, expired", stopped_by_timeout},
    {"a value that its reader has yet to receive", own_and_read_fast},
    {"a value that a sibling has yet to receive", read_fast_sibling},
};

// The loop has run `turns` times when it is destroyed.
LEAT_LOOP_TEST("scheduler end: generators are destroyed") {
  leat_test::check_ends<TestType>(scenarios, 6);
}

}  // namespace async_generator_end_test
