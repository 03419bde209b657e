// Limits on tasks, and tasks as operations of a select.

#include <chrono>
#include <coroutine>
#include <memory>
#include <optional>
#include <ostream>
#include <source_location>
#include <stdexcept>
#include <string>
#include <utility>
#include <variant>

#include "leat/async/as_tuple.hpp"
#include "leat/async/loop/sync_wait.hpp"
#include "leat/async/select.hpp"
#include "leat/async/sleep.hpp"
#include "leat/async/task_group.hpp"
#include "leat/async/this_task.hpp"
#include "leat/async/wait_operation.hpp"
#include "leat/base/error.hpp"
#include "support/leat_test.hpp"
#include "support/outcome_of.hpp"
#include "support/refusal.hpp"

namespace task_limit_test {

using namespace std::chrono_literals;
using leat::errc;
using leat::task;
using leat_test::contains;
using leat_test::outcome_of;

task<int> value_after(int value, leat::duration d) {
  co_await leat::sleep_for(d);
  co_return value;
}
task<> sleep(leat::duration d) { co_await leat::sleep_for(d); }
task<int> immediately(int value) { co_return value; }
task<int> finish_despite_stop(int value, leat::duration d) {
  co_await leat::as_tuple(leat::sleep_for(d));
  co_return value;
}
task<int> fail_when_stopped(const char* what) {
  co_await leat::as_tuple(leat::sleep_for(1000h));
  throw std::runtime_error(what);
}
task<int> fail_after(const char* what, leat::duration d) {
  co_await leat::sleep_for(d);
  throw std::runtime_error(what);
}

/// Runs a task and returns the message of any exception.
template <class T>
task<std::string> message_of(T operation) {
  try {
    co_await std::move(operation);
  } catch (const std::exception& e) {
    co_return e.what();
  }
  co_return "";
}

// ----------------------------------------------------------------------------------------- limits

LEAT_TEST("with_timeout: a task that returns in time gives its result", "[async]") {
  CHECK((co_await leat::with_timeout(value_after(7, 1s), 2s)) == 7);
  co_await leat::with_timeout(sleep(1s), 2s);
}

LEAT_TEST("with_timeout: a task that is too slow is stopped, and the limit is reported",
          "[async]") {
  leat::scheduler& sched = co_await leat::this_task::get_scheduler();
  const leat::time_point begin = sched.now();
  std::error_code code;
  try {
    co_await leat::with_timeout(value_after(7, 1000h), 2s);
  } catch (const leat::failure& e) {
    code = e.code();
  }
  CHECK(code == errc::deadline_exceeded);
  CHECK(sched.now() - begin == 2s);
}

LEAT_TEST("with_timeout: a task that returns despite the stop has won", "[async]") {
  CHECK((co_await leat::with_timeout(finish_despite_stop(7, 1000h), 2s)) == 7);
}

LEAT_TEST("with_timeout: an error of the task itself is thrown", "[async]") {
  CHECK((co_await message_of(leat::with_timeout(fail_after("broken", 1s), 2s))) == "broken");
  CHECK((co_await message_of(leat::with_timeout(fail_when_stopped("late"), 2s))) == "late");
}

LEAT_TEST("with_timeout: a stop of the caller stays cancelled", "[async]") {
  leat::task_group group;
  std::error_code code;
  group.spawn([&]() -> task<> {
    const auto [ec, value] =
        co_await leat::as_tuple(leat::with_timeout(value_after(7, 1000h), 100h));
    code = ec;
  });
  co_await leat::sleep_for(1s);
  group.request_stop();
  co_await group.join();
  CHECK(code == errc::cancelled);
}

LEAT_TEST("with_timeout: a task that returns despite a stop of the caller gives its result",
          "[async]") {
  leat::task_group group;
  int result = 0;
  group.spawn([&]() -> task<> {
    result = co_await leat::with_timeout(finish_despite_stop(7, 1000h), 100h);
  });
  co_await leat::sleep_for(1s);
  group.request_stop();
  co_await group.join();
  CHECK(result == 7);
}

LEAT_TEST("with_timeout: after a stop of the caller the task is not started", "[async]") {
  leat::task_group group;
  group.request_stop();
  bool started = false;
  std::error_code code;
  const auto note_start = [&]() -> task<> {
    started = true;
    co_return;
  };
  group.spawn([&]() -> task<> {
    const auto [ec] = co_await leat::as_tuple(leat::with_timeout(note_start(), 1s));
    code = ec;
  });
  co_await group.join();
  CHECK(code == errc::cancelled);
  CHECK(!started);
}

LEAT_TEST("with_timeout: a limit of 0 or less lets a task end that need not wait", "[async]") {
  CHECK((co_await leat::with_timeout(immediately(7), 0s)) == 7);
  CHECK((co_await leat::with_timeout(immediately(8), -1s)) == 8);
  const auto [ec, value] = co_await leat::as_tuple(leat::with_timeout(value_after(7, 1s), 0s));
  CHECK(ec == errc::deadline_exceeded);
  const auto [ec2, value2] = co_await leat::as_tuple(leat::with_timeout(value_after(7, 1s), -1h));
  CHECK(ec2 == errc::deadline_exceeded);
}

LEAT_TEST("with_timeout: as_tuple returns the code and the result of a task", "[async]") {
  const auto [ec, value] = co_await leat::as_tuple(leat::with_timeout(value_after(7, 1s), 2s));
  CHECK(!ec);
  CHECK(value == 7);
  const auto [ec2] = co_await leat::as_tuple(leat::with_timeout(sleep(3s), 2s));
  CHECK(ec2 == errc::deadline_exceeded);
}

/// A wait that ends only by a stop and counts its descriptions.
class described_wait : public leat::wait_operation {
 public:
  explicit described_wait(int& n) noexcept
      : wait_operation(counting_kind, std::source_location::current()), count_(n) {}
  bool await_ready() const noexcept { return false; }
  void await_suspend(std::coroutine_handle<>) noexcept { begin_wait(); }
  void await_resume() const { throw leat::failure(errc::cancelled, "described wait"); }

