// Wrong arguments and unusual uses of primitives, as far as the tests of a type do not cover them:
// each has a defined result.

#include <limits>
#include <new>

#include "leat/sync.hpp"
#include "support/leat_test.hpp"
#include "support/loops.hpp"
#include "sync/lock_kinds.hpp"
#include "sync/throwing_copy.hpp"

namespace bad_input_test {

using leat_test::outcome;
using leat_test::throwing_copy;

// -- Locks.

LEAT_TEST("shared_mutex: a task that upgrades its shared lock waits until its limit") {
  leat::shared_mutex m("table");
  const auto reading = co_await m.lock_shared();
  const auto alone = m.try_lock();
  CHECK_FALSE(alone);
  const outcome o = co_await outcome_of([](leat::shared_mutex& of) -> task<> {
    const auto writing = co_await leat::with_timeout(of.lock(), 1ms);
  }(m));
  CHECK(o.code == errc::deadline_exceeded);
  const auto another = m.try_lock_shared();  // the writer that gave up blocks no one
  CHECK(another);
}

// The cleanup of a stopped task may still need the lock.
template <class Lock>
task<> hold_after_stop(Lock& lock, int& step) {
  const auto guard = co_await lock.lock();
  step = 1;
  try {
    co_await leat::sleep_for(1h);
  } catch (const leat::failure&) {
    step = 2;
  }
  leat::scheduler::current()->yield_turn();
  step = leat_test::is_free(lock) ? 0 : 3;
}
TEMPLATE_TEST_CASE("lock: a task that is stopped holds it until its guard is destroyed", "[sync]",
                   LEAT_TEST_LOCKS) {
  TestType lock;
  int step = 0;
  leat_test::embedded_loop loop;
  task_group group;
  group.spawn_on(loop.get_scheduler(), hold_after_stop(lock, step));
  loop.run_ready();
  CHECK(step == 1);
  CHECK_FALSE(leat_test::is_free(lock));
  group.request_stop();
  CHECK_FALSE(leat_test::is_free(lock));
  loop.run_ready();
  CHECK(step == 3);
  CHECK(leat_test::is_free(lock));
  leat::block_on(group.join());
}

// -- Numbers.

LEAT_TEST("rate_limiter: an impossible acquire fails and takes no token") {
  leat::rate_limiter limiter(1, 1s, 2, "requests");
  const outcome none = co_await outcome_of(limiter.acquire(0));
  CHECK(none.code == errc::invalid_argument);
  const outcome many = co_await outcome_of(limiter.acquire(3));
  CHECK(many.code == errc::invalid_argument);
  CHECK(limiter.try_acquire(2));
}

TEST_CASE("broadcast: a capacity beyond all memory is an error") {
  CHECK_THROWS_AS(leat::broadcast<int>(std::numeric_limits<std::size_t>::max()), std::bad_alloc);
}

TEST_CASE("watch: changed with a version that it never had returns the value") {
  leat::watch<int> w(7);
  const auto next = leat::block_on(w.changed(std::numeric_limits<std::uint64_t>::max()));
  REQUIRE(next);
  CHECK(next->value == 7);
  CHECK(next->version == 0);
  CHECK(w.close());
  CHECK(leat::block_on(w.changed(1))->value == 7);  // also after a close
  CHECK_FALSE(leat::block_on(w.changed(0)));
}

// -- Copies that throw.

LEAT_TEST("broadcast: a copy that throws for the sender sends nothing") {
  throwing_copy::failures = 0;
  leat::broadcast<throwing_copy> room(2, leat::lag_policy::wait);
  auto receiver = room.subscribe();
  const throwing_copy value(1);
  throwing_copy::failures = 2;
  CHECK_THROWS_AS(room.try_send(value), leat_test::copy_failed);
  CHECK_THROWS_AS(static_cast<void>(room.send(value)), leat_test::copy_failed);
  CHECK_FALSE(receiver.try_next());
  CHECK(co_await room.send(value));
  CHECK(receiver.try_next()->value.number == 1);
}

TEST_CASE("watch: a copy that throws for the writer changes nothing") {
  throwing_copy::failures = 0;
  leat::watch<throwing_copy> w(throwing_copy(1));
  const throwing_copy value(2);
  throwing_copy::failures = 1;
  CHECK_THROWS_AS(w.set(value), leat_test::copy_failed);
  CHECK(w.current().version == 0);
  CHECK(w.get().number == 1);
}

}  // namespace bad_input_test
