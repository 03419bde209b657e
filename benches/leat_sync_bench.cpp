// leat's primitives. Each workload runs on one thread unless its name says otherwise.
//
// sync/mutex                locks and unlocks a mutex that no other task uses; ns/lock
// sync/mutex/2-threads      the same, after another thread has locked the mutex once; ns/lock
// sync/semaphore            acquires a permit and returns it; ns/lock
// sync/hand-over-N          N tasks take turns with a mutex; ns/lock
// sync/held-100             100 tasks take turns, and yield while they hold the mutex; ns/lock
// sync/hand-over/2-threads  two tasks on two threads take turns with a mutex; ns/lock. With the
//                           suffix /queue they pass an item through two queues; ns/item
// sync/event/set            sets and resets an event; ns/set
// sync/event/wait           waits for an event that is set; ns/wait
// sync/event/wake-100000    100,000 tasks wait for one event after another; ns/wake
// sync/broadcast-N          sends 64 values, which N receivers then receive; ns/value for each
//                           receiver
// sync/broadcast-N/waiting  the same, but each receiver waits for each value; ns/value
// sync/watch                sets a value, and reads it as a change; ns/change
// sync/watch-1000/waiting   1,000 tasks wait for each change; ns/change for each task

#include <cstdint>
#include <deque>
#include <thread>
#include <vector>

#include <leat/leat.hpp>

#include "support/bench.hpp"
#include "support/pin_threads.hpp"
#include "support/sync_loops.hpp"

