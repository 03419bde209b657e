// Limits on tasks, and tasks as operations of a select.

#include <coroutine>
#include <ostream>
#include <source_location>
#include <variant>

#include "async/task_steps.hpp"
#include "support/leat_test.hpp"

namespace task_limit_test {

using namespace task_steps;

task<int> immediately(int value) { co_return value; }
task<int> ignore_stop(int value) {
  co_await sleep_despite_stop(30s);
  co_return value;
}

// ----------------------------------------------------------------------------------------- limits

LEAT_TEST("with_timeout: a task that returns in time gives its result") {
  CHECK((co_await leat::with_timeout(value_after(7, 1s), 2s)) == 7);
  co_await leat::with_timeout(sleep(1s), 2s);
}

LEAT_TEST("with_timeout: a task that is too slow is stopped, and the limit is reported") {
  const stopwatch time;
  CHECK(co_await code_of(leat::with_timeout(value_after(7, 1000h), 2s)) == errc::deadline_exceeded);
  CHECK(time.elapsed() == 2s);
}

LEAT_TEST("with_timeout: a task that returns despite the stop has won") {
  CHECK((co_await leat::with_timeout(finish_despite_stop(7), 2s)) == 7);
}

LEAT_TEST("with_timeout: an error of the task itself is thrown") {
  CHECK((co_await message_of(leat::with_timeout(fail_after("broken", 1s), 2s))) == "broken");
  CHECK((co_await message_of(leat::with_timeout(fail_when_stopped("late"), 2s))) == "late");
}

LEAT_TEST("with_timeout: a stop of the caller stays cancelled") {
  CHECK(co_await code_of_stopped(leat::with_timeout(value_after(7, 1000h), 100h)) ==
        errc::cancelled);
}

LEAT_TEST("with_timeout: a task that returns despite a stop of the caller gives its result") {
  int result = 0;
  const auto body = [&]() -> task<> {
    result = co_await leat::with_timeout(finish_despite_stop(7), 100h);
  };
  co_await run_and_stop(body());
  CHECK(result == 7);
}

LEAT_TEST("with_timeout: after a stop of the caller the task is not started") {
  task_group group;
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

LEAT_TEST("with_timeout: a limit of 0 or less lets a task end that need not wait") {
  CHECK((co_await leat::with_timeout(immediately(7), 0s)) == 7);
  CHECK((co_await leat::with_timeout(immediately(8), -1s)) == 8);
  const auto [ec, value] = co_await leat::as_tuple(leat::with_timeout(value_after(7, 1s), 0s));
  CHECK(ec == errc::deadline_exceeded);
  const auto [ec2, value2] = co_await leat::as_tuple(leat::with_timeout(value_after(7, 1s), -1h));
  CHECK(ec2 == errc::deadline_exceeded);
}

// ---- A loop that is late.

// Runs `body`, and lets the loop stand still for 1.5 s after its first two turns.
void run_late(task<> body) {
  leat::sim::virtual_scheduler loop;
  task_group group;
  group.spawn_on(loop, std::move(body));
  while (loop.run_now()) {
  }
  loop.advance_to(loop.now() + 1500ms);
  loop.run_to_end();
  leat::block_on(group.join());
}

TEST_CASE("with_timeout: on a late loop, a limit that was due first ends the wait of its task") {
  std::error_code inside, outside;
  const auto sleep_and_note = [&]() -> task<> {
    const auto [ec] = co_await leat::as_tuple(leat::sleep_for(1s));
    inside = ec;
    if (ec) throw leat::failure(ec, "sleep");
  };
  run_late([&]() -> task<> {
    const auto [ec] = co_await leat::as_tuple(leat::with_timeout(sleep_and_note(), 50ms));
    outside = ec;
  }());
  CHECK(inside == errc::cancelled);
  CHECK(outside == errc::deadline_exceeded);
  std::size_t winner = 0;
  run_late([&]() -> task<> {
    winner = (co_await leat::select(sleep_and_note(), leat::sleep_for(50ms))).index();
  }());
  CHECK(inside == errc::cancelled);
  CHECK(winner == 1);
}

// A scope whose stop can be awaited, with a deadline.
struct stoppable_scope final : leat::task_scope {
  stoppable_scope() : task_scope(keeps_results_t{false}, "scope", "other") {}
  ~stoppable_scope() override = default;
  [[nodiscard]] leat::condition_wait wait_for_stop(leat::duration limit) {
    return wait_until(stopped, leat::scheduler::current()->now() + limit,
                      std::source_location::current());
  }
};

TEST_CASE("with_timeout: on a late loop, a limit ends every kind of wait that has a timer") {
  std::error_code selecting, limited, joined, waiting_for_stop;
  const auto in_group = [](auto wait) -> task<> {
    co_await leat::with_task_group([&](task_group& group) -> task<> {
      group.spawn(wait());
      co_return;
    });
  };
  const auto note = [&](std::error_code& out, auto wait) -> task<> {
    const auto [ec] = co_await leat::as_tuple(leat::with_timeout(in_group(wait), 50ms));
    CHECK(ec == errc::deadline_exceeded);
    CHECK(out == errc::cancelled);
  };
  const auto select = [&]() -> task<> {
    const auto first =
        co_await leat::as_tuple(leat::select(leat::sleep_for(1s), leat::sleep_for(2s)));
    selecting = first.error;
    if (selecting) throw leat::failure(selecting, "select");
  };
  const auto limit = [&]() -> task<> {
    const auto value = co_await leat::as_tuple(leat::with_timeout(value_after(7, 3s), 1s));
    limited = value.error;
    if (limited) throw leat::failure(limited, "limit");
  };
  const auto sleep_in_join = [&]() -> task<> {
    const auto child = [&]() -> task<> {
      const auto slept = co_await leat::as_tuple(leat::sleep_for(1s));
      joined = slept.error;
    };
    co_await leat::when_all(child(), child());
    if (joined) throw leat::failure(joined, "join");
  };
  stoppable_scope other;
  const auto wait_for_stop = [&]() -> task<> {
    const auto stopped = co_await leat::as_tuple(other.wait_for_stop(1s));
    waiting_for_stop = stopped.error;
    if (waiting_for_stop) throw leat::failure(waiting_for_stop, "wait for a stop");
  };
  run_late(note(selecting, select));
  run_late(note(limited, limit));
  run_late(note(joined, sleep_in_join));
  run_late(note(waiting_for_stop, wait_for_stop));
}

TEST_CASE("with_timeout: on a late loop, a task that was due before its limit returns its result") {
  int result = 0;
  run_late([&]() -> task<> { result = co_await leat::with_timeout(value_after(7, 40ms), 50ms); }());
  CHECK(result == 7);
}

TEST_CASE("with_timeout: a result that the task has returned is delivered after the limit") {
  // The result is ready in the turn in which the loop stands still.
  leat::sim::virtual_scheduler loop;
  task_group group;
  int result = 0;
  group.spawn_on(loop, [](int& out) -> task<> {
    out = co_await leat::with_timeout(value_after(7, 40ms), 50ms);
  }(result));
  while (loop.run_now()) {
  }
  loop.advance_to(loop.now() + 40ms);
  CHECK(loop.run_now(1));  // the task has returned, and its owner has not resumed
  loop.advance_to(loop.now() + 1s);
  loop.run_to_end();
  leat::block_on(group.join());
  CHECK(result == 7);
}

TEST_CASE("with_timeout: a limit that expires before its task has begun stops the task in time") {
  leat::sim::virtual_scheduler loop;
  task_group group;
  std::error_code code;
  group.spawn_on(loop, [](std::error_code& out) -> task<> {
    const auto [ec, value] = co_await leat::as_tuple(leat::with_timeout(value_after(7, 1s), 50ms));
    out = ec;
  }(code));
  CHECK(loop.run_now(1));  // the caller has begun, and its task has not
  loop.advance_to(loop.now() + 50ms);
  loop.run_now(1);
  loop.advance_to(loop.now() + 2s);  // a late loop: the sleep is due, too
  loop.run_to_end();
  leat::block_on(group.join());
  CHECK(code == errc::deadline_exceeded);
}

TEST_CASE("with_stop: a task begins and may return, although the stop is served before") {
  leat::sim::virtual_scheduler loop;
  task_group group;
  std::stop_source source;
  int result = 0;
  group.spawn_on(loop, [](int& out, std::stop_token token) -> task<> {
    out = co_await leat::with_stop(immediately(7), std::move(token));
  }(result, source.get_token()));
  REQUIRE(loop.ready() == 1);
  loop.run_one(0);
  source.request_stop();
  REQUIRE(loop.ready() == 2);
  loop.run_one(1);  // the stop, which a real loop serves after the start of the task
  REQUIRE(loop.ready() == 1);
  loop.run_one(0);
  loop.run_to_end();
  CHECK(result == 7);
  leat::block_on(group.join());
}

LEAT_TEST("with_timeout: as_tuple returns the code and the result of a task") {
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

LEAT_TEST("with_timeout: describes the wait of a task only for a message") {
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

LEAT_TEST("with_timeout: limits can be nested, and the inner error passes through") {
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

LEAT_TEST("with_deadline: limits a task") {
  leat::scheduler& sched = leat::this_task::get_scheduler();
  CHECK((co_await leat::with_deadline(value_after(7, 1s), sched.now() + 2s)) == 7);
  const auto [ec, value] =
      co_await leat::as_tuple(leat::with_deadline(value_after(7, 3s), sched.now() + 2s));
  CHECK(ec == errc::deadline_exceeded);
}

LEAT_TEST("with_stop: the stop of a token ends a task with cancelled") {
  std::stop_source source;
  task_group group;
  group.spawn(request_stop_after(source, 1s));
  const auto [ec, value] =
      co_await leat::as_tuple(leat::with_stop(value_after(7, 1000h), source.get_token()));
  CHECK(ec == errc::cancelled);
  co_await group.join();
}

LEAT_TEST("with_timeout: move-only results and results without a default value") {
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

LEAT_TEST("with_timeout: can be returned from a function and awaited later") {
  const auto make = [] { return leat::with_timeout(value_after(7, 1s), 2s); };
  auto limited = make();
  co_await leat::sleep_for(5s);
  CHECK((co_await std::move(limited)) == 7);
}

LEAT_TEST("with_timeout: a task that swallows the stop is printed after the grace period") {
  // The real standard error is checked in the subprocess test below; here the task must be joined.
  const stopwatch time;
  CHECK((co_await leat::with_timeout(ignore_stop(3), 1s)) == 3);
  CHECK(time.elapsed() == 30s);
}

TEST_CASE("with_timeout: names a task that does not end after its stop") {
  const std::string text = leat_test::abort_message([] {
    leat::sim::run([]() -> task<> {
      co_await leat::with_timeout(ignore_stop(3), 1s);
      std::abort();
    }());
  });
  CHECK(contains(text, "asked to stop 10 s ago"));
  CHECK(contains(text, "deaf"));
  CHECK(text.find("asked to stop") == text.rfind("asked to stop"));
}

// ----------------------------------------------------------------------------------------- select

LEAT_TEST("select: a task that loses is stopped and joined") {
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

LEAT_TEST("select: an error of a task wins") {
  CHECK((co_await message_of(leat::select(fail_after("broken", 1s), leat::sleep_for(2s)))) ==
        "broken");
  CHECK((co_await message_of(leat::select(fail_when_stopped("late"), leat::sleep_for(2s)))) ==
        "late");
}

LEAT_TEST("select: a stop of the caller stops the task") {
  CHECK(co_await code_of_stopped(leat::select(value_after(7, 1000h), leat::sleep_for(1000h))) ==
        errc::cancelled);
}

TEST_CASE("with_timeout: works on a real loop, with a task destroyed unstarted") {
  const int result = leat::block_on([]() -> task<int> {
    {
      auto unused = leat::with_timeout(value_after(1, 1ms), 1s);
    }
    co_return co_await leat::with_timeout(value_after(7, 1ms), 10s);
  }());
  CHECK(result == 7);
}

TEST_CASE("with_timeout: an empty task terminates with a message") {
  const std::string text = leat_test::abort_message(
      [] { leat::block_on([]() -> task<> { co_await leat::with_timeout(task<int>(), 1s); }()); });
  CHECK(contains(text, "empty task"));
}

}  // namespace task_limit_test
