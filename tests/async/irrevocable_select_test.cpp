// An operation that cannot be undone once it has started, in a select and under a limit.

#include "leat/async/select.hpp"

#include <stop_token>
#include <variant>

#include "async/fake_operations.hpp"
#include "async/task_steps.hpp"
#include "support/leat_test.hpp"
#include "support/loops.hpp"

namespace irrevocable_select_test {

using namespace task_steps;
using leat_test::recorded_start;
using leat_test::take;
using leat_test::transfer;
using leat_test::transfer_script;

LEAT_TEST("select: an irrevocable operation starts last, at any place in the list") {
  transfer_script script{.takes = 1ms};
  const auto done = co_await leat::select(transfer{script}, recorded_start{script.log});
  CHECK(done.index() == 0);
  CHECK(std::get<0>(done) == 7);
  CHECK(script.log == "ose");
}

LEAT_TEST("select: an irrevocable operation does not start if another one completes at once") {
  transfer_script script;
  std::optional<int> store = 3;
  const auto done = co_await leat::select(transfer{script}, take{store, 0ms});
  CHECK(done.index() == 1);
  CHECK(std::get<1>(done) == 3);
  CHECK(script.log.empty());
}

LEAT_TEST("select: throws the error of an irrevocable operation that cannot start") {
  transfer_script script{.cannot_start = true};
  std::optional<int> store = 3;
  const std::string what = co_await message_of(
      leat::select(take{store}, transfer{script}, leat::sleep_for(1s)), errc::resource_exhausted);
  CHECK(contains(what, "cannot start"));
  co_await leat::sleep_for(1s);
  CHECK(store == 3);
}

LEAT_TEST("select: an irrevocable operation that completes while it starts wins") {
  transfer_script script{.at_once = true};
  std::optional<int> store = 3;
  const auto done = co_await leat::select(take{store}, transfer{script});
  CHECK(done.index() == 1);
  CHECK(store == 3);
}

LEAT_TEST("select: waits for the irrevocable operation, and the winner keeps its result") {
  transfer_script script;
  std::optional<int> store = 3;
  const stopwatch time;
  const auto done = co_await leat::select(take{store, 1ms}, transfer{script});
  CHECK(done.index() == 0);
  CHECK(std::get<0>(done) == 3);
  CHECK(time.elapsed() == 6ms);
  CHECK(script.log == "sce");
  CHECK_FALSE(store);
}

LEAT_TEST("select: undoes the winner if the irrevocable operation completes anyway") {
  transfer_script script{.completes_all_the_same = true};
  std::optional<int> store = 3;
  const auto done = co_await leat::select(take{store}, transfer{script});
  CHECK(done.index() == 1);
  CHECK(std::get<1>(done) == 7);
  CHECK(store == 3);
}

LEAT_TEST("select: an irrevocable operation wins over a timer, a stop and a join") {
  std::stop_source source;
  task_group group;
  group.spawn(request_stop_after(source, 1ms));
  {
    transfer_script script{.completes_all_the_same = true};
    const auto done = co_await leat::select(leat::sleep_for(1ms), transfer{script});
    CHECK(done.index() == 1);
  }
  {
    transfer_script script{.completes_all_the_same = true};
    const auto done =
        co_await leat::select(transfer{script}, leat::wait_for_stop(source.get_token()));
    CHECK(done.index() == 1);  // the stop was requested before: it never started
    CHECK(script.log.empty());
  }
  {
    transfer_script script{.completes_all_the_same = true};
    std::stop_source later;
    group.spawn(request_stop_after(later, 1ms));
    const auto done =
        co_await leat::select(transfer{script}, leat::wait_for_stop(later.get_token()));
    CHECK(done.index() == 0);
  }
  {
    transfer_script script{.completes_all_the_same = true};
    group.spawn(sleep(1ms));
    const auto done = co_await leat::select(transfer{script}, group.join());
    CHECK(done.index() == 0);
  }
  co_await group.join();
}

LEAT_TEST("select: the error of a join that was undone stays in its group") {
  task_group group;
  transfer_script script{.completes_all_the_same = true};
  group.spawn([]() -> task<> {
    co_await leat::sleep_for(1ms);
    throw leat::failure(errc::data_loss, "broken");
  }());
  const auto done = co_await leat::select(group.join(), transfer{script});
  CHECK(done.index() == 1);
  const auto [ec] = co_await leat::as_tuple(group.join());
  CHECK(ec == errc::data_loss);
}

LEAT_TEST("select: an error of its own is an effect of the irrevocable operation") {
  transfer_script script{.completes_all_the_same = true, .error = make_error_code(errc::data_loss)};
  std::optional<int> store = 3;
  CHECK(co_await code_of(leat::select(take{store}, transfer{script})) == errc::data_loss);
  CHECK(store == 3);
}

LEAT_TEST("select: a part that the irrevocable operation has done is an effect") {
  transfer_script script{.moved_before_cancel = 2};
  std::optional<int> store = 3;
  const auto [ec, done] = co_await leat::as_tuple(leat::select(take{store}, transfer{script}));
  CHECK(ec == errc::cancelled);
  CHECK(store == 3);
}

task<> select_until_stopped(transfer_script& script, std::string& out) {
  std::optional<int> store = 3;
  try {
    const auto done = co_await leat::select(take{store, 1h}, transfer{script}, leat::sleep_for(2h));
    out = "operation " + std::to_string(done.index());
  } catch (const leat::failure& e) {
    out = e.code() == errc::cancelled ? "cancelled" : e.what();
  }
}

LEAT_TEST("select: a stop of the task waits for the irrevocable operation") {
  for (const bool completes : {false, true}) {
    transfer_script script{.completes_all_the_same = completes};
    std::string outcome;
    task_group group;
    group.spawn(select_until_stopped(script, outcome));
    co_await leat::sleep_for(1ms);
    group.request_stop();
    co_await leat::sleep_for(1ms);
    CHECK(outcome.empty());
    co_await group.join();
    CHECK(script.log == "sce");
    CHECK(outcome == (completes ? "operation 1" : "cancelled"));
  }
}

LEAT_TEST("select: a stop before the wait does not start the irrevocable operation") {
  transfer_script script;
  std::string outcome;
  task_group group;
  group.request_stop();
  group.spawn(select_until_stopped(script, outcome));
  co_await group.join();
  CHECK(outcome == "cancelled");
  CHECK(script.log.empty());
}

LEAT_TEST("select: a dump shows that an irrevocable operation has not ended yet") {
  transfer_script script;
  task_group group("selecting");
  group.spawn([](transfer_script& s) -> task<> {
    co_await leat::select(leat::sleep_for(1ms), transfer{s});
  }(script));
  co_await leat::sleep_for(2ms);
  const auto tasks = group.report();
  REQUIRE(tasks.size() == 1);
  const std::string expected = "select a timer (completed), or transfer, cancelled, not ended yet";
  CHECK(contains(tasks[0].position, expected));
  co_await group.join();
}

LEAT_TEST("as_tuple: returns the result of a select with an irrevocable operation") {
  transfer_script script{.completes_all_the_same = true};
  std::optional<int> store = 3;
  const auto [ec, done] = co_await leat::as_tuple(leat::select(take{store}, transfer{script}));
  CHECK_FALSE(ec);
  REQUIRE(done.index() == 1);
  CHECK(std::get<1>(done) == 7);
}

// ---- Limits.

// Calls `f` with a function that puts each kind of limit of 1 ms on an operation.
template <class F>
task<> for_each_limit(F f) {
  co_await f([](auto&& o) { return leat::with_timeout(std::move(o), 1ms); },
             errc::deadline_exceeded);
  leat::scheduler& sched = leat::this_task::get_scheduler();
  co_await f([&](auto&& o) { return leat::with_deadline(std::move(o), sched.now() + 1ms); },
             errc::deadline_exceeded);
  std::stop_source source;
  task_group group;
  const auto with_stop = [&](auto&& o) {
    source = std::stop_source();
    group.spawn(request_stop_after(source, 1ms));
    return leat::with_stop(std::move(o), source.get_token());
  };
  co_await f(with_stop, errc::cancelled);
  co_await group.join();
}

LEAT_TEST("limits: an irrevocable operation that completes anyway returns its result") {
  const auto body = [](auto with_limit, errc) -> task<> {
    transfer_script script{.completes_all_the_same = true};
    const int moved = co_await with_limit(transfer{script});
    CHECK(moved == 7);
    CHECK(script.log == "sce");
  };
  co_await for_each_limit(body);
}

LEAT_TEST("limits: an irrevocable operation without effect fails with the code of the limit") {
  const auto body = [](auto with_limit, errc code) -> task<> {
    transfer_script script;
    const auto [ec, moved] = co_await leat::as_tuple(with_limit(transfer{script}));
    CHECK(ec == code);
    CHECK(moved == 0);
    CHECK(co_await code_of(with_limit(transfer{script})) == code);
  };
  co_await for_each_limit(body);
}

LEAT_TEST("limits: the part that an irrevocable operation has done is reported") {
  const auto body = [](auto with_limit, errc code) -> task<> {
    transfer_script script{.moved_before_cancel = 2};
    const auto [ec, moved] = co_await leat::as_tuple(with_limit(transfer{script}));
    CHECK(ec == code);
    CHECK(moved == 2);
  };
  co_await for_each_limit(body);
}

LEAT_TEST("limits: an irrevocable operation keeps an error of its own") {
  const auto body = [](auto with_limit, errc) -> task<> {
    transfer_script script{.completes_all_the_same = true,
                           .error = make_error_code(errc::data_loss)};
    const auto [ec, moved] = co_await leat::as_tuple(with_limit(transfer{script}));
    CHECK(ec == errc::data_loss);
    static_cast<void>(moved);
  };
  co_await for_each_limit(body);
}

LEAT_TEST("with_stop: a stop that was requested before does not start an irrevocable operation") {
  std::stop_source source;
  source.request_stop();
  transfer_script script;
  const auto [ec, moved] =
      co_await leat::as_tuple(leat::with_stop(transfer{script}, source.get_token()));
  CHECK(ec == errc::cancelled);
  CHECK(script.log.empty());
  static_cast<void>(moved);
}

// ---- The scheduler is destroyed.

struct pending_select {
  transfer_script script;
  std::optional<int> store = 3;
  task_group group;
  leat_test::asio_loop loop;

  static task<> run(pending_select& self, leat::duration take_after) {
    co_await leat::select(take{self.store, take_after}, transfer{self.script});
  }
  void start(leat::duration take_after) {
    group.spawn_on(loop.get_scheduler(), run(*this, take_after));
    loop.run_ready();
  }
};

TEST_CASE("scheduler end: a select ends its irrevocable operation") {
  pending_select s;
  s.start(1h);
  s.loop.end();
  CHECK(s.script.log == "sd");
  CHECK(s.store == 3);
  CHECK(leat_test::is_cancelled(s.group));
}

TEST_CASE("scheduler end: a select that waits for its irrevocable operation undoes the winner") {
  pending_select s;
  s.script.cancel_takes = 1h;
  s.start(1ns);
  while (s.script.log != "sc") s.loop.run_ready();
  CHECK_FALSE(s.store);
  s.loop.end();
  CHECK(s.script.log == "scd");
  CHECK(s.store == 3);
  CHECK(leat_test::is_cancelled(s.group));
}

}  // namespace irrevocable_select_test
