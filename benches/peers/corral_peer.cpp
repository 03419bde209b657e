// corral: its channel and its nursery, on one thread. Its timers are those of Asio.

#include <corral/asio-standalone.h>
#include <corral/corral.h>

#include <chrono>
#include <cstddef>
#include <functional>
#include <vector>

#include "support/bench.hpp"
#include "support/producer_order.hpp"
#include "support/stop_loops.hpp"
#include "support/task_loops.hpp"

namespace {

using channel = corral::Channel<long>;
template <class T>
using task = corral::Task<T>;
using loops = bench::task_loops<corral::Task>;

task<void> produce(channel& c, long count) {
  for (long i = 0; i < count; ++i) co_await c.send(i);
}

task<void> consume(channel& c, long count, long& sum) {
  for (long i = 0; i < count; ++i) sum += *co_await c.receive();
}

task<void> produce_batches(channel& c, long count) {
  const std::vector<long> items(64);
  for (long i = 0; i < count; i += 64) {
    auto next = items.begin();
    while (next != items.end()) next = co_await c.send(next, items.end());
  }
}

// Into the same memory each time.
task<void> consume_batches(channel& c, long count, long& sum) {
  std::vector<long> items(64);
  for (long i = 0; i < count;) {
    const auto end = co_await c.receive(items.begin(), 64);
    i += end - items.begin();
    sum += items.front();
  }
}

task<void> on_one_thread(std::size_t capacity, bool batches, long count, long& sum) {
  channel c(capacity);
  if (batches) {
    co_await corral::allOf(produce_batches(c, count), consume_batches(c, count, sum));
  } else {
    co_await corral::allOf(produce(c, count), consume(c, count, sum));
  }
}

task<void> produce_number(channel& c, long number, long count, bench::producer_order& order) {
  order.start();
  for (long i = 0; i < count; ++i) co_await c.send(number);
}

task<void> consume_numbers(channel& c, long count, bench::producer_order& order) {
  while (!order.all_started()) co_await corral::yield;
  for (long i = 0; i < count; ++i) order.add(*co_await c.receive());
}

task<void> many_producers(long each, bench::producer_order& order) {
  channel c(64);
  CORRAL_WITH_NURSERY(producers) {
    for (long i = 0; i < order.producers; ++i) {
      producers.start(produce_number, std::ref(c), i, each, std::ref(order));
    }
    co_await consume_numbers(c, each * order.producers, order);
    co_return corral::join;
  };
}

task<void> spawn_and_join(long count, long at_once, long& sum) {
  for (long done = 0; done < count; done += at_once) {
    CORRAL_WITH_NURSERY(group) {
      for (long i = 0; i < at_once; ++i) group.start(loops::add_one, std::ref(sum));
      co_return corral::join;
    };
  }
}

task<void> when_all_2(long count, long& sum) {
  for (long i = 0; i < count; i += 2)
    co_await corral::allOf(loops::add_one(sum), loops::add_one(sum));
}

task<void> push_forever(channel& c) {
  for (long i = 0;; ++i) co_await c.send(i);
}

// From the cancellation until the frames of all tasks have been destroyed.
task<double> stop(long count) {
  channel c(1);
  bench::stop_time time;
  CORRAL_WITH_NURSERY(group) {
    for (long i = 0; i < count; ++i) group.start(push_forever, std::ref(c));
    co_await corral::yield;
    time.begin();
    co_return corral::cancel;
  };
  co_return time.end();
}

task<double> suspended_memory(long count) {
  channel c(1);
  double bytes = 0;
  const std::size_t before = bench::heap_bytes();
  CORRAL_WITH_NURSERY(group) {
    for (long i = 0; i < count; ++i) group.start(push_forever, std::ref(c));
    co_await corral::yield;
    bytes = static_cast<double>(bench::heap_bytes() - before) / static_cast<double>(count);
    co_return corral::cancel;
  };
  co_return bytes;
}

task<void> sleep(asio::io_context& io, std::chrono::microseconds duration) {
  co_await corral::sleepFor(io, duration);
}

task<void> timers(asio::io_context& io, long count, long& sum) {
  CORRAL_WITH_NURSERY(group) {
    for (long i = 0; i < count; ++i) group.start(sleep, std::ref(io), bench::sleep_of(i));
    co_return corral::join;
  };
  sum += count;
}

task<void> timed_waits(asio::io_context& io, long pending, const bench::request& r) {
  CORRAL_WITH_NURSERY(others) {
    for (long i = 1; i < pending; ++i) others.start(sleep, std::ref(io), std::chrono::hours(1));
    bench::latencies delays(static_cast<std::size_t>(r.items));
    for (std::size_t i = 0; i < delays.wanted(); ++i) {
      const auto due = std::chrono::steady_clock::now() + bench::latencies::sleep;
      co_await corral::sleepFor(io, bench::latencies::sleep);
      delays.add_since(due);
    }
    delays.report(r, "corral on Asio");
    bench::leave();
    co_return corral::cancel;
  };
}

task<void> queue_workload(const bench::request& r, long count, long& sum) {
  if (!r.workload.starts_with("queue/1-thread/")) bench::unknown(r);
  const bool batches = r.workload.ends_with("batches-64");
  const auto capacity = batches ? std::size_t{1024} : static_cast<std::size_t>(bench::number_of(r));
  return on_one_thread(capacity, batches, count, sum);
}

task<void> task_workload(const bench::request& r, asio::io_context& io, long count, long& sum) {
  if (r.workload == "task/spawn-one") return spawn_and_join(count, 1, sum);
  if (r.workload == "task/spawn-and-join") return spawn_and_join(count, 1000, sum);
  if (r.workload == "task/spawn-and-join/million") return spawn_and_join(count, count, sum);
  if (r.workload == "task/when-all-2") return when_all_2(count, sum);
  if (r.workload == "task/timers") return timers(io, count, sum);
  return loops::loop(r, count, sum);
}

}  // namespace

int main(int argc, char** argv) {
  const bench::request r = bench::parse(argc, argv);
  bench::pin(0);
  asio::io_context io(1);
  if (r.workload.starts_with("latency/timer-")) {
    corral::run(io, timed_waits(io, bench::number_of(r), r));
  }
  if (r.workload.starts_with("task/stop")) {
    return bench::report(r, "corral", corral::run(io, stop(bench::loops_to_stop(r))) * 1e3, "ms");
  }
  if (r.workload == "queue/suspended-memory") {
    const double bytes = corral::run(io, suspended_memory(100'000));
    return bench::report(r, "corral channel", bytes, "bytes/task");
  }
  if (r.workload == "queue/1000-producers") {
    return bench::producer_order::measure(r, "corral channel", true,
                                          [&](long each, bench::producer_order& order) {
                                            corral::run(io, many_producers(each, order));
                                          });
  }
  const bool is_task = r.workload.starts_with("task/");
  long sum = 0;
  const auto run = [&](long count) {
    corral::run(io, is_task ? task_workload(r, io, count, sum) : queue_workload(r, count, sum));
  };
  if (r.workload == "task/spawn-and-join/million") run(r.items);  // as in leat_task_bench
  const double nanoseconds = bench::nanoseconds_each(r, run);
  if (sum < 0) return 1;
  return bench::report(r, is_task ? "corral" : "corral channel", nanoseconds,
                       is_task ? "ns/task" : "ns/item");
}
