#include "async/task_steps.hpp"
#include "support/leat_test.hpp"

namespace with_task_group_test {

using namespace task_steps;

// Sets `stopped` and rethrows if its wait is cancelled.
task<> note_stop(bool& stopped) {
  try {
    co_await leat::sleep_for(1h);
  } catch (const leat::failure&) {
    stopped = true;
    throw;
  }
}

LEAT_TEST("with_task_group: joins on every path") {
  int n = 0;
  co_await leat::with_task_group([&n](task_group& g) -> task<> {
    g.spawn(count_after(n, 1s));
    co_return;
  });
  CHECK(n == 1);

  std::string what =
      co_await message_of<std::runtime_error>(leat::with_task_group([&n](task_group& g) -> task<> {
        g.spawn(sleep_long());
        g.spawn(count(n));
        co_await leat::sleep_for(1s);
        throw std::runtime_error("body");
      }));
  CHECK(what == "body");
  CHECK(n == 2);

  bool stopped = false;
  what = co_await message_of<std::runtime_error>(
      leat::with_task_group([&stopped](task_group& g) -> task<> {
        g.spawn(fail_after<void>("task", 1s));
        co_await note_stop(stopped);
      }));
  CHECK(what == "task");
  CHECK(stopped);
}

LEAT_TEST("with_task_group: a body that spawns and then throws is joined") {
  bool stopped = false;
  const auto body = [&](task_group& group) -> task<void> {
    group.spawn(note_stop(stopped));
    throw std::runtime_error("cannot begin");  // a function, not a coroutine
  };
  CHECK(co_await message_of<std::runtime_error>(leat::with_task_group(body)) == "cannot begin");
  CHECK(stopped);
}

LEAT_TEST("with_task_group: returns the result of its body") {
  int n = 0;
  const int result = co_await leat::with_task_group([&](task_group& group) -> task<int> {
    group.spawn(count_after(n, 2s));
    co_await leat::sleep_for(1s);
    co_return 7;
  });
  CHECK(result == 7);
  CHECK(n == 1);
}

LEAT_TEST("with_task_group: returns a reference and a move-only result of its body") {
  int n = 0;
  int& same = co_await leat::with_task_group([&](task_group&) -> task<int&> { co_return n; });
  CHECK(&same == &n);
  const auto pointer = co_await leat::with_task_group(
      [&](task_group&) -> task<std::unique_ptr<int>> { co_return std::make_unique<int>(3); });
  CHECK(*pointer == 3);
}

LEAT_TEST("with_task_group: an error of another task replaces the result") {
  CHECK(co_await message_of<std::runtime_error>(
            leat::with_task_group([&](task_group& group) -> task<int> {
              group.spawn(fail_after<void>("late", 2s));
              co_return 7;
            })) == "late");
}

LEAT_TEST("with_task_group: a body that was stopped before its result fails with cancelled") {
  const std::string message =
      co_await message_of(leat::with_task_group([&](task_group& group) -> task<int> {
                            group.request_stop();
                            co_await leat::sleep_for(1s);
                            co_return 7;
                          }),
                          errc::cancelled);
  CHECK(contains(message, "with_task_group()"));
}

}  // namespace with_task_group_test
