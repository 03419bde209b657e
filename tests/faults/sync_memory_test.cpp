// Operations on primitives allocate nothing in steady state, with and without a wait.

#include <new>

#include <asio/bind_executor.hpp>
#include <asio/io_context.hpp>

#include "faults/failing_allocations.hpp"
#include "leat/base/internal/sanitizers.hpp"
#include "leat/sync.hpp"
#include "support/leat_test.hpp"

namespace sync_memory_test {

#if !LEAT_ASAN  // whose build of the library does not recycle frames

/// Returns the number of allocations of 100 runs, after 10 others.
template <class Object>
std::ptrdiff_t allocations(task<> (*run)(Object&), Object& object) {
  return leat::block_on(leat_test::allocations_of([&] { return run(object); }));
}

/// Runs `waiting` in a task until it waits, then `serve`, and joins the task. The group allocates
/// nothing but frames; see scope_memory_test.cpp.
template <class Object>
task<> serve_waiting(Object& object, task<> (*waiting)(Object&), void (*serve)(Object&)) {
  task_group group;
  group.spawn(waiting(object));
  co_await leat::this_task::yield();
  serve(object);
  co_await group.join();
}

task<> acquire(leat::semaphore& s) { const auto permit = co_await s.acquire(2); }
task<> acquire_after_wait(leat::semaphore& s) {
  auto all = s.try_acquire(2);
  task_group group;
  group.spawn(acquire(s));
  co_await leat::this_task::yield();
  all.release();
  co_await group.join();
}
task<> acquire_limited(leat::semaphore& s) {
  auto all = s.try_acquire(2);
  const auto done = co_await leat::select(s.acquire(), leat::sleep_for(1us));
  CHECK(done.index() == 1);
}
TEST_CASE("semaphore: operations allocate nothing", "[faults]") {
  leat::semaphore s(2, "permits");
  CHECK(allocations(acquire, s) == 0);
  CHECK(allocations(acquire_after_wait, s) == 0);
  CHECK(allocations(acquire_limited, s) == 0);
}

task<> lock(leat::mutex& m) { const auto held = co_await m.lock(); }
task<> lock_after_wait(leat::mutex& m) {
  auto held = m.try_lock();
  task_group group;
  group.spawn(lock(m));
  group.spawn(lock(m));
  co_await leat::this_task::yield();
  held.unlock();
  co_await group.join();
}
TEST_CASE("mutex: operations allocate nothing", "[faults]") {
  leat::mutex m("index");
  CHECK(allocations(lock, m) == 0);
  CHECK(allocations(lock_after_wait, m) == 0);
}

task<> lock_exclusively(leat::shared_mutex& m) { const auto held = co_await m.lock(); }
task<> lock_shared(leat::shared_mutex& m) { const auto held = co_await m.lock_shared(); }
task<> lock_both_after_wait(leat::shared_mutex& m) {
  auto held = m.try_lock();
  task_group group;
  group.spawn(lock_shared(m));
  group.spawn(lock_exclusively(m));
  co_await leat::this_task::yield();
  held.unlock();
  co_await group.join();
}
TEST_CASE("shared_mutex: operations allocate nothing", "[faults]") {
  leat::shared_mutex m("table");
  CHECK(allocations(lock_exclusively, m) == 0);
  CHECK(allocations(lock_shared, m) == 0);
  CHECK(allocations(lock_both_after_wait, m) == 0);
}

task<> wait(leat::event& e) { co_await e.wait(); }
task<> wait_for_set(leat::event& e) {
  e.reset();
  co_await serve_waiting<leat::event>(e, wait, [](leat::event& of) { of.set(); });
}
TEST_CASE("event: operations allocate nothing", "[faults]") {
  leat::event e("ready");
  e.set();
  CHECK(allocations(wait, e) == 0);
  CHECK(allocations(wait_for_set, e) == 0);
}

task<> be_notified(leat::notification& n) { co_await n.wait(); }
task<> notify_and_wait(leat::notification& n) {
  n.notify();
  co_await n.wait();
}
task<> wait_for_notify(leat::notification& n) {
  co_await serve_waiting<leat::notification>(n, be_notified,
                                             [](leat::notification& of) { of.notify(); });
}
TEST_CASE("notification: operations allocate nothing", "[faults]") {
  leat::notification n("work");
  CHECK(allocations(notify_and_wait, n) == 0);
  CHECK(allocations(wait_for_notify, n) == 0);
}

task<> read_latest(leat::watch<int>& w) {
  w.set(1);
  const auto seen = w.current();
  const auto next = co_await w.changed(seen.version - 1);
  CHECK(next->value == 1);
}
task<> wait_for_change(leat::watch<int>& w) { co_await w.changed(w.current().version); }
task<> change_after_wait(leat::watch<int>& w) {
  co_await serve_waiting<leat::watch<int>>(
      w, wait_for_change, [](leat::watch<int>& of) { of.modify([](int& n) { ++n; }); });
}
task<> wait_until_changed(leat::watch<int>& w) {
  w.set(0);
  co_await serve_waiting<leat::watch<int>>(
      w,
      [](leat::watch<int>& of) -> task<> {
        static_cast<void>(co_await of.wait_until([](int n) { return n == 2; }));
      },
      [](leat::watch<int>& of) { of.set(2); });
}
TEST_CASE("watch: operations allocate nothing but the frame of wait_until", "[faults]") {
  leat::watch<int> w(1, "limit");
  CHECK(allocations(read_latest, w) == 0);
  CHECK(allocations(change_after_wait, w) == 0);
  CHECK(allocations(wait_until_changed, w) == 0);
}

struct room {
  leat::broadcast<int> c{2, leat::lag_policy::wait, "room"};
  leat::broadcast<int>::receiver receiver = c.subscribe("ann");
};
task<> send_and_receive(room& r) {
  co_await r.c.send(1);
  const auto item = co_await r.receiver.next();
  CHECK(item->value == 1);
}
task<> receive(room& r) { co_await r.receiver.next(); }
task<> send(room& r) { co_await r.c.send(3); }
task<> receive_after_wait(room& r) {
  co_await serve_waiting<room>(r, receive, [](room& of) { of.c.try_send(1); });
}
task<> send_after_wait(room& r) {
  r.c.try_send(1);
  r.c.try_send(2);
  co_await serve_waiting<room>(r, send, [](room& of) { CHECK(of.receiver.try_next()); });
  CHECK(r.receiver.try_next());
  CHECK(r.receiver.try_next());
}
task<> join_and_leave(room& r) {
  const auto other = r.c.subscribe("bob");
  CHECK(r.c.receiver_count() == 2);
  co_return;
}
TEST_CASE("broadcast: operations allocate nothing", "[faults]") {
  room r;
  CHECK(allocations(send_and_receive, r) == 0);
  CHECK(allocations(receive_after_wait, r) == 0);
  CHECK(allocations(send_after_wait, r) == 0);
  CHECK(allocations(join_and_leave, r) == 0);
}

struct nothing {};
task<> receive_sent(nothing&) {
  auto [sender, receiver] = leat::oneshot<int>("reply");
  CHECK(sender.send(1));
  const auto value = co_await receiver.receive();
  CHECK(value == 1);
}
task<> receive_after_wait(leat::oneshot<int>& c) { co_await c.rx.receive(); }
task<> send_to_waiting(nothing&) {
  leat::oneshot<int> c("reply");
  co_await serve_waiting<leat::oneshot<int>>(c, receive_after_wait,
                                             [](leat::oneshot<int>& of) { CHECK(of.tx.send(1)); });
}
TEST_CASE("oneshot: a channel allocates nothing but a block that is recycled like a frame",
          "[faults]") {
  nothing n;
  CHECK(allocations(receive_sent, n) == 0);
  CHECK(allocations(send_to_waiting, n) == 0);
}

#endif

// Starts an operation with the n-th allocation failing, for every n until it makes fewer.
template <class Start, class IsUnused>
void start_without_memory(Start start, IsUnused is_unused) {
  for (int n = 0;; ++n) {
    INFO("allocation " << n);
    REQUIRE(n < 100);
    asio::io_context io;
    int calls = 0;
    bool thrown = false;
    leat_test::until_failure = n;
    try {
      start(io, calls);
    } catch (const std::bad_alloc&) {
      thrown = true;
    }
    const bool reached = leat_test::until_failure.exchange(-1) < 0;
    REQUIRE(thrown == reached);
    if (thrown) REQUIRE(is_unused());
    io.run();
    REQUIRE(calls == (thrown ? 0 : 1));
    if (!reached) break;
  }
  CHECK(is_unused());
}
TEST_CASE("semaphore: async_acquire without memory throws and takes no permit", "[faults]") {
  leat::semaphore s(1, "permits");
  start_without_memory(
      [&s](asio::io_context& io, int& calls) {
        s.async_acquire(1, asio::bind_executor(
                               io, [&calls](std::error_code ec, const leat::semaphore::guard& g) {
                                 calls += !ec && g ? 1 : 1000;
                               }));
      },
      [&s] { return s.available() == 1; });
}
TEST_CASE("watch: async_changed without memory throws and reads nothing", "[faults]") {
  leat::watch<int> w(1, "limit");
  w.set(2);
  start_without_memory(
      [&w](asio::io_context& io, int& calls) {
        w.async_changed(0, asio::bind_executor(io, [&calls](std::error_code ec, const auto& next) {
                          calls += !ec && next->value == 2 ? 1 : 1000;
                        }));
      },
      [&w] { return w.try_changed(0).has_value(); });
}

}  // namespace sync_memory_test
