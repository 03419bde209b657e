#include "leat/async/async_generator.hpp"

#include <type_traits>

#include <asio/io_context.hpp>

#include "async/task_steps.hpp"
#include "support/dump.hpp"
#include "support/foreign_coroutine.hpp"
#include "support/leat_test.hpp"
#include "support/stack_use.hpp"
#include "support/tracked.hpp"

namespace async_generator_test {

using leat::async_generator;
using leat_test::tracked;

static_assert(!std::is_copy_constructible_v<async_generator<int>>);
static_assert(std::is_nothrow_move_constructible_v<async_generator<int>>);
static_assert(std::is_nothrow_move_assignable_v<async_generator<int>>);

async_generator<int> count_to(int n) {
  for (int i = 1; i <= n; ++i) co_yield i;
}

task<std::vector<int>> collect(async_generator<int> all) {
  std::vector<int> values;
  while (const auto v = co_await all.next()) values.push_back(*v);
  co_return values;
}

// ----------------------------------------------------------------------------------- values

LEAT_TEST("async_generator: next() returns each value in order, then an empty optional") {
  auto all = count_to(3);
  for (int i = 1; i <= 3; ++i) CHECK(co_await all.next() == i);
  for (int i = 0; i < 3; ++i) CHECK(co_await all.next() == std::nullopt);
}

LEAT_TEST("async_generator: a body without values ends immediately") {
  auto none = count_to(0);
  CHECK(co_await none.next() == std::nullopt);
}

LEAT_TEST("async_generator: does not start before next()") {
  bool started = false;
  const auto body = [](bool& s) -> async_generator<int> {
    s = true;
    co_yield 1;
  };
  auto all = body(started);
  CHECK_FALSE(started);
  CHECK(co_await all.next() == 1);
  CHECK(started);
}

async_generator<std::string> texts() {
  std::string kept = "an object that remains in the body";
  const std::string constant = "a constant";
  co_yield kept;
  co_yield constant;
  co_yield "a literal";
  co_yield {kept, 3, 2};  // a constructor of std::string: coroutine_lint: ok
  co_yield kept + ", extended";
  co_yield std::move(kept);
}

LEAT_TEST("async_generator: co_yield accepts lvalues, temporaries, braces and other types") {
  auto all = texts();
  CHECK(co_await all.next() == "an object that remains in the body");
  CHECK(co_await all.next() == "a constant");
  CHECK(co_await all.next() == "a literal");
  CHECK(co_await all.next() == "ob");
  CHECK(co_await all.next() == "an object that remains in the body, extended");
  CHECK(co_await all.next() == "an object that remains in the body");
  CHECK(co_await all.next() == std::nullopt);
}

struct record {
  std::string name;
  std::vector<std::string> fields;
  std::unique_ptr<int> owned;
};

std::string text(int i) { return std::string(40, static_cast<char>('a' + i)); }

async_generator<record> records(int n) {
  for (int i = 0; i < n; ++i) {
    record both{text(i), {text(i), text(i)}, std::make_unique<int>(i)};  // g++ 12: not in co_yield
    co_yield std::move(both);
    record one{.name = text(i), .fields = {text(i)}, .owned = nullptr};
    co_yield std::move(one);
  }
}

LEAT_TEST("async_generator: yields aggregates that can only be moved") {
  auto all = records(3);
  for (int i = 0; i < 3; ++i) {
    auto first = co_await all.next();
    REQUIRE(first.has_value());
    CHECK(first->name == text(i));
    CHECK(first->fields == std::vector<std::string>{text(i), text(i)});
    CHECK(*first->owned == i);
    auto second = co_await all.next();
    REQUIRE(second.has_value());
    CHECK(second->fields == std::vector<std::string>{text(i)});
  }
  const auto end = co_await all.next();
  CHECK_FALSE(end.has_value());
}

async_generator<tracked> yield_tracked(leat_test::counts& c) {
  co_yield tracked(c, 1);
  tracked local(c, 2);
  co_yield local;
  co_yield std::move(local);
}

LEAT_TEST("async_generator: a value is moved once, and copied only from an lvalue") {
  leat_test::counts counts;
  {
    auto all = yield_tracked(counts);
    auto value = co_await all.next();
    CHECK(value->value() == 1);
    CHECK(counts.moves == 1);
    CHECK(counts.copies == 0);
    value = co_await all.next();
    CHECK(value->value() == 2);
    CHECK(counts.copies == 1);
    value = co_await all.next();
    CHECK(value->value() == 2);
    CHECK(counts.copies == 1);
    value.reset();
    CHECK(counts.live == 0);
    value = co_await all.next();
    CHECK_FALSE(value.has_value());
  }
  CHECK(counts.objects == 0);
}

LEAT_TEST("async_generator: values may be of a type without a default constructor") {
  struct no_default {
    explicit no_default(int n) : value(n) {}
    int value;
  };
  const auto body = []() -> async_generator<no_default> { co_yield no_default(5); };
  auto all = body();
  const auto value = co_await all.next();
  CHECK(value->value == 5);
}

LEAT_TEST("async_generator: can be moved between two values, and assigned") {
  auto first = count_to(3);
  CHECK(co_await first.next() == 1);
  async_generator<int> second = std::move(first);
  CHECK_FALSE(first.valid());
  CHECK(co_await second.next() == 2);
  async_generator<int> third;
  CHECK_FALSE(third.valid());
  third = std::move(second);
  CHECK(co_await third.next() == 3);
  third = count_to(1);
  CHECK(co_await third.next() == 1);
  const std::vector<int> rest = co_await collect(count_to(2));
  CHECK(rest == std::vector<int>{1, 2});
}

LEAT_TEST("async_generator: a generator that never waits lets other tasks run") {
  constexpr int count = 10'000;
  int turns = 0;
  bool ended = false;
  task_group group;
  group.spawn([](int& n, const bool& end) -> task<> {
    while (!end) {
      co_await leat::this_task::yield();
      ++n;
    }
  }(turns, ended));
  auto all = count_to(count);
  int sum = 0;
  while (const auto v = co_await all.next()) sum += *v;
  ended = true;
  co_await group.join();
  CHECK(sum == count * (count + 1) / 2);
  CHECK(turns >= count / 300);
}

// --------------------------------------------------------------------------------- the body

async_generator<int> slow_count(int n) {
  for (int i = 1; i <= n; ++i) {
    co_await leat::sleep_for(1s);
    co_yield i;
  }
}

async_generator<int> awaits_everything() {
  co_yield co_await value_after(1, 1s);
  const auto [a, b] = co_await leat::when_all(value_after(2, 1s), value_after(3, 1s));
  co_yield a;
  co_yield b;
  auto won = co_await leat::select(value_after(4, 1s), leat::sleep_for(1h));
  co_yield std::get<0>(won);
  task_group group;
  group.spawn(task_steps::sleep(1s));
  co_await group.join();
  auto inner = slow_count(2);
  while (const auto v = co_await inner.next()) co_yield *v + 4;
}

LEAT_TEST("async_generator: the body awaits everything that a task can await") {
  const task_steps::stopwatch time;
  const std::vector<int> values = co_await collect(awaits_everything());
  CHECK(values == std::vector<int>{1, 2, 3, 4, 5, 6});
  CHECK(time.elapsed() == 6s);
}

async_generator<std::string> names() {
  for (;;) {
    leat::task_context& self = leat::this_task::get_context();
    co_yield std::string(self.name());
  }
}

task<> read_name(async_generator<std::string>& all, std::string& name) {
  name = *co_await all.next();
}

LEAT_TEST("async_generator: the body runs in the task that awaits next()") {
  auto all = names();
  std::string a;
  std::string b;
  task_group group;
  group.spawn(read_name(all, a), "first");
  group.spawn(read_name(all, b), "second");
  co_await group.join();
  CHECK((a == "first" ? b == "second" : a == "second" && b == "first"));
}

TEST_CASE("async_generator: tasks of several schedulers may call next() one after the other") {
  leat::runtime rt({.threads = 3});
  async_generator<int> all = slow_count(0);
  all = []() -> async_generator<int> {
    for (int i = 0;; ++i) {
      co_await leat::sleep_for(1us);
      co_yield i;
    }
  }();
  const auto read = [&](int& value) -> task<> { value = *co_await all.next(); };
  for (int i = 0; i < 30; ++i) {
    int value = -1;
    task_group group;
    group.spawn_on(rt.get_scheduler(static_cast<std::size_t>(i) % rt.size()), read(value));
    leat::block_on(group.join());
    CHECK(value == i);
  }
}

// ------------------------------------------------------------------------------------ stack

async_generator<int> look(leat_test::stack_use& stack, int n) {
  for (int i = 0; i < n; ++i) {
    stack.look();
    co_yield i;
  }
}

LEAT_TEST("async_generator: a million values need no more stack than one") {
  leat_test::stack_use stack;
  auto all = look(stack, 1'000'000);
  std::int64_t sum = 0;
  while (const auto v = co_await all.next()) sum += *v;
  CHECK(sum == 499'999'500'000);
  CHECK(stack.bytes() < 1024);  // those that continue in another turn begin elsewhere
}

async_generator<int> nested(leat_test::stack_use& stack, int depth) {
  stack.look();
  if (depth == 0) {
    co_yield 1;
    co_yield 2;
    co_return;
  }
  auto inner = nested(stack, depth - 1);
  while (const auto v = co_await inner.next()) co_yield *v + 1;
}

LEAT_TEST("async_generator: 1,000 nested generators need no more stack than one") {
  leat_test::stack_use stack;
  auto all = nested(stack, 1000);
  CHECK(co_await all.next() == 1001);
  CHECK(co_await all.next() == 1002);
  CHECK(co_await all.next() == std::nullopt);
  CHECK(stack.bytes() < 4096);
}

// ----------------------------------------------------------------------------------- errors

async_generator<int> fail_after(int n) {
  for (int i = 1; i <= n; ++i) co_yield i;
  throw leat::failure(errc::out_of_range, "after " + std::to_string(n));
}

LEAT_TEST("async_generator: next() throws the exception of the body, and later calls again") {
  for (const int n : {0, 2}) {
    auto all = fail_after(n);
    for (int i = 1; i <= n; ++i) CHECK(co_await all.next() == i);
    for (int i = 0; i < 2; ++i) {
      CHECK(co_await message_of<leat::failure>(all.next()) ==
            "after " + std::to_string(n) + ": out of range");
    }
  }
}

LEAT_TEST("async_generator: as_tuple() returns the code of the exception, or the value") {
  auto all = fail_after(1);
  {
    const auto [ec, value] = co_await leat::as_tuple(all.next());
    CHECK_FALSE(ec);
    CHECK(value == 1);
  }
  for (int i = 0; i < 2; ++i) {
    const auto [ec, value] = co_await leat::as_tuple(all.next());
    CHECK(ec == errc::out_of_range);
    CHECK(value == std::nullopt);
  }
  auto none = count_to(0);
  const auto [ec, value] = co_await leat::as_tuple(none.next());
  CHECK_FALSE(ec);
  CHECK(value == std::nullopt);
}

LEAT_TEST("async_generator: the body may catch the error of a nested generator") {
  const auto body = []() -> async_generator<int> {
    auto inner = fail_after(1);
    std::string error;
    try {
      while (const auto v = co_await inner.next()) co_yield *v;
    } catch (const leat::failure& e) {
      error = e.what();
    }
    co_yield static_cast<int>(error.size());  // of "after 1: out of range"
  };
  const std::vector<int> values = co_await collect(body());
  CHECK(values == std::vector<int>{1, 21});
}

// ------------------------------------------------------------------------------------- dump

LEAT_TEST("async_generator: a dump lists the wait in the body and each awaited next()") {
  const auto outer = []() -> async_generator<int> {
    auto inner = slow_count(1);
    while (const auto v = co_await inner.next()) co_yield *v;
  };
  task_group group;
  group.spawn([](async_generator<int> all) -> task<> { co_await all.next(); }(outer()), "reader");
  co_await leat::this_task::yield();
  const std::string text = leat_test::dump();
  co_await group.join();
  const std::size_t wait = text.find("sleep for another 1000 ms, at async_generator_test.cpp:");
  REQUIRE(wait != std::string::npos);
  const std::size_t first = text.find("awaited at async_generator_test.cpp:", wait);
  REQUIRE(first != std::string::npos);
  CHECK(text.find("awaited at async_generator_test.cpp:", first + 1) != std::string::npos);
}

// --------------------------------------------------------------- coroutines of other libraries

leat_test::foreign_coroutine read_in_foreign_coroutine(async_generator<int>& all,
                                                       std::vector<int>& values) {
  while (const auto v = co_await all.next()) values.push_back(*v);
  bool refused = false;
  try {
    static_cast<void>(co_await leat::as_tuple(all.next()));
  } catch (...) {
    refused = true;
  }
  CHECK_FALSE(refused);
}

TEST_CASE("async_generator: a coroutine of another library can await next()") {
  asio::io_context io;
  static_cast<void>(leat::get_scheduler(io));
  async_generator<int> all = []() -> async_generator<int> {
    co_yield 1;
    co_await leat::sleep_for(1us);
    co_yield 2;
  }();
  std::vector<int> values;
  leat_test::foreign_coroutine reader{};
  asio::post(io, [&] { reader = read_in_foreign_coroutine(all, values); });
  io.run();
  CHECK(values == std::vector<int>{1, 2});
  CHECK(reader.handle.done());
  reader.handle.destroy();
}

leat_test::foreign_coroutine read_as_tuple(async_generator<int>& all, std::error_code& error) {
  const auto [ec, value] = co_await leat::as_tuple(all.next());
  error = ec;
}

TEST_CASE("async_generator: as_tuple() of next() outside leat fails with failed_precondition") {
  asio::io_context io;
  static_cast<void>(leat::get_scheduler(io));
  async_generator<int> all = count_to(1);
  std::error_code error;
  leat_test::foreign_coroutine reader{};
  asio::post(io, [&] { reader = read_as_tuple(all, error); });
  io.run();
  CHECK(error == errc::failed_precondition);
  reader.handle.destroy();
}

TEST_CASE("async_generator: async_run() accepts a callable that returns next()") {
  asio::io_context io;
  async_generator<int> all = count_to(1);
  std::optional<int> received;
  static_cast<void>(leat::get_scheduler(io));
  leat::async_run(
      io.get_executor(), [&] { return all.next(); },
      [&](std::exception_ptr, std::optional<int> v) { received = v; });
  io.run();
  CHECK(received == 1);
}

}  // namespace async_generator_test