 private:
  static void cancel(wait_operation& w) noexcept { w.wake(); }
  static void describe(const wait_operation& w, std::ostream& out) {
    out << ++static_cast<const described_wait&>(w).count_;
  }
  static inline const kind counting_kind{"count", &described_wait::cancel,
                                         &described_wait::describe};
  int& count_;
};

LEAT_TEST("with_timeout: describes the wait of a task only for a message", "[async]") {
  int count = 0;
  const auto waiting = [&]() -> task<int> {
    co_await described_wait(count);
    co_return 0;
  };
  const auto [ec, none] = co_await leat::as_tuple(leat::with_timeout(waiting(), 1s));
  CHECK(ec == errc::deadline_exceeded);
  const auto won = co_await leat::select(waiting(), leat::sleep_for(1s));
  CHECK(won.index() == 1);
  CHECK(count == 0);
  const std::string text = co_await message_of(leat::with_timeout(waiting(), 1s));
  CHECK_THAT(text, Catch::Contains("task that waits for count 1"));
  CHECK(count == 1);
}

LEAT_TEST("with_timeout: limits can be nested, and the inner error passes through", "[async]") {
  const auto inner = []() -> task<int> {
    co_return co_await leat::with_timeout(value_after(7, 1000h), 1s);
  };
  const std::string text = co_await message_of(leat::with_timeout(inner(), 2s));
  CHECK(contains(text, "timed out"));
  const auto outer_first = []() -> task<int> {
    co_return co_await leat::with_timeout(value_after(7, 1000h), 100h);
  };
  const auto [ec, value] = co_await leat::as_tuple(leat::with_timeout(outer_first(), 1s));
  CHECK(ec == errc::deadline_exceeded);
}

LEAT_TEST("with_deadline: limits a task", "[async]") {
  leat::scheduler& sched = co_await leat::this_task::get_scheduler();
  CHECK((co_await leat::with_deadline(value_after(7, 1s), sched.now() + 2s)) == 7);
  const auto [ec, value] =
      co_await leat::as_tuple(leat::with_deadline(value_after(7, 3s), sched.now() + 2s));
  CHECK(ec == errc::deadline_exceeded);
}

LEAT_TEST("with_stop: the stop of a token ends a task with cancelled", "[async]") {
  std::stop_source source;
  leat::task_group group;
  group.spawn([&]() -> task<> {
    co_await leat::sleep_for(1s);
    source.request_stop();
  });
  const auto [ec, value] =
      co_await leat::as_tuple(leat::with_stop(value_after(7, 1000h), source.get_token()));
  CHECK(ec == errc::cancelled);
  co_await group.join();
}

LEAT_TEST("with_timeout: move-only results and results without a default value", "[async]") {
  struct page {
    explicit page(int n) : number(std::make_unique<int>(n)) {}
    std::unique_ptr<int> number;
  };
  const auto load = []() -> task<page> {
    co_await leat::sleep_for(1s);
    co_return page(5);
  };
  const page p = co_await leat::with_timeout(load(), 2s);
  CHECK(*p.number == 5);
}

LEAT_TEST("with_timeout: can be returned from a function and awaited later", "[async]") {
  const auto make = [] { return leat::with_timeout(value_after(7, 1s), 2s); };
  auto limited = make();
  co_await leat::sleep_for(5s);
  CHECK((co_await std::move(limited)) == 7);
}

LEAT_TEST("with_timeout: a task that swallows the stop is printed after the grace period",
          "[async]") {
  // The real standard error is checked in the subprocess test below; here the task must be joined.
  leat::scheduler& sched = co_await leat::this_task::get_scheduler();
  const leat::time_point begin = sched.now();
  const auto stubborn = []() -> task<int> {
    for (int i = 0; i < 30; ++i) {
      leat::task_group shielded(leat::shielded);
      shielded.spawn(sleep(1s));
      co_await shielded.join();
    }
    co_return 3;
  };
  CHECK((co_await leat::with_timeout(stubborn(), 1s)) == 3);
  CHECK(sched.now() - begin == 30s);
}

TEST_CASE("with_timeout: names a task that does not end after its stop", "[async]") {
  const std::string text = leat_test::abort_message([] {
    leat::sim::run([]() -> task<> {
      const auto stubborn = []() -> task<> {
        for (int i = 0; i < 30; ++i) {
          leat::task_group shielded(leat::shielded, "stubborn");
          shielded.spawn(sleep(1s));
          co_await shielded.join();
        }
      };
      co_await leat::with_timeout(stubborn(), 1s);
      std::abort();
    }());
  });
  CHECK(contains(text, "asked to stop 10 s ago"));
  CHECK(contains(text, "stubborn"));
  CHECK(text.find("asked to stop") == text.rfind("asked to stop"));
}

// ----------------------------------------------------------------------------------------- select

LEAT_TEST("select: a task that loses is stopped and joined", "[async]") {
  bool ended = false;
  const auto wait = [&]() -> task<int> {
    struct note_end {
      bool& flag;
      ~note_end() { flag = true; }
    } note{ended};
    co_await leat::sleep_for(1000h);
    co_return 1;
  };
  auto won = co_await leat::select(wait(), leat::sleep_for(1s));
  CHECK(won.index() == 1);
  CHECK(ended);
}

LEAT_TEST("select: an error of a task wins", "[async]") {
  CHECK((co_await message_of(leat::select(fail_after("broken", 1s), leat::sleep_for(2s)))) ==
        "broken");
  CHECK((co_await message_of(leat::select(fail_when_stopped("late"), leat::sleep_for(2s)))) ==
        "late");
}

LEAT_TEST("select: a stop of the caller stops the task", "[async]") {
  leat::task_group group;
  std::error_code code;
  group.spawn([&]() -> task<> {
    const auto [ec, won] =
        co_await leat::as_tuple(leat::select(value_after(7, 1000h), leat::sleep_for(1000h)));
    code = ec;
  });
  co_await leat::sleep_for(1s);
  group.request_stop();
  co_await group.join();
  CHECK(code == errc::cancelled);
}

TEST_CASE("with_timeout: works on a real loop, with a task destroyed unstarted", "[async]") {
  const int result = leat::sync_wait([]() -> task<int> {
    {
      auto unused = leat::with_timeout(value_after(1, 1ms), 1s);
    }
    co_return co_await leat::with_timeout(value_after(7, 1ms), 10s);
  }());
  CHECK(result == 7);
}

TEST_CASE("with_timeout: an empty task terminates with a message", "[async]") {
  const std::string text = leat_test::abort_message(
      [] { leat::sync_wait([]() -> task<> { co_await leat::with_timeout(task<int>(), 1s); }()); });
  CHECK(contains(text, "empty task"));
}

}  // namespace task_limit_test
