#include "leat/async/task.hpp"

#include <thread>
#include <type_traits>

#include "async/manual_event.hpp"
#include "support/dump.hpp"
#include "support/leat_test.hpp"
#include "support/stack_use.hpp"
#include "support/tracked.hpp"

namespace task_test {

using leat_test::tracked;

static_assert(!std::is_copy_constructible_v<task<int>>);
static_assert(std::is_nothrow_move_constructible_v<task<int>>);
static_assert(std::is_nothrow_move_assignable_v<task<int>>);

task<int> give(int n) { co_return n; }
task<int&> give_reference(int& n) { co_return n; }
task<std::unique_ptr<int>> give_pointer(int n) { co_return std::make_unique<int>(n); }
task<void> set(bool& done) {
  done = true;
  co_return;
}
task<int> fail() {
  throw std::runtime_error("failed");
  co_return 0;
}
task<void> keep(tracked) { co_return; }

// ---------------------------------------------------------------------------------- results

TEST_CASE("task: a loop that waits needs little memory besides its frame") {
  CHECK(sizeof(leat::task_context) <= 88);
  CHECK(sizeof(leat::detail::promise<void>) <= 24);
}

LEAT_TEST("task: co_await returns the value") { CHECK(co_await give(42) == 42); }

LEAT_TEST("task: a task<void> runs to its end") {
  bool done = false;
  co_await set(done);
  CHECK(done);
}

LEAT_TEST("task: a reference result is the object itself") {
  int n = 1;
  int& same = co_await give_reference(n);
  CHECK(&same == &n);
}

LEAT_TEST("task: a result may be move-only") {
  const std::unique_ptr<int> p = co_await give_pointer(7);
  REQUIRE(p);
  CHECK(*p == 7);
}

LEAT_TEST("task: a result is moved, never copied") {
  leat_test::counts counts;
  const auto make = [](leat_test::counts& c) -> task<tracked> { co_return tracked(c, 1); };
  {
    const tracked t = co_await make(counts);
    CHECK(t == 1);
    CHECK(counts.copies == 0);
    CHECK(counts.live == 1);
  }
  CHECK(counts.objects == 0);
}

LEAT_TEST("task: a result may be of a type without a default constructor") {
  struct plain {
    explicit plain(int v) : value(v) {}
    int value;
  };
  const auto make = []() -> task<plain> { co_return plain(3); };
  CHECK((co_await make()).value == 3);
}

LEAT_TEST("task: a returned value is converted to the result type") {
  const auto make = []() -> task<std::string> { co_return "text"; };
  CHECK(co_await make() == "text");
}

// ---------------------------------------------------------------------------------- errors

LEAT_TEST("task: co_await throws the exception with its type") {
  CHECK(co_await message_of<std::runtime_error>(fail()) == "failed");
}

LEAT_TEST("task: an exception propagates through all awaiting tasks") {
  leat_test::counts counts;
  const auto middle = [](tracked) -> task<int> { co_return co_await fail() + 1; };
  CHECK(co_await throws<std::runtime_error>(middle(tracked(counts, 1))));
  CHECK(counts.objects == 0);
}

LEAT_TEST("task: propagates an exception that is not a std::exception") {
  const auto odd = []() -> task<void> {
    throw 5;
    co_return;
  };
  int caught = 0;
  try {
    co_await odd();
  } catch (const int n) {
    caught = n;
  }
  CHECK(caught == 5);
}

// -------------------------------------------------------------------------- laziness, lifetime

LEAT_TEST("task: does not start before it is awaited") {
  bool done = false;
  auto t = set(done);
  co_await leat::this_task::yield();
  CHECK_FALSE(done);
  co_await std::move(t);
  CHECK(done);
}

TEST_CASE("task: destruction before the start destroys the arguments") {
  leat_test::counts counts;
  {
    const auto t = keep(tracked(counts, 1));
  }
  CHECK(counts.objects == 0);
}

TEST_CASE("task: assignment destroys the previous coroutine") {
  leat_test::counts counts;
  auto t = keep(tracked(counts, 1));
  t = keep(tracked(counts, 2));
  CHECK(counts.live == 1);
  t = task<void>();
  CHECK(counts.objects == 0);
}

static_assert(!std::is_constructible_v<bool, task<bool>>,
              "a forgotten co_await must not compile as a condition");

TEST_CASE("task: is empty after default construction and after a move") {
  task<int> t;
  CHECK_FALSE(t.valid());
  task<int> full = give(1);
  CHECK(full.valid());
  t = std::move(full);
  CHECK(t.valid());
  CHECK_FALSE(full.valid());  // NOLINT(bugprone-use-after-move)
}

TEST_CASE("task: self-assignment has no effect") {
  task<int> t = give(1);
  task<int>& same = t;
  t = std::move(same);
  CHECK(t.valid());
}

TEST_CASE("task: co_await on an empty task ends the process with a message") {
  const std::string said = leat_test::abort_message(
      [] { leat::block_on([]() -> task<void> { co_await task<void>(); }()); });
  CHECK(contains(said, "co_await on an empty task"));
}

TEST_CASE("task: spawn() of an empty task ends the process with a message") {
  const std::string said = leat_test::abort_message([] {
    leat::sim::virtual_scheduler sched;
    task_group group;
    group.spawn_on(sched, task<void>());
  });
  CHECK(contains(said, "spawn() of an empty task"));
}

LEAT_TEST("task: locals are destroyed before the awaiter resumes, arguments with the await") {
  leat_test::counts counts;
  const auto body = [](tracked argument, leat_test::counts& c) -> task<int> {
    const tracked local(c, 2);
    co_return c.live + 0 * argument.value();
  };
  CHECK(co_await body(tracked(counts, 1), counts) == 2);
  CHECK(counts.objects == 0);
}

// ------------------------------------------------------------------------------------ stack

LEAT_TEST("task: a million awaits that complete at once need no more stack than one") {
  std::int64_t sum = 0;
  for (int i = 0; i < 1'000'000; ++i) sum += co_await give(1);
  CHECK(sum == 1'000'000);
}

task<int> descend(int depth, leat_test::stack_use& stack) {
  stack.look();
  if (depth == 0) co_return 0;
  const int below = co_await descend(depth - 1, stack);
  stack.look();
  co_return below + 1;
}

LEAT_TEST("task: 100,000 tasks that await one another need no more stack than one") {
  leat_test::stack_use stack;
  CHECK(co_await descend(100'000, stack) == 100'000);
  CHECK(stack.bytes() < 4096);
}

task<void> descend_and_fail(int depth) {
  if (depth == 0) throw std::runtime_error("bottom");
  co_await descend_and_fail(depth - 1);
}

LEAT_TEST("task: an exception propagates through 1,000 tasks") {
  CHECK(co_await message_of<std::runtime_error>(descend_and_fail(1000)) == "bottom");
}

LEAT_TEST("task: a chain of 10,000 tasks can wait at its end and resume") {
  struct deep {
    static task<int> wait(int depth, leat_test::manual_event& event) {
      if (depth > 0) co_return co_await wait(depth - 1, event) + 1;
      co_await event.wait();
      co_return 0;
    }
    static task<void> run(int& result, leat_test::manual_event& event) {
      result = co_await wait(10'000, event);
    }
  };
  leat_test::manual_event event;
  int result = 0;
  task_group group;
  group.spawn(deep::run(result, event));
  co_await leat::this_task::yield();
  CHECK(result == 0);
  event.set();
  co_await group.join();
  CHECK(result == 10'000);
}

// --------------------------------------------------------------------- foreign coroutine types

/// A coroutine type that is independent of leat. It starts immediately and keeps its result.
struct foreign {
  struct promise_type {
    foreign get_return_object() {
      return foreign(std::coroutine_handle<promise_type>::from_promise(*this));
    }
    std::suspend_never initial_suspend() const noexcept { return {}; }
    std::suspend_always final_suspend() const noexcept { return {}; }
    void return_value(int v) noexcept { value = v; }
    void unhandled_exception() noexcept { error = std::current_exception(); }
    int value = 0;
    std::exception_ptr error;
  };

  explicit foreign(std::coroutine_handle<promise_type> h) : handle(h) {}
  foreign(foreign&& o) noexcept : handle(std::exchange(o.handle, nullptr)) {}
  ~foreign() {
    if (handle) handle.destroy();
  }
  std::coroutine_handle<promise_type> handle;
};

foreign add_one(task<int> t) { co_return co_await std::move(t) + 1; }

task<int> give_later(int n, leat_test::manual_event& event) {
  co_await event.wait();
  co_return n;
}

LEAT_TEST("task: a foreign coroutine can await a task") {
  const foreign f = add_one(give(1));
  while (!f.handle.done()) co_await leat::this_task::yield();
  CHECK(f.handle.promise().value == 2);
}

LEAT_TEST("task: a foreign coroutine can await a task that waits") {
  leat_test::manual_event event;
  const foreign f = add_one(give_later(1, event));
  for (int i = 0; i < 10; ++i) co_await leat::this_task::yield();
  CHECK_FALSE(f.handle.done());
  event.set();
  while (!f.handle.done()) co_await leat::this_task::yield();
  CHECK(f.handle.promise().value == 2);
}

LEAT_TEST("task: a foreign coroutine receives the exception") {
  const foreign f = add_one(fail());
  while (!f.handle.done()) co_await leat::this_task::yield();
  CHECK_THROWS_AS(std::rethrow_exception(f.handle.promise().error), std::runtime_error);
}

LEAT_TEST("task: can await a foreign awaitable") {
  struct at_once {
    bool await_ready() const noexcept { return true; }
    void await_suspend(std::coroutine_handle<>) const noexcept {}
    int await_resume() const noexcept { return 9; }
  };
  CHECK(co_await at_once() == 9);
}

/// Resumes the suspended coroutine on a thread of its own.
struct on_another_thread {
  std::jthread* thread;
  bool await_ready() const noexcept { return false; }
  void await_suspend(std::coroutine_handle<> h) const {
    *thread = std::jthread([h] { h.resume(); });
  }
  int await_resume() const noexcept { return 5; }
};

TEST_CASE("task: resumes on its own scheduler after a foreign awaitable") {
  std::jthread thread;
  const auto ask = [](std::jthread& t) -> task<bool> {
    leat::scheduler& sched = leat::this_task::get_scheduler();
    bool right = true;
    for (int i = 0; i < 100; ++i) {
      const int five = co_await on_another_thread{&t};
      right = right && five == 5 && leat::scheduler::current() == &sched;
      t.join();
    }
    co_return right;
  };
  CHECK(leat::block_on(ask(thread)));
}

LEAT_TEST("task: supports the three forms of await_suspend in foreign awaitables") {
  struct resumes_itself {  // resumes within the call
    bool await_ready() const noexcept { return false; }
    void await_suspend(std::coroutine_handle<> h) const { h.resume(); }
    int await_resume() const noexcept { return 1; }
  };
  struct says_no {
    bool await_ready() const noexcept { return false; }
    bool await_suspend(std::coroutine_handle<>) const noexcept { return false; }
    int await_resume() const noexcept { return 2; }
  };
  struct hands_back {  // by symmetric transfer
    bool await_ready() const noexcept { return false; }
    std::coroutine_handle<> await_suspend(std::coroutine_handle<> h) const noexcept { return h; }
    int await_resume() const noexcept { return 4; }
  };
  struct refuses {
    bool await_ready() const noexcept { return false; }
    void await_suspend(std::coroutine_handle<>) const { throw std::runtime_error("refused"); }
    void await_resume() const noexcept {}
  };
  struct gives_awaiter {
    says_no operator co_await() const noexcept { return {}; }
  };
  int sum = 0;
  for (int i = 0; i < 1000; ++i) {
    sum += co_await resumes_itself{};
    sum += co_await says_no{};
    sum += co_await hands_back{};
    sum += co_await gives_awaiter{};
  }
  CHECK(sum == 9000);
  CHECK(co_await throws<std::runtime_error>(refuses{}));
  leat::task_context& self = leat::this_task::get_context();
  CHECK(self.waiting() == nullptr);
}

LEAT_TEST("task: a dump lists a foreign wait") {
  struct keeps {
    std::coroutine_handle<>* kept;
    bool await_ready() const noexcept { return false; }
    void await_suspend(std::coroutine_handle<> h) const noexcept { *kept = h; }
    void await_resume() const noexcept {}
  };
  std::coroutine_handle<> kept;
  task_group group;
  group.spawn([](std::coroutine_handle<>& k) -> task<void> { co_await keeps{&k}; }(kept));
  co_await leat::this_task::yield();
  const std::string text = leat_test::dump();
  kept.resume();
  co_await group.join();
  CHECK(contains(text, "await a foreign operation, at task_test.cpp:"));
}

// g++ does not warn about the path without a value.
#if defined(__clang__)
#pragma clang diagnostic push
#pragma clang diagnostic ignored "-Wreturn-type"
#endif
task<int> end_without_value(bool with_value) {
  if (with_value) co_return 1;
}
#if defined(__clang__)
#pragma clang diagnostic pop
#endif

TEST_CASE("task: ends the process with a message if it ends without a value") {
  CHECK(leat::block_on(end_without_value(true)) == 1);
  const std::string said =
      leat_test::abort_message([] { leat::block_on(end_without_value(false)); });
  CHECK(
      contains(said, "task ended without a value: end each path of its coroutine with co_return"));
}

task<std::vector<int>> give_nothing() { co_return {}; }

LEAT_TEST("task: co_return accepts braces") {
  const std::vector<int> none = co_await give_nothing();
  CHECK(none.empty());
}

}  // namespace task_test
