// A bounded queue between OS threads, of a std::mutex, two condition variables and a deque.
// TensorFlow's queues work like this. A batch is added, and removed, under one lock. Also the waits
// of such threads, for a stop and for a time.

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <deque>
#include <mutex>
#include <span>
#include <thread>
#include <vector>

#include "support/bench.hpp"
#include "support/thread_queues.hpp"

namespace {

class queue {
 public:
  explicit queue(std::size_t capacity) : capacity_(capacity) {}

  void push(long value) {
    std::unique_lock lock(mutex_);
    room_.wait(lock, [this] { return items_.size() < capacity_; });
    items_.push_back(value);
    lock.unlock();
    there_.notify_one();
  }
  long pop() {
    std::unique_lock lock(mutex_);
    there_.wait(lock, [this] { return !items_.empty(); });
    const long value = items_.front();
    items_.pop_front();
    lock.unlock();
    room_.notify_one();
    return value;
  }

  void push_many(std::span<const long> values) {
    std::unique_lock lock(mutex_);
    room_.wait(lock, [&] { return items_.size() + values.size() <= capacity_; });
    items_.insert(items_.end(), values.begin(), values.end());
    lock.unlock();
    there_.notify_one();
  }
  void pop_many(std::span<long> values) {
    std::unique_lock lock(mutex_);
    there_.wait(lock, [&] { return items_.size() >= values.size(); });
    const auto end = items_.begin() + static_cast<std::ptrdiff_t>(values.size());
    std::copy(items_.begin(), end, values.begin());
    items_.erase(items_.begin(), end);
    lock.unlock();
    room_.notify_one();
  }

 private:
  std::mutex mutex_;
  std::condition_variable room_;
  std::condition_variable there_;
  std::deque<long> items_;
  const std::size_t capacity_;
};

// Moves batches of 64 items through a queue of 1,024 and returns the nanoseconds per item.
double batches(long wanted) {
  constexpr long batch = 64;
  const long items = wanted / batch * batch;
  queue q(1024);
  const bench::stopwatch watch;
  bench::pin(1);
  std::jthread producer([&] {
    bench::pin(0);
    const std::vector<long> values(batch);
    for (long i = 0; i < items; i += batch) q.push_many(values);
  });
  std::vector<long> values(batch);
  for (long i = 0; i < items; i += batch) q.pop_many(values);
  return watch.seconds() * 1e9 / static_cast<double>(items);
}

// Returns the seconds from a stop request until the last of `count` waiting threads has ended.
double stop(int count) {
  std::mutex mutex;
  std::condition_variable changed;
  bool stopped = false;
  int waiting = 0;
  std::vector<std::jthread> threads;
  for (int i = 0; i < count; ++i) {
    threads.emplace_back([&] {
      std::unique_lock lock(mutex);
      ++waiting;
      changed.notify_all();
      changed.wait(lock, [&] { return stopped; });
    });
  }
  {
    std::unique_lock lock(mutex);
    changed.wait(lock, [&] { return waiting == count; });
    stopped = true;
  }
  const bench::stopwatch watch;
  changed.notify_all();
  threads.clear();
  return watch.seconds();
}

// A thread that waits is stopped by another one, again and again.
void stops(bench::latencies& delays) {
  std::mutex mutex;
  std::condition_variable changed;
  std::size_t requested = 0;
  std::atomic<std::size_t> seen = 0;
  long begin = 0;
  std::vector<std::jthread> threads;
  bench::start_threads(threads, 1, 1, 2, [&](long) {
    std::unique_lock lock(mutex);
    for (std::size_t i = 1; i <= delays.wanted(); ++i) {
      changed.wait(lock, [&] { return requested == i; });
      delays.add(bench::seconds_since(begin));
      seen = i;
    }
  });
  bench::pin(0);
  for (std::size_t i = 1; i <= delays.wanted(); ++i) {
    while (seen != i - 1) {
    }
    bench::pace().wait();  // until it sleeps
    {
      const std::unique_lock lock(mutex);
      requested = i;
      begin = bench::nanoseconds_now();
    }
    changed.notify_one();
  }
}

void timed_waits(bench::latencies& delays) {
  bench::pin(0);
  std::mutex mutex;
  std::condition_variable changed;
  std::unique_lock lock(mutex);
  for (std::size_t i = 0; i < delays.wanted(); ++i) {
    const auto due = std::chrono::steady_clock::now() + bench::latencies::sleep;
    changed.wait_until(lock, due, [] { return false; });
    delays.add_since(due);
  }
}

}  // namespace

int main(int argc, char** argv) {
  const bench::request r = bench::parse(argc, argv);
  constexpr auto subject = "mutex and condition variables";
  if (r.workload.starts_with("task/stop")) {
    return bench::report(r, "1,000 threads", stop(1000) * 1e3, "ms");
  }
  if (r.workload == "queue/2-threads/batches-64") {
    return bench::report(r, subject, batches(r.items), "ns/item");
  }
  if (r.workload == "latency/stop" || r.workload == "latency/timer-1") {
    bench::latencies delays(static_cast<std::size_t>(r.items));
    r.workload == "latency/stop" ? stops(delays) : timed_waits(delays);
    return delays.report(r, subject);
  }
  return bench::thread_queues<queue>::main(r, subject);
}
