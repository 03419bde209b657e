// The contract of all exclusive locks: semaphore with one permit, mutex, shared_mutex.

#include <stop_token>
#include <type_traits>

#include "leat/sim.hpp"
#include "support/dump.hpp"
#include "support/leat_test.hpp"
#include "support/loops.hpp"
#include "sync/lock_kinds.hpp"

namespace lock_contract_test {

template <class Lock>
task<> take(Lock& lock, std::string& log, char name, leat::duration hold = 1ms) {
  const auto guard = co_await lock.lock();
  log += name;
  if (hold > 0ms) co_await leat::sleep_for(hold);
}

LEAT_TYPED_TEST("lock: one task at a time holds it", LEAT_TEST_LOCKS) {
  TestType lock;
  std::string log;
  task_group group;
  for (char name = 'a'; name <= 'e'; ++name) group.spawn(take(lock, log, name));
  co_await leat::sleep_for(1us);
  CHECK_FALSE(leat_test::is_free(lock));
  co_await group.join();
  // Simulated tasks start in any order, but are served in the order of their requests.
  CHECK(log.size() == 5);
  CHECK(leat_test::is_free(lock));
}

TEMPLATE_TEST_CASE("lock: a guard that is not kept shows whether the lock was free", "[sync]",
                   LEAT_TEST_LOCKS) {
  TestType lock;
  CHECK(static_cast<bool>(lock.try_lock()));
  CHECK_FALSE(!lock.try_lock());
  const auto held = lock.try_lock();
  CHECK(!lock.try_lock());
}

template <class Guard>
void give_back(Guard& guard) {
  guard = Guard();
}

LEAT_TYPED_TEST("lock: waiting tasks are served in order, and no other task overtakes them",
                LEAT_TEST_LOCKS) {
  TestType lock;
  std::string log;
  auto guard = co_await lock.lock();
  task_group group;
  for (char name = 'a'; name <= 'e'; ++name) {
    group.spawn(take(lock, log, name));
    co_await leat::sleep_for(1ms);
  }
  CHECK_FALSE(leat_test::is_free(lock));
  give_back(guard);
  CHECK_FALSE(leat_test::is_free(lock));  // it was handed over in this moment
  co_await group.join();
  CHECK(log == "abcde");
}

template <class Lock>
task<> lock_and_record(Lock& lock, leat_test::outcome& o) {
  o = co_await outcome_of([](Lock& l) -> task<> {
    const auto guard = co_await l.lock();
    co_await leat::sleep_for(1ms);
  }(lock));
}

LEAT_TYPED_TEST("lock: a cancelled wait takes nothing, and the next one is served",
                LEAT_TEST_LOCKS) {
  TestType lock;
  std::string log;
  leat_test::outcome first;
  auto guard = co_await lock.lock();
  task_group stopped;
  task_group others;
  stopped.spawn(lock_and_record(lock, first));
  co_await leat::sleep_for(1ms);
  others.spawn(take(lock, log, 'b'));
  co_await leat::sleep_for(1ms);
  stopped.request_stop();
  co_await stopped.join();
  CHECK(first.code == errc::cancelled);
  CHECK(first.text.starts_with(std::string(TestType::verb) + " " + TestType::type + " 'thing'"));
  CHECK(log.empty());
  give_back(guard);
  co_await others.join();
  CHECK(log == "b");
  CHECK(leat_test::is_free(lock));
}

template <class Lock>
task<> keep_after_grant(Lock& lock, bool& kept) {
  const auto guard = co_await lock.lock();
  kept = static_cast<bool>(guard);
}
TEMPLATE_TEST_CASE("lock: a wait that was served before the stop keeps the lock", "[sync]",
                   LEAT_TEST_LOCKS) {
  TestType lock;
  leat_test::embedded_loop loop;
  bool kept = false;
  auto guard = lock.try_lock();
  task_group group;
  group.spawn_on(loop.get_scheduler(), keep_after_grant(lock, kept));
  loop.run_ready();
  give_back(guard);
  group.request_stop();
  loop.run_ready();
  leat::block_on(group.join());
  CHECK(kept);
  CHECK(leat_test::is_free(lock));
}

LEAT_TYPED_TEST("lock: a limit that expires takes nothing", LEAT_TEST_LOCKS) {
  TestType lock;
  auto guard = co_await lock.lock();
  auto [late, none] = co_await leat::as_tuple(leat::with_timeout(lock.lock(), 5ms));
  CHECK(late == errc::deadline_exceeded);
  CHECK_FALSE(none);
  std::stop_source stop;
  stop.request_stop();
  auto [stopped, nothing] = co_await leat::as_tuple(leat::with_stop(lock.lock(), stop.get_token()));
  CHECK(stopped == errc::cancelled);
  CHECK_FALSE(nothing);
  give_back(guard);
  auto again = co_await leat::with_timeout(lock.lock(), 0ms);
  CHECK(again);
  give_back(again);
  auto [ec, held] = co_await leat::as_tuple(lock.lock());
  CHECK_FALSE(ec);
  CHECK(held);
}

template <class Lock>
task<> select_and_hold(Lock& a, Lock& b, int& won) {
  auto done = co_await leat::select(a.lock(), b.lock());
  won = static_cast<int>(done.index());
  co_await leat::sleep_for(1ms);
}
LEAT_TYPED_TEST("lock: a select that has won one lock passes the other on", LEAT_TEST_LOCKS) {
  TestType a;
  TestType b;
  auto of_a = co_await a.lock();
  auto of_b = co_await b.lock();
  int won = -1;
  task_group group;
  group.spawn(select_and_hold(a, b, won));
  co_await leat::sleep_for(1ms);
  give_back(of_b);
  give_back(of_a);  // the select has b already
  CHECK(leat_test::is_free(a));
  co_await group.join();
  CHECK(won == 1);
  CHECK(leat_test::is_free(b));
}

TEMPLATE_TEST_CASE("lock: a task on another loop receives it there", "[sync]", LEAT_TEST_LOCKS) {
  TestType lock;
  std::string log;
  leat_test::embedded_loop first;
  leat_test::asio_loop second;
  task_group group;
  auto guard = lock.try_lock();
  group.spawn_on(first.get_scheduler(), take(lock, log, 'a', 0ms));
  first.run_ready();
  group.spawn_on(second.get_scheduler(), take(lock, log, 'b', 0ms));
  second.run_ready();
  give_back(guard);
  second.run_ready();
  CHECK(log.empty());  // it was handed to the first one
  first.run_ready();
  CHECK(log == "a");
  second.run_ready();
  CHECK(log == "ab");
  leat::block_on(group.join());
  CHECK(leat_test::is_free(lock));
}

TEMPLATE_TEST_CASE(
    "lock: a task that is destroyed while it waits, or before it resumes, lets the next one "
    "through",
    "[sync]", LEAT_TEST_LOCKS) {
  const bool granted = GENERATE(false, true);
  CAPTURE(granted);
  TestType lock;
  std::string log;
  task_group group;
  task_group dying;
  leat_test::embedded_loop stays;
  leat_test::asio_loop ends;
  auto guard = lock.try_lock();
  dying.spawn_on(ends.get_scheduler(), take(lock, log, 'a'));
  ends.run_ready();
  group.spawn_on(stays.get_scheduler(), take(lock, log, 'b', 0ms));
  stays.run_ready();
  if (granted) give_back(guard);  // to the task on the loop that ends
  ends.end();
  CHECK(leat_test::is_cancelled(dying));
  give_back(guard);
  stays.run_ready();
  leat::block_on(group.join());
  CHECK(log == "b");
  CHECK(leat_test::is_free(lock));
}

TEMPLATE_TEST_CASE("lock: destroyed while an operation waits, it names the task", "[sync]",
                   LEAT_TEST_LOCKS) {
  const std::string text = leat_test::abort_message([] {
    leat_test::embedded_loop loop;
    task_group group;
    std::string log;
    auto lock = std::make_unique<TestType>();
    auto guard = lock->try_lock();
    group.spawn_on(loop.get_scheduler(), take(*lock, log, 'a'), "late");
    loop.run_ready();
    lock.reset();
  });
  CHECK(contains(text,
                 std::string(TestType::type) +
                     " 'thing' destroyed while operations wait on it: join the waiting tasks and "
                     "threads first\n  " +
                     TestType::verb + " of late, at lock_contract_test.cpp"));
}

TEMPLATE_TEST_CASE("lock: destroyed while it is held, it says so", "[sync]", LEAT_TEST_LOCKS) {
  const std::string text = leat_test::abort_message([] {
    auto lock = std::make_unique<TestType>();
    const auto guard = lock->try_lock();
    lock.reset();
  });
  CHECK(contains(text, std::string(TestType::type) + " 'thing' destroyed while guards hold it"));
}

TEMPLATE_TEST_CASE("lock: destroyed while a task holds it, it names the task", "[sync]",
                   LEAT_TEST_LOCKS) {
  const std::string text = leat_test::abort_message([] {
    auto lock = std::make_unique<TestType>();
    leat_test::embedded_loop loop;
    task_group group;
    group.spawn_on(
        loop.get_scheduler(),
        [](TestType& l) -> task<> {
          const auto guard = co_await l.lock();
          co_await leat::sleep_for(1h);
        }(*lock),
        "holder");
    loop.run_ready();
    lock.reset();
  });
  if constexpr (!std::is_same_v<TestType, leat_test::semaphore_lock>) {
    CHECK(contains(text, "destroyed while guards hold it, held by 'holder' for "));
    CHECK(contains(text, " s at lock_contract_test.cpp:"));
  }
  CHECK(contains(text, ": destroy the guards, and join the tasks that have them, first"));
}

LEAT_TYPED_TEST("lock: a dump lists it while operations wait", LEAT_TEST_LOCKS) {
  TestType lock;
  auto guard = co_await lock.lock();
  std::string log;
  task_group group("readers");
  group.spawn(take(lock, log, 'a'), "late");
  co_await leat::sleep_for(1ms);
  const std::string text = leat_test::dump();
  CHECK(contains(text, "late: " + std::string(TestType::verb) + " " + TestType::type + " 'thing'"));
  CHECK(contains(text, std::string("  ") + TestType::verb + " of late, at lock_contract_test.cpp"));
  give_back(guard);
  co_await group.join();
  CHECK(leat_test::dump().find("'thing'") == std::string::npos);  // no operation waits
}

}  // namespace lock_contract_test
