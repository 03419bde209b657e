// libcoro: its ring_buffer, when_all, task_group and thread_pool. The threads of a pool share one
// run queue. A push or pop resumes the coroutine that it wakes directly, on its own thread.

#include <coro/coro.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "support/bench.hpp"
#include "support/producer_order.hpp"
#include "support/stop_loops.hpp"
#include "support/task_loops.hpp"

namespace {

template <class T>
using task = coro::task<T>;
using loops = bench::task_loops<task>;
using pool = std::unique_ptr<coro::thread_pool>;

pool make_pool(std::uint32_t threads, std::size_t first_cpu = 0) {
  return coro::thread_pool::make_unique(
      {.thread_count = threads,
       .on_thread_start_functor = [first_cpu](std::size_t i) { bench::pin(first_cpu + i); }});
}

template <std::size_t Capacity>
task<void> produce(pool& on, coro::ring_buffer<long, Capacity>& q, long count) {
  co_await on->schedule();
  for (long i = 0; i < count; ++i) co_await q.produce(i);
}

template <std::size_t Capacity>
task<void> consume(pool& on, coro::ring_buffer<long, Capacity>& q, long count, long& sum) {
  co_await on->schedule();
  for (long i = 0; i < count; ++i) {
    const auto item = co_await q.consume();
    sum += *item;
  }
}

template <std::size_t Capacity>
void move(pool& on, long producers, long consumers, long count, long& sum) {
  coro::ring_buffer<long, Capacity> q;
  std::vector<long> sums(static_cast<std::size_t>(consumers));
  std::vector<task<void>> all;
  for (long i = 0; i < producers; ++i) all.push_back(produce(on, q, count / producers));
  for (long& part : sums) {
    all.push_back(consume(on, q, count / producers * producers / consumers, part));
  }
  coro::sync_wait(coro::when_all(std::move(all)));
  for (const long part : sums) sum += part;
}

task<void> produce_number(pool& on, coro::ring_buffer<long, 64>& q, long number, long count,
                          bench::producer_order& order) {
  co_await on->schedule();
  order.start();
  for (long i = 0; i < count; ++i) co_await q.produce(number);
}

task<void> consume_numbers(pool& on, coro::ring_buffer<long, 64>& q, long count,
                           bench::producer_order& order) {
  co_await on->schedule();
  while (!order.all_started()) co_await on->yield();
  for (long i = 0; i < count; ++i) {
    const auto item = co_await q.consume();
    order.add(*item);
  }
}

void many_producers(pool& on, long each, bench::producer_order& order) {
  coro::ring_buffer<long, 64> q;
  std::vector<task<void>> all;
  for (long i = 0; i < order.producers; ++i) {
    all.push_back(produce_number(on, q, i, each, order));
  }
  all.push_back(consume_numbers(on, q, each * order.producers, order));
  coro::sync_wait(coro::when_all(std::move(all)));
}

void run_queue(const bench::request& r, pool& on, long count, long& sum) {
  const bool batches = r.workload.ends_with("batches-64");
  const bool pairs = r.workload.starts_with("queue/2-threads/2-by-2/");
  const long producers = pairs ? 2 : 1;
  switch (batches ? 1024 : bench::number_of(r)) {
    case 1: return move<1>(on, producers, pairs ? 2 : 1, count, sum);
    case 64: return move<64>(on, producers, pairs ? 2 : 1, count, sum);
    case 1024: return move<1024>(on, producers, pairs ? 2 : 1, count, sum);
    default: bench::unknown(r);
  }
}

task<void> spawn_and_join(pool& on, long count, long at_once, long& sum) {
  co_await on->schedule();
  for (long done = 0; done < count; done += at_once) {
    coro::task_group<coro::thread_pool> g(on);
    for (long i = 0; i < at_once; ++i) static_cast<void>(g.start(loops::add_one(sum)));
    co_await g;
  }
}

task<void> when_all(long count, long at_once, long& sum) {
  for (long done = 0; done < count; done += at_once) {
    std::vector<task<void>> tasks;
    tasks.reserve(static_cast<std::size_t>(at_once));
    for (long i = 0; i < at_once; ++i) tasks.push_back(loops::add_one(sum));
    co_await coro::when_all(std::move(tasks));
  }
}

task<void> when_all_2(long count, long& sum) {
  for (long done = 0; done < count; done += 2) {
    co_await coro::when_all(loops::add_one(sum), loops::add_one(sum));
  }
}

coro::generator<long> ones(long count) {
  for (long i = 0; i < count; ++i) co_yield 1;
}

// Its generator cannot await.
task<void> values(long count, long& sum) {
  for (const long value : ones(count)) sum += value;
  co_return;
}

task<void> task_workload(const bench::request& r, pool& on, long count, long& sum) {
  if (r.workload == "task/spawn-one") return spawn_and_join(on, count, 1, sum);
  if (r.workload == "task/spawn-and-join") return spawn_and_join(on, count, 1000, sum);
  if (r.workload == "task/spawn-and-join/million") return spawn_and_join(on, count, count, sum);
  if (r.workload == "task/when-all-1000") return when_all(count, 1000, sum);
  if (r.workload == "task/when-all-2") return when_all_2(count, sum);
  if (r.workload == "task/generator") return values(count, sum);
  return loops::loop(r, count, sum);
}

// Its queues resume the waiting coroutine on the thread that wakes it. So a round trip is two
// changes of the pool.
task<void> hop(pool& first, pool& second, bench::latencies& trips) {
  co_await first->schedule();
  for (std::size_t i = 0; i < trips.wanted(); ++i) {
    const long begin = bench::nanoseconds_now();
    co_await second->schedule();
    co_await first->schedule();
    trips.add(bench::seconds_since(begin));
  }
}

task<void> push_until_stopped(coro::ring_buffer<long, 1>& q) {
  for (long i = 0;; ++i) {
    const auto result = co_await q.produce(i);
    if (result != coro::ring_buffer_result::produce::produced) co_return;
  }
}

task<void> shut_down(coro::ring_buffer<long, 1>& q, std::size_t& bytes, bench::stop_time& time) {
  bytes = bench::heap_bytes();
  time.begin();
  co_await q.shutdown();
}

// Many loops wait for free capacity; then the ring buffer is shut down.
int suspend_many(const bench::request& r) {
  const bool memory = r.workload == "queue/suspended-memory";
  const long count = memory ? 100'000 : bench::loops_to_stop(r);
  coro::ring_buffer<long, 1> q;
  std::vector<task<void>> loops;
  loops.reserve(static_cast<std::size_t>(count) + 1);
  const std::size_t before = bench::heap_bytes();
  std::size_t bytes = 0;
  bench::stop_time time;
  for (long i = 0; i < count; ++i) loops.push_back(push_until_stopped(q));
  loops.push_back(shut_down(q, bytes, time));
  coro::sync_wait(coro::when_all(std::move(loops)));
  const double seconds = time.end();
  constexpr auto subject = "libcoro ring_buffer";
  if (!memory) return bench::report(r, subject, seconds * 1e3, "ms");
  const auto used = static_cast<double>(bytes - before);
  return bench::report(r, subject, used / static_cast<double>(count), "bytes/task");
}

}  // namespace