namespace {

using leat::task;

struct kit {
  template <class T>
  using task = leat::task<T>;
  static auto lock(leat::mutex& m) { return m.lock(); }
  static auto lock(leat::semaphore& s) { return s.acquire(); }
  static auto wait(leat::event& e) { return e.wait(); }
  static void set(leat::event& e) { e.set(); }
  static auto yield() { return leat::this_task::yield(); }
};
using loops = bench::sync_loops<kit>;

task<> contend(const bench::request& r, long tasks, bench::measured_count& turns) {
  leat::mutex m;
  leat::task_group g;
  auto first = m.try_lock();
  bench::start_signal start(tasks, [&] { first.unlock(); });
  for (long i = 0; i < tasks; ++i) g.spawn(loops::turns(r, m, turns, start));
  co_await g.join();
}

task<> pass(leat::fifo_queue<long>& from, leat::fifo_queue<long>& to,
            bench::measured_count& passes) {
  for (bool more = true; more;) {
    const auto ball = co_await from.pop();
    if (!ball) break;
    more = passes.add();
    co_await to.push(*ball + 1);
  }
  to.close();
}

void pass_between_threads(leat::runtime& rt, bench::measured_count& passes) {
  leat::fifo_queue<long> there(1);
  leat::fifo_queue<long> back(1);
  leat::block_on(there.push(0));
  leat::task_group g;
  g.spawn_on(rt.get_scheduler(0), pass(there, back, passes));
  g.spawn_on(rt.get_scheduler(1), pass(back, there, passes));
  leat::block_on(g.join());
}

void contend_on_two_threads(leat::runtime& rt, bench::measured_count& turns) {
  leat::mutex m;
  leat::task_group g;
  auto first = leat::block_on(m.lock());
  for (std::size_t i = 0; i < 2; ++i) {
    g.spawn_on(rt.get_scheduler(i), loops::take_turns(m, turns));
  }
  while (m.waiting_count() < 2) std::this_thread::yield();
  first.unlock();
  leat::block_on(g.join());
}

task<> wake(long tasks, bench::measured_count& wakes) {
  bench::event_series<leat::event> all(tasks, wakes);
  leat::task_group g;
  for (long i = 0; i < tasks; ++i) g.spawn(loops::wait_for_each(all));
  co_await g.join();
}

void set_and_reset(long count, long& sum) {
  leat::event e;
  for (; sum < count; ++sum) {
    e.set();
    e.reset();
  }
}

using channel = leat::broadcast<long>;

task<> broadcast_values(long receivers, long count, long& sum) {
  channel values(bench::values_per_round);
  std::vector<channel::receiver> all;
  for (long i = 0; i < receivers; ++i) all.push_back(values.subscribe());
  for (long done = 0; done < count; done += receivers * bench::values_per_round) {
    for (long i = 0; i < bench::values_per_round; ++i) co_await values.send(1);
    for (channel::receiver& r : all) {
      for (long i = 0; i < bench::values_per_round; ++i) {
        const auto item = co_await r.next();
        sum += item->value;
      }
    }
  }
}

task<> receive_all(channel::receiver r, long& sum) {
  while (const auto item = co_await r.next()) sum += item->value;
}

task<> broadcast_to_waiting(long receivers, long count, long& sum) {
  channel values(bench::values_per_round);
  leat::task_group g;
  for (long i = 0; i < receivers; ++i) g.spawn(receive_all(values.subscribe(), sum));
  co_await kit::yield();
  for (long sent = 0; sent < count; sent += receivers) {
    co_await values.send(1);
    while (sum < sent + receivers) co_await kit::yield();
  }
  values.close();
  co_await g.join();
}

task<> watch_changes(long count, long& sum) {
  leat::watch<long> value;
  std::uint64_t seen = 0;
  for (long i = 0; i < count; ++i) {
    value.set(1);
    const auto now = co_await value.changed(seen);
    seen = now->version;
    sum += now->value;
  }
}

task<> watch_all(leat::watch<long>& value, long& sum) {
  std::uint64_t seen = 0;
  while (const auto now = co_await value.changed(seen)) {
    seen = now->version;
    sum += now->value;
  }
}

task<> watch_while_waiting(long tasks, long count, long& sum) {
  leat::watch<long> value;
  leat::task_group g;
  for (long i = 0; i < tasks; ++i) g.spawn(watch_all(value, sum));
  co_await kit::yield();
  for (long done = 0; done < count; done += tasks) {
    value.set(1);
    while (sum < done + tasks) co_await kit::yield();
  }
  value.close();
  co_await g.join();
}

int measure_two_threads(const bench::request& r) {
  const bool queue = r.workload.ends_with("/queue");
  leat::runtime rt({.threads = 2});
  bench::pin_threads(rt);
  bench::measured_count turns(r, 1);
  queue ? pass_between_threads(rt, turns) : contend_on_two_threads(rt, turns);
  return bench::report(r, queue ? "leat fifo_queue" : "leat", turns.nanoseconds_each(), "ns/lock");
}

void run_mutex(const bench::request& r, long count, long& sum) {
  leat::mutex m;
  if (r.workload.ends_with("/2-threads")) {
    static_cast<void>(m.try_lock());
    std::jthread([&] { static_cast<void>(leat::block_on(m.lock())); }).join();
  }
  leat::block_on(loops::lock_alone(m, count, sum));
}

void run(const bench::request& r, long receivers, long count, long& sum) {
  if (r.workload.starts_with("sync/mutex")) {
    run_mutex(r, count, sum);
  } else if (r.workload == "sync/semaphore") {
    leat::semaphore s(8);
    leat::block_on(loops::lock_alone(s, count, sum));
  } else if (r.workload == "sync/event/set") {
    set_and_reset(count, sum);
  } else if (r.workload == "sync/event/wait") {
    leat::event e;
    e.set();
    leat::block_on(loops::wait_when_set(e, count, sum));
  } else if (r.workload == "sync/watch") {
    leat::block_on(watch_changes(count, sum));
  } else if (r.workload.starts_with("sync/watch-")) {
    leat::block_on(watch_while_waiting(receivers, count, sum));
  } else if (!r.workload.starts_with("sync/broadcast-")) {
    bench::unknown(r);
  } else {
    leat::block_on(r.workload.ends_with("/waiting") ? broadcast_to_waiting(receivers, count, sum)
                                                    : broadcast_values(receivers, count, sum));
  }
}

}  // namespace

int main(int argc, char** argv) {
  const bench::request r = bench::parse(argc, argv);
  std::jthread([] {}).join();  // turns off the shortcuts for programs with a single thread
  if (r.workload.starts_with("sync/hand-over/2-threads")) return measure_two_threads(r);
  bench::pin(0);
  const bench::delivery each(r);
  if (each.has_turns) {
    bench::measured_count turns(r, each.tasks);
    leat::block_on(each.is_event ? wake(each.tasks, turns) : contend(r, each.tasks, turns));
    return bench::report(r, "leat", turns.nanoseconds_each(), each.unit);
  }
  long sum = 0;
  const double nanoseconds = bench::nanoseconds_each(each.rounds, [&](long count) {
    sum = 0;
    run(r, each.tasks, count, sum);
  });
  if (sum < each.rounds.items) return 1;
  return bench::report(r, "leat", nanoseconds, each.unit);
}
