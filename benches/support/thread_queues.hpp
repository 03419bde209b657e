#pragma once

// The workloads of queues between OS threads, for any queue with push(long) and pop().

#include <functional>
#include <thread>
#include <vector>

#include "support/bench.hpp"
#include "support/producer_order.hpp"

namespace bench {

/// Calls `run(i)` in `count` threads, number i on processor (first + i) % cpus.
inline void start_threads(std::vector<std::jthread>& threads, long count, long first, long cpus,
                          const std::function<void(long)>& run) {
  for (long i = 0; i < count; ++i) {
    threads.emplace_back([run, i, cpu = (first + i) % cpus] {
      pin(static_cast<std::size_t>(cpu));
      run(i);
    });
  }
}

/// The workloads. Queue: is constructed with its capacity.
template <class Queue>
struct thread_queues {
  /// Moves `count` items from `producers` to `consumers` threads, and returns their sum.
  static long move(std::size_t capacity, long producers, long consumers, long count) {
    Queue q(capacity);
    const long each = count / producers;
    std::vector<long> sums(static_cast<std::size_t>(consumers));
    {
      std::vector<std::jthread> threads;
      start_threads(threads, producers, 0, 2, [&q, each](long) {
        for (long i = 0; i < each; ++i) q.push(i);
      });
      start_threads(threads, consumers, 1, 2, [&](long consumer) {
        long sum = 0;
        for (long i = 0; i < each * producers / consumers; ++i) sum += q.pop();
        sums[static_cast<std::size_t>(consumer)] = sum;
      });
    }
    return sums.front();
  }

  static void many_producers(long each, producer_order& order) {
    Queue q(64);
    std::vector<std::jthread> threads;
    start_threads(threads, order.producers, 0, 2, [&](long number) {
      order.start();
      for (long i = 0; i < each; ++i) q.push(number);
    });
    start_threads(threads, 1, 1, 2, [&](long) {
      while (!order.all_started()) std::this_thread::yield();
      for (long i = 0; i < each * order.producers; ++i) order.add(q.pop());
    });
  }

  /// On `cpus` processors.
  static void ping_pong(latencies& trips, long cpus) {
    Queue there(1);
    Queue back(1);
    std::vector<std::jthread> threads;
    start_threads(threads, 1, 1, cpus, [&](long) {
      for (std::size_t i = 0; i < trips.wanted(); ++i) back.push(there.pop() + 1);
    });
    pin(0);
    for (std::size_t i = 0; i < trips.wanted(); ++i) {
      const long begin = nanoseconds_now();
      there.push(static_cast<long>(i));
      back.pop();
      trips.add(seconds_since(begin));
    }
  }

  /// 10,000 items per second from one thread to another.
  static void arrivals(latencies& delays) {
    Queue q(64);
    std::vector<std::jthread> threads;
    start_threads(threads, 1, 1, 2, [&](long) {
      for (std::size_t i = 0; i < delays.wanted(); ++i) delays.add(seconds_since(q.pop()));
    });
    pin(0);
    pace items;
    for (std::size_t i = 0; i < delays.wanted(); ++i) q.push(items.wait());
  }

  static int main(const request& r, const char* subject) {
    latencies measured(static_cast<std::size_t>(r.items));
    if (r.workload.starts_with("task/ping-pong")) {
      ping_pong(measured, r.workload.ends_with("one-core") ? 1 : 2);
      return measured.report(r, subject);
    }
    if (r.workload == "latency/queue") {
      arrivals(measured);
      return measured.report(r, subject);
    }
    if (r.workload == "queue/1000-producers") {
      return producer_order::measure(r, subject, false, many_producers);
    }
    if (!r.workload.starts_with("queue/2-threads/")) unknown(r);
    const bool pairs = r.workload.find("2-by-2") != std::string::npos;
    const auto capacity = static_cast<std::size_t>(number_of(r));
    long sum = 0;
    const double nanoseconds = nanoseconds_each(
        r, [&](long count) { sum += move(capacity, pairs ? 2 : 1, pairs ? 2 : 1, count); });
    if (sum < 0) return 1;  // the compiler must compute the sum
    return report(r, subject, nanoseconds, "ns/item");
  }
};

}  // namespace bench
