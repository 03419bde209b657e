#include "leat/async/run_on.hpp"

#include <thread>

#include "async/task_steps.hpp"
#include "support/dump.hpp"
#include "support/leat_test.hpp"
#include "support/loops.hpp"

namespace run_on_test {

using leat::run_on;
using leat_test::asio_loop;
using task_steps::sleep_long;

task<std::thread::id> thread_id() { co_return std::this_thread::get_id(); }
task<int> give(int n) { co_return n; }
task<int&> give_reference(int& n) { co_return n; }
task<std::unique_ptr<int>> give_pointer(int n) {
  co_await leat::sleep_for(10us);
  co_return std::make_unique<int>(n);
}
task<> set(int& n) {
  n = 7;
  co_return;
}
task<int> fail() {
  co_await leat::this_task::yield();
  throw std::runtime_error("failed");
  co_return 0;
}

// ---------------------------------------------------------------------------- several threads

task<bool> changes_thread(leat::scheduler& there) {
  const std::thread::id before = std::this_thread::get_id();
  const std::thread::id other = co_await run_on(there, thread_id());
  const bool is_back = before == std::this_thread::get_id();
  co_return other != before&& is_back;
}

TEST_CASE("run_on: runs the task on the other thread and returns to the caller's") {
  leat::runtime rt({.threads = 2});
  for (int i = 0; i < 20; ++i) CHECK(rt.block_on(changes_thread(rt.get_scheduler(1))));
}

task<> results_of_all_kinds(leat::scheduler& s) {
  CHECK(co_await run_on(s, give(5)) == 5);
  int n = 0;
  int& same = co_await run_on(s, give_reference(n));
  CHECK(&same == &n);
  const auto pointer = co_await run_on(s, give_pointer(3));
  CHECK(*pointer == 3);
  co_await run_on(s, set(n));
  CHECK(n == 7);
}

TEST_CASE("run_on: returns a value, a reference, a move-only object or nothing") {
  leat::runtime rt({.threads = 2});
  rt.block_on(results_of_all_kinds(rt.get_scheduler(0)));
  rt.block_on(results_of_all_kinds(rt.get_scheduler(1)));
}

TEST_CASE("run_on: throws the exception of the task") {
  leat::runtime rt({.threads = 2});
  for (const std::size_t i : {0U, 1U}) {
    CAPTURE(i);
    CHECK(rt.block_on(message_of<std::runtime_error>(run_on(rt.get_scheduler(i), fail()))) ==
          "failed");
  }
}

TEST_CASE("run_on: a stop of the caller stops the task and waits for its end") {
  leat::runtime rt({.threads = 2});
  for (int i = 0; i < 20; ++i) {
    int ended = 0;
    const auto work = [](int& n) -> task<> {
      try {
        co_await leat::sleep_for(1h);
      } catch (const leat::failure&) {
        n = 1;
        throw;
      }
    };
    task_group group;
    group.spawn_on(rt.get_scheduler(0), run_on(rt.get_scheduler(1), work(ended)));
    if (i % 2 == 0) std::this_thread::sleep_for(1ms);
    group.request_stop();
    leat::block_on(group.join());
    CHECK(group.live_tasks() == 0);
    if (i % 2 == 0) CHECK(ended == 1);
  }
}

TEST_CASE("run_on: a stop at any moment leaves no task behind") {
  leat::runtime rt({.threads = 2});
  const auto work = [](int turns) -> task<> {
    for (int i = 0; i < turns; ++i) co_await leat::this_task::yield();
    co_await leat::sleep_for(20us);
  };
  for (int i = 0; i < 400; ++i) {
    task_group group;
    for (int n = 0; n < 3; ++n) {
      group.spawn_on(rt.next_scheduler(), run_on(rt.get_scheduler(1), work(i % 7 * 5)));
    }
    if (i % 3 != 0) std::this_thread::sleep_for(std::chrono::microseconds(i % 50));
    group.request_stop();
    leat::block_on(group.join());
    CHECK(group.live_tasks() == 0);
  }
}

task<> run_with_a_limit(leat::scheduler& there) {
  co_await leat::with_timeout(run_on(there, sleep_long()), 2ms);
}

TEST_CASE("run_on: a time limit stops the task on the other scheduler") {
  leat::runtime rt({.threads = 2});
  CHECK(rt.block_on(code_of(run_with_a_limit(rt.get_scheduler(1)))) == errc::deadline_exceeded);
}

task<int> hop(const std::vector<leat::scheduler*>& all, std::size_t depth) {
  if (depth == 0) co_return 0;
  const int below = co_await run_on(*all[depth % all.size()], hop(all, depth - 1));
  co_return below + 1;
}

TEST_CASE("run_on: nested calls hop between the schedulers") {
  leat::runtime rt({.threads = 3});
  const std::vector<leat::scheduler*> all{&rt.get_scheduler(0), &rt.get_scheduler(1),
                                          &rt.get_scheduler(2)};
  CHECK(rt.block_on(hop(all, 200)) == 200);
}

TEST_CASE("run_on: many tasks call it at the same time") {
  leat::runtime rt({.threads = 3});
  const auto caller = [&](leat::scheduler& there, int& sum) -> task<> {
    for (int i = 0; i < 100; ++i) {
      const int one = co_await run_on(there, give(1));
      sum += one;
    }
  };
  std::vector<int> sums(30);
  task_group group;
  for (std::size_t i = 0; i < sums.size(); ++i) {
    group.spawn_on(rt.get_scheduler(i % 3), caller(rt.get_scheduler((i / 3) % 3), sums[i]));
  }
  leat::block_on(group.join());
  for (const int sum : sums) CHECK(sum == 100);
}

TEST_CASE("run_on: a dump shows the task below its caller") {
  leat::runtime rt({.threads = 2});
  task_group group;
  group.spawn_on(rt.get_scheduler(0), run_on(rt.get_scheduler(1), sleep_long()), "caller");
  std::string text;
  do text = leat_test::dump();
  while (text.find("sleep for another") == std::string::npos);
  group.request_stop();
  leat::block_on(group.join());
  const std::size_t caller = text.find("caller");
  REQUIRE(caller != std::string::npos);
  const std::size_t scope = text.find("run_on, 1 task", caller);
  REQUIRE(scope != std::string::npos);
  CHECK(text.find("sleep for another", scope) != std::string::npos);
}

// -------------------------------------------------------------------------------- two loops

TEST_CASE("run_on: throws cancelled if the other scheduler is destroyed") {
  for (const bool is_started : {false, true}) {
    asio_loop here;
    asio_loop there;
    task_group group;
    group.spawn_on(here.get_scheduler(), run_on(there.get_scheduler(), sleep_long()));
    here.run_ready();
    if (is_started) there.run_ready();
    there.end();
    here.run_ready();
    CHECK(leat_test::is_cancelled(group));
  }
}

TEST_CASE("run_on: the scheduler of the caller, destroyed first, ends the process with a message") {
  const std::string said = leat_test::abort_message([] {
    asio_loop there;
    asio_loop here;
    task_group group;
    group.spawn_on(here.get_scheduler(), run_on(there.get_scheduler(), sleep_long()));
    here.run_ready();
    there.run_ready();
    here.end();
  });
  CHECK(contains(said, "run_on"));
}

TEST_CASE("run_on: the task ends with its own scheduler if both are destroyed") {
  asio_loop here;
  task_group group;
  {
    asio_loop there;
    group.spawn_on(here.get_scheduler(), run_on(there.get_scheduler(), sleep_long()));
    here.run_ready();
    there.run_ready();
  }
  here.end();
  CHECK(leat_test::is_cancelled(group));
}

}  // namespace run_on_test
