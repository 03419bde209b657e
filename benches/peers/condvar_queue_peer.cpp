// A bounded queue between OS threads, of a std::mutex, two condition variables and a deque.
// TensorFlow's queues work like this. A batch is added, and removed, under one lock.

#include <algorithm>
#include <condition_variable>
#include <cstddef>
#include <deque>
#include <mutex>
#include <span>
#include <thread>
#include <vector>

#include "support/bench.hpp"

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

// On `cpus` processors.
void ping_pong(bench::latencies& trips, std::size_t cpus) {
  queue there(1);
  queue back(1);
  bench::pin(0);
  std::jthread other([&] {
    bench::pin(1 % cpus);
    for (std::size_t i = 0; i < trips.wanted(); ++i) back.push(there.pop() + 1);
  });
  for (std::size_t i = 0; i < trips.wanted(); ++i) {
    const bench::stopwatch watch;
    there.push(static_cast<long>(i));
    back.pop();
    trips.add(watch.seconds());
  }
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

}  // namespace

int main(int argc, char** argv) {
  const bench::request r = bench::parse(argc, argv);
  if (r.workload.starts_with("task/stop")) {
    return bench::report(r, "1,000 threads", stop(1000) * 1e3, "ms");
  }
  if (r.workload.starts_with("task/ping-pong")) {
    bench::latencies trips(static_cast<std::size_t>(r.items));
    ping_pong(trips, r.workload.find("one-core") != std::string::npos ? 1 : 2);
    return bench::report(r, "mutex and condition variables", trips.of(r.workload) * 1e6, "us");
  }
  if (r.workload == "queue/2-threads/batches-64") {
    const double nanoseconds = batches(r.items);
    return bench::report(r, "mutex and condition variables", nanoseconds, "ns/item");
  }
  long producers = 1;
  std::size_t capacity = 64;
  if (r.workload == "queue/1000-producers") {
    producers = 1000;
  } else if (r.workload.starts_with("queue/2-threads/")) {
    capacity = static_cast<std::size_t>(bench::number_of(r));
  } else {
    bench::unknown(r);
  }
  const long each = r.items / producers;
  long sum = 0;
  const bench::stopwatch watch;
  {
    queue q(capacity);
    std::vector<std::jthread> threads;
    if (producers == 1) bench::pin(1);
    for (long p = 0; p < producers; ++p) {
      threads.emplace_back([&q, each, producers] {
        if (producers == 1) bench::pin(0);
        for (long i = 0; i < each; ++i) q.push(i);
      });
    }
    for (long i = 0; i < each * producers; ++i) sum += q.pop();
  }
  const double seconds = watch.seconds();
  if (sum < 0) return 1;
  return bench::report(r, "mutex and condition variables",
                       seconds * 1e9 / static_cast<double>(each * producers), "ns/item");
}