int main(int argc, char** argv) {
  const bench::request r = bench::parse(argc, argv);
  bench::pin(0);
  if (r.workload == "queue/suspended-memory" || r.workload.starts_with("task/stop")) {
    return suspend_many(r);
  }
  if (r.workload.starts_with("task/ping-pong")) {
    pool first = make_pool(1);
    pool second = make_pool(1, r.workload.ends_with("one-core") ? 0 : 1);
    bench::latencies trips(static_cast<std::size_t>(r.items));
    coro::sync_wait(hop(first, second, trips));
    return trips.report(r, "libcoro, a change of the thread pool");
  }
  const bool is_task = r.workload.starts_with("task/");
  pool on = make_pool(r.workload.starts_with("queue/2-threads/") ? 2 : 1);
  if (r.workload == "queue/1000-producers") {
    return bench::producer_order::measure(
        r, "libcoro ring_buffer", false,
        [&](long each, bench::producer_order& order) { many_producers(on, each, order); });
  }
  long sum = 0;
  const auto run = [&](long count) {
    is_task ? coro::sync_wait(task_workload(r, on, count, sum)) : run_queue(r, on, count, sum);
  };
  if (r.workload == "task/spawn-and-join/million") run(r.items);  // as in leat_task_bench
  const double nanoseconds = bench::nanoseconds_each(r, run);
  if (sum < 0) return 1;
  if (r.workload == "task/generator") {
    return bench::report(r, "libcoro generator", nanoseconds, "ns/value");
  }
  return bench::report(r, is_task ? "libcoro" : "libcoro ring_buffer", nanoseconds,
                       is_task ? "ns/task" : "ns/item");
}
