// leat's tasks.
//
// task/spawn-and-join          trivial tasks, spawned and joined 1,000 at a time; ns/task
// task/spawn-one               a task in a group of its own, spawned and joined; ns/task
// task/when-all-2              trivial tasks in when_all(), 2 at a time; ns/task
// task/when-all-1000           the same, 1,000 at a time; ns/task
// task/spawn-and-join/million  all --items tasks in one group; ns/task
// task/spawned-memory          memory of each such task before it runs; bytes/task
// task/child                   awaits a task that returns immediately; ns/task
// task/generator               a value of a generator that never waits; ns/value. With the suffix
//                              /child, it is the result of an awaited task
// task/blocking                calls of run_blocking() with one thread on the other processor, one
//                              after the other; ns/call
// task/blocking-64             the same, by 64 tasks; ns/call
// task/yield                   a pass through the run queue; ns/task
// task/fib-25                  fib(25), each call an awaited task; ns/task
// task/chain-1000              a call that awaits a call, 1,000 deep; ns/task
// task/timers                  tasks that sleep for 20 to 420 ms, spawned and joined; ns/task
// task/ping-pong               round trips between two threads through two queues; us
// task/ping-pong/one-core      like task/ping-pong, but both threads share a processor; us
// task/stop                    from the stop request until 100,000 waiting loops are joined; ms
// task/stop-as-tuple           like task/stop, with loops that end with an error code; ms

#include <algorithm>
#include <chrono>
#include <thread>
#include <utility>
#include <vector>

#include <leat/leat.hpp>

#include "support/bench.hpp"
#include "support/pin_threads.hpp"
#include "support/stop_loops.hpp"
#include "support/task_loops.hpp"

namespace {

using loops = bench::task_loops<leat::task>;

leat::task<> spawn_and_join(long count, long at_once, long& sum) {
  for (long done = 0; done < count; done += at_once) {
    leat::task_group g;
    for (long i = 0; i < at_once; ++i) g.spawn(loops::add_one(sum));
    co_await g.join();
  }
}

leat::task<> when_all_2(long count, long& sum) {
  for (long done = 0; done < count; done += 2) {
    co_await leat::when_all(loops::add_one(sum), loops::add_one(sum));
  }
}

leat::task<> when_all_1000(long count, long& sum) {
  for (long done = 0; done < count; done += 1000) {
    std::vector<leat::task<>> tasks;
    tasks.reserve(1000);
    for (int i = 0; i < 1000; ++i) tasks.push_back(loops::add_one(sum));
    co_await leat::when_all(std::move(tasks));
  }
}

leat::task<double> spawned_memory(long count) {
  long sum = 0;
  leat::task_group g;
  const std::size_t before = bench::heap_bytes();
  for (long i = 0; i < count; ++i) g.spawn(loops::add_one(sum));
  const std::size_t after = bench::heap_bytes();
  co_await g.join();
  co_return static_cast<double>(after - before) / static_cast<double>(count);
}

leat::async_generator<long> ones(long count) {
  for (long i = 0; i < count; ++i) co_yield 1;
}

leat::task<> values(long count, long& sum) {
  leat::async_generator<long> all = ones(count);
  while (const auto value = co_await all.next()) sum += *value;
}

leat::task<long> one() { co_return 1; }

leat::task<> results(long count, long& sum) {
  for (long i = 0; i < count; ++i) sum += co_await one();
}

leat::task<> yields(long count, long& sum) {
  for (; sum < count; ++sum) co_await leat::this_task::yield();
}

leat::task<> sleep(std::chrono::microseconds duration) { co_await leat::sleep_for(duration); }

leat::task<> timers(long count, long& sum) {
  leat::task_group g;
  for (long i = 0; i < count; ++i) g.spawn(sleep(bench::sleep_of(i)));
  co_await g.join();
  sum += count;
}

leat::task<> answer(leat::fifo_queue<long>& there, leat::fifo_queue<long>& back) {
  while (const auto ball = co_await there.pop()) co_await back.push(*ball + 1);
}

leat::task<> ask(leat::fifo_queue<long>& there, leat::fifo_queue<long>& back,
                 bench::latencies& trips) {
  for (std::size_t i = 0; i < trips.wanted(); ++i) {
    const bench::stopwatch watch;
    co_await there.push(static_cast<long>(i));
    co_await back.pop();
    trips.add(watch.seconds());
  }
  there.close();
}

// On `cpus` processors.
void ping_pong(bench::latencies& trips, std::size_t cpus) {
  leat::runtime rt({.threads = 2});
  bench::pin_threads(rt, cpus);
  leat::fifo_queue<long> there(1);
  leat::fifo_queue<long> back(1);
  leat::task_group g;
  g.spawn_on(rt.get_scheduler(0), ask(there, back, trips));
  g.spawn_on(rt.get_scheduler(1), answer(there, back));
  leat::block_on(g.join());
}

leat::task<> push_forever(leat::fifo_queue<long>& q) {
  for (long i = 0;; ++i) co_await q.push(long{i});
}

//! [loop]
leat::task<> push_until_error(leat::fifo_queue<long>& q) {
  for (long i = 0;; ++i) {
    const auto pushed = co_await leat::as_tuple(q.push(long{i}));
    if (pushed.error || !pushed.value) co_return;  // stopped, or closed
  }
}
//! [/loop]

leat::task<double> stop(long count, leat::task<> (*loop)(leat::fifo_queue<long>&)) {
  leat::fifo_queue<long> q(1);
  leat::task_group g;
  for (long i = 0; i < count; ++i) g.spawn(loop(q));
  while (q.statistics().waiting_pushes + 1 < static_cast<std::size_t>(count)) {
    co_await leat::this_task::yield();
  }
  bench::stop_time time;
  time.begin();
  g.request_stop();
  co_await g.join();
  co_return time.end();
}

leat::task<> call_blocking(leat::blocking_pool& pool, long count, long& sum) {
  const auto add_one = [&sum] { return sum + 1; };
  for (long i = 0; i < count; ++i) sum = co_await leat::run_blocking(pool, add_one);
}

leat::task<> call_blocking_concurrently(long count, long tasks, long& sum) {
  leat::blocking_pool pool({.threads = 1});
  const auto pin = [] { bench::pin(1); };
  co_await leat::run_blocking(pool, pin);
  std::vector<long> sums(static_cast<std::size_t>(tasks));
  leat::task_group g;
  for (long& s : sums) g.spawn(call_blocking(pool, count / tasks + 1, s));
  co_await g.join();
  for (const long s : sums) sum += s;
}

}  // namespace

