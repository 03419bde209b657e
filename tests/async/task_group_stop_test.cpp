#include <stop_token>

#include "async/task_steps.hpp"
#include "support/leat_test.hpp"

// A group in a task that was asked to stop.
namespace task_group_stop_test {

using task_steps::run_and_stop;
using task_steps::sleep_long;

task<void> return_when_stopped() {
  static_cast<void>(co_await leat::as_tuple(leat::sleep_for(1000h)));
}

task<void> fail_when_stopped() {
  co_await return_when_stopped();
  throw std::runtime_error("clean-up failed");
}

// Runs `body` and stops it. Returns the message of its error; not that of join(), if the body has
// caught it.
task<std::string> error_of_stopped(task<void> body) {
  std::string error;
  const auto run = [&]() -> task<void> { error = co_await message_of(std::move(body)); };
  co_await run_and_stop(run());
  co_return error;
}

task<void> join_group_of(task<void> (*body)()) {
  task_group group("inner");
  group.spawn(body());
  co_await group.join();
}

LEAT_TEST("task_group: join() throws the `cancelled` that a stop of its task caused") {
  CHECK(co_await error_of_stopped(join_group_of(&sleep_long)) == "sleep: cancelled");
  const auto body = [](task_group& group) -> task<void> {
    group.spawn(sleep_long());
    co_return;
  };
  CHECK(co_await error_of_stopped(leat::with_task_group(body)) == "sleep: cancelled");
}

LEAT_TEST("task_group: join() returns if all tasks returned despite the stop of its task") {
  CHECK(co_await error_of_stopped(join_group_of(&return_when_stopped)) == "");
}

LEAT_TEST("task_group: an error takes precedence over `cancelled`") {
  const auto body = [](task_group& group) -> task<void> {
    group.spawn(sleep_long());
    group.spawn(fail_when_stopped());
    group.spawn(sleep_long());
    co_return;
  };
  CHECK(co_await error_of_stopped(leat::with_task_group(body)) == "clean-up failed");
}

LEAT_TEST("task_group: a limit around a group reports `deadline_exceeded`") {
  const auto body = [](task_group& group) -> task<void> {
    group.spawn(sleep_long());
    co_return;
  };
  const auto [late] =
      co_await leat::as_tuple(leat::with_timeout(leat::with_task_group(body), 20ms));
  CHECK(late == errc::deadline_exceeded);

  const auto returning = [](task_group& group) -> task<void> {
    group.spawn(return_when_stopped());
    co_return;
  };
  const auto [complete] =
      co_await leat::as_tuple(leat::with_timeout(leat::with_task_group(returning), 20ms));
  CHECK_FALSE(complete);
}

LEAT_TEST("task_group: a group that stops itself in a stopped task is no error") {
  // Shielded: the stop of the task has not reached it.
  const auto shielded = []() -> task<void> {
    co_await return_when_stopped();
    task_group group(leat::shielded);
    group.spawn(sleep_long());
    co_await leat::this_task::yield();
    group.request_stop();
    co_await group.join();
  };
  CHECK(co_await error_of_stopped(shielded()) == "");

  // Stopped by the program first: the later stop of the task changes nothing.
  const auto stopped_before = []() -> task<void> {
    task_group group;
    group.spawn(sleep_long());
    co_await leat::this_task::yield();
    group.request_stop();
    co_await return_when_stopped();
    co_await group.join();
  };
  CHECK(co_await error_of_stopped(stopped_before()) == "");
}

LEAT_TEST("task_group: a group that is created in a stopped task reports `cancelled`") {
  const auto late = []() -> task<void> {
    co_await return_when_stopped();
    co_await join_group_of(&sleep_long);
  };
  CHECK(co_await error_of_stopped(late()) == "sleep: cancelled");
}

LEAT_TEST("task_group: join() in a task that was not stopped ignores the stop of another task") {
  std::optional<task_group> group;
  task_group maker;
  maker.spawn([](std::optional<task_group>& g) -> task<void> {
    g.emplace("shared");
    g->spawn(sleep_long());
    co_return;
  }(group));
  co_await maker.join();
  REQUIRE(group);
  maker.request_stop();
  CHECK(group->stop_requested());
  const auto [ec] = co_await leat::as_tuple(group->join());
  CHECK_FALSE(ec);
  CHECK_FALSE(group->first_error());
}

LEAT_TEST("task_group: as_tuple() of join() reports the `cancelled` of a stop") {
  std::error_code code;
  const auto join = [&]() -> task<void> {
    task_group group;
    group.spawn(sleep_long());
    const auto [ec] = co_await leat::as_tuple(group.join());
    code = ec;
    CHECK_FALSE(group.first_error());
  };
  CHECK(co_await error_of_stopped(join()) == "");
  CHECK(code == errc::cancelled);
}

LEAT_TEST("task_group: a join that won a select reports a stop that came meanwhile") {
  task_group outer;
  std::optional<task_group> group;
  std::string message = "none";
  task_group maker;
  maker.spawn([](std::optional<task_group>& g) -> task<void> {
    g.emplace();
    g->spawn(sleep_long());
    co_return;
  }(group));
  co_await maker.join();
  outer.spawn([](task_group& g, std::string& m) -> task<void> {
    m = co_await message_of<leat::failure>(leat::select(g.join(), leat::sleep_for(1h)));
  }(*group, message));
  co_await leat::this_task::yield();
  maker.request_stop();  // ends the group, and so the join
  for (int i = 0; i < 10 && group->live_tasks() > 0; ++i) co_await leat::this_task::yield();
  outer.request_stop();
  co_await outer.join();
  CHECK(message == "sleep: cancelled");
}

LEAT_TEST("with_task_group: a stop discards no result of the body") {
  int result = 0;
  const auto body = [](task_group& group) -> task<int> {
    group.spawn(sleep_long());
    co_return 7;
  };
  const auto call = [&]() -> task<void> { result = co_await leat::with_task_group(body); };
  CHECK(co_await error_of_stopped(call()) == "");
  CHECK(result == 7);

  const auto waiting = [](task_group& group) -> task<int> {
    group.spawn(fail_when_stopped());
    co_return 7;
  };
  const auto fails = [&]() -> task<void> { result = co_await leat::with_task_group(waiting); };
  CHECK(co_await error_of_stopped(fails()) == "clean-up failed");
}

LEAT_TEST("task_group: a callback of the stop does not hide the stop of the task") {
  const auto join = []() -> task<void> {
    task_group group;
    const std::stop_token token = leat::this_task::get_stop_token();
    const std::stop_callback also(token, [&group]() noexcept { group.request_stop(); });
    group.spawn(sleep_long());
    co_await group.join();
  };
  CHECK(co_await error_of_stopped(join()) == "sleep: cancelled");
}

}  // namespace task_group_stop_test
