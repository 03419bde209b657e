// Tasks on several threads use every primitive, with time limits, selects and stops. No permit is
// lost, locks exclude, and each receiver gets or misses each value.

#include <array>
#include <variant>

#include "leat/sync.hpp"
#include "simulation/steps.hpp"

namespace simulation {
namespace {

using namespace std::chrono_literals;
using leat::task;
using leat::sim::world;

constexpr std::size_t permits = 3;
constexpr int rounds_each = 8;

struct rpc_call {
  std::uint64_t number = 0;
  leat::oneshot<std::uint64_t>::sender reply;
};

struct primitives {
  explicit primitives(world& w)
      : room(1 + below(w, 3),
             below(w, 2) == 0 ? leat::lag_policy::overwrite : leat::lag_policy::wait, "room") {}

  leat::semaphore semaphore{permits, "semaphore"};
  leat::mutex mutex{"mutex"};
  leat::shared_mutex table{"table"};
  leat::event event{"event"};
  leat::notification work_arrived{"work arrived"};
  leat::watch<int> work_done{0, "work done"};
  leat::watch<int> count{0, "count"};
  leat::broadcast<int> room;
  leat::fifo_queue<rpc_call> calls{2, "calls"};
  std::size_t held = 0;
  int in_mutex = 0;
  int readers = 0;
  int writers = 0;
  int sent = 0;
  int work_given = 0;
  bool all_given = false;
};

leat::duration some_time(world& w) { return 1us * static_cast<int>(below(w, 5)); }

task<> hold_permits(world& w, primitives& s) {
  const auto wanted = 1 + below(w, permits);
  const auto guard = co_await leat::with_timeout(s.semaphore.acquire(wanted), some_time(w));
  s.held += guard.count();
  require(s.held <= permits, "more permits are held than there are");
  static_cast<void>(co_await leat::as_tuple(leat::sleep_for(some_time(w))));
  s.held -= guard.count();
}

task<> hold_mutex(world& w, primitives& s) {
  auto done = co_await leat::select(s.mutex.lock(), s.event.wait(), leat::sleep_for(some_time(w)));
  if (done.index() != 0) co_return;
  require(++s.in_mutex == 1, "two tasks hold the mutex");
  static_cast<void>(co_await leat::as_tuple(leat::sleep_for(some_time(w))));
  --s.in_mutex;
}

task<> read_table(world& w, primitives& s) {
  const auto guard = co_await leat::with_timeout(s.table.lock_shared(), some_time(w));
  ++s.readers;
  require(s.writers == 0, "a reader is in the table with a writer");
  static_cast<void>(co_await leat::as_tuple(leat::sleep_for(some_time(w))));
  --s.readers;
}

task<> write_table(world& w, primitives& s) {
  const auto guard = co_await leat::with_timeout(s.table.lock(), some_time(w));
  require(++s.writers == 1 && s.readers == 0, "a writer is not alone in the table");
  static_cast<void>(co_await leat::as_tuple(leat::sleep_for(some_time(w))));
  --s.writers;
}

task<> ask_server(world& w, primitives& s, std::uint64_t number) {
  auto [sender, receiver] = leat::oneshot<std::uint64_t>("reply");
  rpc_call c{number, std::move(sender)};
  const bool asked = co_await leat::with_timeout(s.calls.push(std::move(c)), some_time(w));
  if (!asked) co_return;
  const auto reply = co_await leat::with_timeout(receiver.receive(), some_time(w));
  require(!reply || *reply == number + 1, "a reply belongs to another call");
}

// Never ends if the notification is lost.
task<> give_work(primitives& s) {
  const int given = ++s.work_given;
  s.work_arrived.notify();
  static_cast<void>(co_await s.work_done.wait_until([given](int n) { return n >= given; }));
}

task<> use_one_primitive(world& w, primitives& s, std::uint64_t number) {
  switch (below(w, 9)) {
    case 0: return hold_permits(w, s);
    case 1: return hold_mutex(w, s);
    case 2: return read_table(w, s);
    case 3: return write_table(w, s);
    case 4: s.event.set(); break;
    case 5: s.event.reset(); break;
    case 6: s.count.modify([](int& n) { ++n; }); break;
    case 7: return give_work(s);
    default: return ask_server(w, s, number);
  }
  return []() -> task<> { co_return; }();
}

task<> use_primitives(world& w, primitives& s, std::uint64_t self) {
  for (std::uint64_t i = 0; i < rounds_each; ++i) {
    try {
      co_await use_one_primitive(w, s, self * rounds_each + i);
    } catch (const leat::failure& e) {
      require_early_end(e);
    }
  }
}

task<> answer_calls(world& w, primitives& s) {
  for (;;) {
    auto next = co_await s.calls.pop();
    if (!next) co_return;
    co_await leat::sleep_for(some_time(w));
    next->reply.send(next->number + 1);
  }
}

// After each notification, does all work given so far.
task<> do_all_work(world& w, primitives& s) {
  do {
    const auto first = co_await leat::select(s.work_arrived.wait(), leat::sleep_for(some_time(w)));
    if (first.index() != 0) co_await s.work_arrived.wait();
    s.work_done.set(s.work_given);
  } while (!s.all_given);
  s.work_arrived.notify();  // for the other task that does work
}
task<> do_work(world& w, primitives& s) {
  static_cast<void>(co_await leat::as_tuple(do_all_work(w, s)));
  s.work_done.close();  // so that no task waits for one that was stopped
}

// Receives or misses every value, in order.
task<> listen(world& w, primitives& s, leat::broadcast<int>::receiver receiver) {
  int expected = 0;
  for (;;) {
    auto [ec, item] = co_await leat::as_tuple(leat::with_timeout(receiver.next(), 1us));
    if (ec == leat::errc::deadline_exceeded) continue;
    if (ec || !item) break;
    expected += static_cast<int>(item->missed);
    require(item->value == expected, "a receiver has lost a value or received it twice");
    ++expected;
    if (below(w, 2) == 0) co_await leat::sleep_for(some_time(w));
  }
  const bool stopped = leat::this_task::stop_requested();
  require(stopped || expected == s.sent, "a receiver has not received the last value");
}

task<> speak(world& w, primitives& s) {
  for (int i = 0; i < rounds_each; ++i) {
    bool sent = false;
    while (!sent) {
      auto [ec, in] = co_await leat::as_tuple(leat::with_timeout(s.room.send(i), some_time(w)));
      if (ec == leat::errc::cancelled || (!ec && !in)) co_return;  // stopped or closed
      sent = !ec;
    }
    ++s.sent;
  }
}

task<> wait_for_count(primitives& s, int wanted) {
  const auto reached = co_await s.count.wait_until([wanted](int n) { return n >= wanted; });
  require(!reached || *reached >= wanted, "a condition was reported that does not hold");
}

}  // namespace

task<> synchronizing(world& w) {
  primitives s(w);
  w.add_invariants(s.semaphore);
  w.add_invariants(s.mutex);
  w.add_invariants(s.table);
  w.add_invariants(s.event);
  w.add_invariants(s.work_arrived);
  w.add_invariants(s.count);
  w.add_invariants(s.room);
  leat::task_group workers("workers");
  leat::task_group others("others");
  std::exception_ptr error;
  const auto thread = [&w](std::uint64_t i) -> leat::scheduler& {
    return w.thread(static_cast<std::size_t>(i % 3));
  };
  for (std::uint64_t i = 0; i < 5; ++i)
    workers.spawn_on(thread(i), use_primitives(w, s, i), "worker");
  for (std::uint64_t i = 0; i < 3; ++i) {
    others.spawn_on(thread(i), listen(w, s, s.room.subscribe()), "listener");
    others.spawn_on(thread(i + 1), wait_for_count(s, static_cast<int>(i * 2)), "waiter");
  }
  for (std::uint64_t i = 0; i < 2; ++i) others.spawn_on(thread(i), do_work(w, s), "servant");
  others.spawn_on(thread(0), answer_calls(w, s), "server");
  workers.spawn_on(thread(1), speak(w, s), "speaker");
  if (below(w, 3) == 0) {
    co_await leat::sleep_for(2us * below(w, 10));
    (below(w, 2) == 0 ? workers : others).request_stop();
  }
  if (others.stop_requested()) s.room.close();  // without receivers that read, a send would wait
  for (leat::task_group* group : {&workers, &others}) {
    co_await join_into(error, *group);
    s.all_given = true;
    s.work_arrived.notify();
    s.calls.close();
    s.count.close();
    s.room.close();
  }
  w.clear_invariants();
  if (error) std::rethrow_exception(error);
  require(s.semaphore.available() == permits, "permits were lost");
  const bool locked = s.mutex.is_locked();
  require(!locked, "the mutex stays locked");
  const auto alone = s.table.try_lock();
  require(static_cast<bool>(alone), "the table stays locked");
}

}  // namespace simulation