int main(int argc, char** argv) {
  const bench::request r = bench::parse(argc, argv);
  std::jthread([] {}).join();  // turns off the shortcuts for programs with a single thread
  if (r.workload.starts_with("task/stop")) {
    const bool as_tuple = r.workload == "task/stop-as-tuple";
    const auto loop = as_tuple ? push_until_error : push_forever;
    return bench::report(r, "leat", leat::block_on(stop(bench::loops_to_stop(r), loop)) * 1e3,
                         "ms");
  }
  if (r.workload == "task/spawned-memory") {
    const leat::detail::frame_cache_bypass counted;  // malloc counts the frames
    return bench::report(r, "leat", leat::block_on(spawned_memory(r.items)), "bytes/task");
  }
  if (r.workload.starts_with("task/ping-pong")) {
    bench::latencies trips(static_cast<std::size_t>(r.items));
    ping_pong(trips, r.workload.ends_with("one-core") ? 1 : 2);
    return trips.report(r, "leat");
  }
  bench::pin(0);
  long sum = 0;
  const auto run = [&](long count) {
    sum = 0;
    if (r.workload == "task/spawn-and-join") {
      leat::block_on(spawn_and_join(count, 1000, sum));
    } else if (r.workload == "task/spawn-one") {
      leat::block_on(spawn_and_join(count, 1, sum));
    } else if (r.workload == "task/when-all-2") {
      leat::block_on(when_all_2(count, sum));
    } else if (r.workload == "task/when-all-1000") {
      leat::block_on(when_all_1000(count, sum));
    } else if (r.workload == "task/spawn-and-join/million") {
      leat::block_on(spawn_and_join(count, count, sum));
    } else if (r.workload == "task/generator") {
      leat::block_on(values(count, sum));
    } else if (r.workload == "task/generator/child") {
      leat::block_on(results(count, sum));
    } else if (r.workload.starts_with("task/blocking")) {
      const long tasks = r.workload == "task/blocking" ? 1 : bench::number_of(r);
      leat::block_on(call_blocking_concurrently(count, tasks, sum));
    } else if (r.workload == "task/yield") {
      leat::block_on(yields(count, sum));
    } else if (r.workload == "task/timers") {
      leat::block_on(timers(count, sum));
    } else {
      leat::block_on(loops::loop(r, count, sum));
    }
  };
  // A first pass maps the memory: a virtual machine requests memory that was unused from its host.
  if (r.workload == "task/spawn-and-join/million") run(r.items);
  const double nanoseconds = bench::nanoseconds_each(r, run);
  if (sum < r.items) return 1;
  const bool yields_values = r.workload.starts_with("task/generator");
  const bool calls = r.workload.starts_with("task/blocking");
  return bench::report(r, r.workload == "task/generator/child" ? "leat, awaited tasks" : "leat",
                       nanoseconds,
                       yields_values ? "ns/value"
                       : calls       ? "ns/call"
                                     : "ns/task");
}
