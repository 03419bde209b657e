// The operations of primitives whose execution context is destroyed first: tasks, selects, limits,
// handlers and coroutines of Asio, in each state of the wait. Nothing resumes, and what the
// operation would have received remains for others.

#include <thread>

#include "leat/sync.hpp"
#include "support/asio_test.hpp"
#include "support/loops.hpp"
#include "sync/wait_kinds.hpp"

namespace teardown_test {

using leat_test::asio_loop;
using leat_test::embedded_loop;
using leat_test::is_cancelled;

// -------------------------------------------------------------------------------------- tasks

template <class Kind>
task<> waits(Kind& kind, bool& resumed) {
  static_cast<void>(co_await kind.wait());
  resumed = true;
}
template <class Kind>
task<> waits_in_time(Kind& kind, bool& resumed) {
  static_cast<void>(co_await leat::with_timeout(kind.wait(), 1h));
  resumed = true;
}
template <class Kind>
task<> selects(Kind& kind, bool& resumed) {
  static_cast<void>(co_await leat::select(leat::sleep_for(1h), kind.wait()));
  resumed = true;
}
task<> sleeps() { co_await leat::sleep_for(1h); }
template <class Kind>
task<> waits_in_when_all(Kind& kind, bool& resumed) {
  co_await leat::when_all(sleeps(), waits(kind, resumed));
  resumed = true;
}
template <class Kind>
task<> waits_in_group(Kind& kind, bool& resumed) {
  task_group group;
  group.spawn(waits(kind, resumed));
  co_await group.join();
  resumed = true;
}

enum class moment { before_the_start, waiting, served, served_by_a_thread };

template <class Kind, class Loop>
void check_end(task<> (*body)(Kind&, bool&), moment when) {
  Kind kind;
  bool resumed = false;
  task_group group;
  Loop loop;
  group.spawn_on(loop.get_scheduler(), body(kind, resumed));
  if (when != moment::before_the_start) loop.run_ready();
  if (when == moment::served) kind.wake();
  if (when == moment::served_by_a_thread) std::thread([&] { kind.wake(); }).join();
  CHECK(group.live_tasks() == 1);
  loop.end();
  CHECK_FALSE(resumed);
  CHECK(group.live_tasks() == 0);
  CHECK(is_cancelled(group));
  if (when == moment::before_the_start || when == moment::waiting) kind.wake();
  CHECK(kind.remains());
}

TEMPLATE_TEST_CASE("wait: a scheduler withdraws it in each of its states", "[sync]",
                   LEAT_TEST_WAITS) {
  for (const auto body : {&waits<TestType>, &waits_in_time<TestType>, &selects<TestType>,
                          &waits_in_when_all<TestType>, &waits_in_group<TestType>}) {
    for (const moment m :
         {moment::before_the_start, moment::waiting, moment::served, moment::served_by_a_thread}) {
      INFO("state " << static_cast<int>(m));
      check_end<TestType, asio_loop>(body, m);
      check_end<TestType, embedded_loop>(body, m);
    }
  }
}

// The wake-up waits in the turn of the other scheduler, which destroys the waiting one.
template <class Kind, class Loop>
task<> wakes_and_ends(Kind& kind, Loop& loop) {
  kind.wake();
  loop.end();
  co_await leat::this_task::yield();
}
template <class Kind, class Loop>
void check_end_in_turn(task<> (*body)(Kind&, bool&)) {
  Kind kind;
  bool resumed = false;
  task_group group;
  task_group others;
  asio_loop living;
  Loop dying;
  group.spawn_on(dying.get_scheduler(), body(kind, resumed));
  dying.run_ready();
  others.spawn_on(living.get_scheduler(), wakes_and_ends(kind, dying));
  living.run_ready();
  leat::block_on(others.join());
  CHECK_FALSE(resumed);
  CHECK(is_cancelled(group));
  CHECK(kind.remains());
}
TEMPLATE_TEST_CASE("wait: is withdrawn if the turn that serves it destroys its scheduler", "[sync]",
                   LEAT_TEST_WAITS) {
  for (const auto body : {&waits<TestType>, &selects<TestType>}) {
    check_end_in_turn<TestType, asio_loop>(body);
    check_end_in_turn<TestType, embedded_loop>(body);
  }
}

// The object lives in the frame of a task that the scheduler destroys.
template <class Kind>
task<> contains(bool& resumed, bool served) {
  Kind kind;
  task_group group;
  group.spawn(waits(kind, resumed));
  co_await leat::this_task::yield();
  if (served) kind.wake();
  co_await leat::sleep_for(1h);
}
TEMPLATE_TEST_CASE("wait: its object may be in a frame that the scheduler destroys", "[sync]",
                   LEAT_TEST_WAITS) {
  for (const bool served : {false, true}) {
    bool resumed = false;
    task_group group;
    embedded_loop loop;
    group.spawn_on(loop.get_scheduler(), contains<TestType>(resumed, served));
    loop.run_one_turn();
    loop.end();
    CHECK(is_cancelled(group));
  }
}

template <class Kind>
task<> passes_on(Kind& kind, bool& resumed, bool& done) {
  static_cast<void>(co_await kind.wait());
  done = !resumed;
}
TEMPLATE_TEST_CASE("wait: a task elsewhere receives what a destroyed task had received", "[sync]",
                   LEAT_TEST_WAITS_FOR_LOCKS, leat_test::waiting_for_event,
                   leat_test::waiting_for_change) {
  for (const auto body : {&waits<TestType>, &selects<TestType>}) {
    TestType kind;
    bool resumed = false;
    bool done = false;
    task_group group;
    task_group others;
    asio_loop living;
    embedded_loop dying;
    group.spawn_on(dying.get_scheduler(), body(kind, resumed));
    dying.run_ready();
    others.spawn_on(living.get_scheduler(), passes_on(kind, resumed, done));
    living.run_ready();
    kind.wake();
    dying.end();
    living.run_ready();
    leat::block_on(others.join());
    CHECK(done);
    CHECK(is_cancelled(group));
    CHECK(kind.remains());
  }
}

TEMPLATE_TEST_CASE("wait: the handler of async_run is not called if its context ends", "[sync]",
                   LEAT_TEST_WAITS) {
  for (const bool served : {false, true}) {
    TestType kind;
    bool resumed = false;
    bool called = false;
    {
      asio::io_context io;
      leat::async_run(io, waits(kind, resumed), [&](const std::exception_ptr&) { called = true; });
      io.poll();
      if (served) kind.wake();
    }
    CHECK_FALSE(resumed);
    CHECK_FALSE(called);
    if (!served) kind.wake();
    CHECK(kind.remains());
  }
}

// ----------------------------------------------------------------------------------- handlers

template <class Kind>
asio::awaitable<void> waits_in_awaitable(Kind& kind, bool& resumed) {
  static_cast<void>(co_await kind.async_wait(asio::use_awaitable));
  resumed = true;
}
TEMPLATE_TEST_CASE("async: a destroyed context withdraws the operation of an Asio coroutine",
                   "[sync]", LEAT_TEST_WAITS_OF_ALL_FORMS) {
  for (const bool served : {false, true}) {
    TestType kind;
    bool resumed = false;
    {
      asio::io_context io;
      asio::co_spawn(io, waits_in_awaitable(kind, resumed), asio::detached);
      io.poll();
      if (served) kind.wake();
    }
    CHECK_FALSE(resumed);
    if (!served) kind.wake();
    CHECK(kind.remains());
  }
}

TEMPLATE_TEST_CASE("async: strands and thread pools withdraw operations as well", "[sync]",
                   LEAT_TEST_WAITS_OF_ALL_FORMS) {
  const bool served = GENERATE(false, true);
  const int form = GENERATE(0, 1, 2, 3);
  TestType kind;
  bool called = false;
  const auto handler = [&](std::error_code, const auto&...) { called = true; };
  if (form < 2) {
    asio::io_context io;
    const auto strand = asio::make_strand(io);
    if (form == 0) kind.async_wait(asio::bind_executor(strand, handler));
    if (form == 1) kind.async_wait(asio::bind_executor(asio::any_io_executor(strand), handler));
    if (served) kind.wake();
  } else {
    asio::thread_pool pool(1);
    pool.stop();
    const auto executor = pool.get_executor();
    if (form == 2) kind.async_wait(asio::bind_executor(executor, handler));
    if (form == 3) kind.async_wait(asio::bind_executor(asio::make_strand(executor), handler));
    if (served) kind.wake();
  }
  CHECK_FALSE(called);
  if (!served) kind.wake();
  CHECK(kind.remains());
}

TEMPLATE_TEST_CASE("async: a handler may own the object", "[sync]", LEAT_TEST_WAITS_OF_ALL_FORMS) {
  enum class end { while_it_waits, before_the_call, after_the_call };
  for (const end e : {end::while_it_waits, end::before_the_call, end::after_the_call}) {
    asio::io_context io;
    auto kind = std::make_shared<TestType>();
    const std::weak_ptr<TestType> alive = kind;
    bool called = false;
    TestType& object = *kind;
    object.async_wait(
        asio::bind_executor(io, [&called, kept = std::move(kind)](std::error_code, auto... result) {
          called = true;
          static_cast<void>(std::make_tuple(std::move(result)...));
        }));
    if (e != end::while_it_waits) object.wake();
    if (e == end::after_the_call) io.run();
    CHECK(called == (e == end::after_the_call));
    CHECK(alive.expired() == called);
  }
}

// ------------------------------------------------------------------ operations of other forms

task<> sends(leat::broadcast<int>& room, bool& resumed) {
  co_await room.send(2);
  resumed = true;
}
TEMPLATE_TEST_CASE("broadcast: a scheduler withdraws a send that waits, not one that was served",
                   "[sync]", asio_loop, embedded_loop) {
  for (const moment when :
       {moment::before_the_start, moment::waiting, moment::served, moment::served_by_a_thread}) {
    leat::broadcast<int> room(1, leat::lag_policy::wait);
    auto receiver = room.subscribe();
    REQUIRE(room.try_send(1));
    bool resumed = false;
    task_group group;
    TestType loop;
    group.spawn_on(loop.get_scheduler(), sends(room, resumed));
    if (when != moment::before_the_start) loop.run_ready();
    if (when == moment::served) CHECK(receiver.try_next()->value == 1);
    if (when == moment::served_by_a_thread) {
      std::thread([&] { static_cast<void>(receiver.try_next()); }).join();
    }
    loop.end();
    CHECK_FALSE(resumed);
    CHECK(is_cancelled(group));
    const bool served = when == moment::served || when == moment::served_by_a_thread;
    CHECK(receiver.try_next()->value == (served ? 2 : 1));
    CHECK_FALSE(receiver.try_next());
  }
}

task<> waits_until(leat::watch<int>& w, bool& resumed) {
  static_cast<void>(co_await w.wait_until([](int n) { return n > 1; }));
  resumed = true;
}
TEMPLATE_TEST_CASE("watch: a scheduler withdraws wait_until in each of its states", "[sync]",
                   asio_loop, embedded_loop) {
  for (const moment when : {moment::before_the_start, moment::waiting, moment::served}) {
    leat::watch<int> w(0);
    bool resumed = false;
    task_group group;
    TestType loop;
    group.spawn_on(loop.get_scheduler(), waits_until(w, resumed));
    if (when != moment::before_the_start) loop.run_ready();
    w.set(1);
    if (when != moment::before_the_start) loop.run_ready();
    if (when == moment::served) w.set(2);
    loop.end();
    CHECK_FALSE(resumed);
    CHECK(is_cancelled(group));
  }
}

task<> takes_token(leat::rate_limiter& limiter, bool& resumed) {
  co_await limiter.acquire();
  resumed = true;
}
TEMPLATE_TEST_CASE("rate_limiter: a scheduler withdraws the tasks that sleep and wait", "[sync]",
                   asio_loop, embedded_loop) {
  leat::rate_limiter limiter(1, 1h, 2);
  REQUIRE(limiter.try_acquire());
  bool resumed = false;
  task_group group;
  TestType loop;
  REQUIRE(limiter.try_acquire());
  for (int i = 0; i < 2; ++i) group.spawn_on(loop.get_scheduler(), takes_token(limiter, resumed));
  const bool started = GENERATE(false, true);
  if (started) loop.run_ready();
  loop.end();
  CHECK_FALSE(resumed);
  CHECK(is_cancelled(group));
  CHECK_FALSE(limiter.try_acquire());  // no token was taken or added
}

// ------------------------------------------------------------------------------------ threads

struct contexts {
  std::optional<asio_loop> io{std::in_place};
  std::optional<embedded_loop> embedded{std::in_place};
};
TEST_CASE("semaphore: threads release permits while contexts with waiting tasks are destroyed") {
  constexpr std::size_t waiting = 8;
  for (int round = 0; round < 100; ++round) {
    leat::semaphore permits(3 * waiting);
    auto held = permits.try_acquire(3 * waiting);
    bool resumed = false;
    int called = 0;
    task_group group;
    contexts c;
    const auto wait = [](leat::semaphore& s, bool& out) -> task<> {
      (co_await s.acquire()).forget();
      out = true;
    };
    const auto select = [](leat::semaphore& s, bool& out) -> task<> {
      co_await leat::select(s.acquire(), leat::sleep_for(1h));
      out = true;
    };
    for (std::size_t i = 0; i < waiting; ++i) {
      group.spawn_on(c.io->get_scheduler(), wait(permits, resumed));
      group.spawn_on(c.embedded->get_scheduler(), select(permits, resumed));
      permits.async_acquire(
          1, asio::bind_executor(c.io->context(), [&](std::error_code, auto) { ++called; }));
    }
    c.io->run_ready();
    c.embedded->run_ready();
    std::thread releasing([&] { held.release(); });
    if (round % 2 == 0) c.io.reset();
    c.embedded.reset();
    c.io.reset();
    releasing.join();
    CHECK_FALSE(resumed);
    CHECK(called == 0);
    CHECK(is_cancelled(group));
    CHECK(permits.available() == 3 * waiting);
  }
}

}  // namespace teardown_test
