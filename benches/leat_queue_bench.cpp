// leat's queues.
//
// queue/1-thread/capacity-N    producer and consumer on one scheduler; ns/item
// queue/2-threads/capacity-N   one on each of two; ns/item
// queue/1000-producers         1,000 producers, one consumer, capacity 64, one scheduler; ns/item
// queue/suspended-memory       100,000 loops that wait for room; bytes/task

#include <thread>

#include <leat/leat.hpp>

#include "support/bench.hpp"

namespace {

leat::task<> produce(leat::fifo_queue<long>& q, long count) {
  for (long i = 0; i < count; ++i) co_await q.push(long{i});
}

leat::task<> consume(leat::fifo_queue<long>& q, long count, long& sum) {
  for (long i = 0; i < count; ++i) sum += *co_await q.pop();
}

leat::task<> on_one_thread(std::size_t capacity, long count, long& sum) {
  leat::fifo_queue<long> q(capacity);
  leat::task_group g;
  g.spawn(produce(q, count));
  g.spawn(consume(q, count, sum));
  co_await g.join();
}

leat::task<> many_producers(long count, long& sum) {
  leat::fifo_queue<long> q(64);
  leat::task_group g;
  for (int i = 0; i < 1000; ++i) g.spawn(produce(q, count / 1000));
  g.spawn(consume(q, count / 1000 * 1000, sum));
  co_await g.join();
}

void on_two_threads(std::size_t capacity, long count, long& sum) {
  leat::runtime rt({.threads = 2});
  leat::fifo_queue<long> q(capacity);
  leat::task_group g;
  g.spawn_on(rt.get_scheduler(0), produce(q, count));
  g.spawn_on(rt.get_scheduler(1), consume(q, count, sum));
  g.wait_join();
}

leat::task<> push_forever(leat::fifo_queue<long>& q) {
  for (long i = 0;; ++i) co_await q.push(long{i});
}

leat::task<double> suspended_memory(long count) {
  leat::fifo_queue<long> q(1);
  leat::task_group g;
  const std::size_t before = bench::heap_bytes();
  for (long i = 0; i < count; ++i) g.spawn(push_forever(q));
  while (q.statistics().waiting_pushes + 1 < static_cast<std::size_t>(count)) {
    co_await leat::this_task::yield();
  }
  const std::size_t after = bench::heap_bytes();
  g.request_stop();
  co_await g.join();
  co_return static_cast<double>(after - before) / static_cast<double>(count);
}

}  // namespace

int main(int argc, char** argv) {
  const bench::request r = bench::parse(argc, argv);
  std::jthread([] {}).join();  // as in a real program: no shortcut for a single thread
  long sum = 0;
  const auto capacity =
      static_cast<std::size_t>(std::atol(r.workload.substr(r.workload.rfind('-') + 1).c_str()));
  if (r.workload == "queue/suspended-memory") {
    return bench::report(r, "leat", leat::sync_wait(suspended_memory(100'000)), "bytes/task");
  }
  const auto run = [&](long count) {
    if (r.workload.starts_with("queue/1-thread/")) {
      leat::sync_wait(on_one_thread(capacity, count, sum));
    } else if (r.workload.starts_with("queue/2-threads/")) {
      on_two_threads(capacity, count, sum);
    } else if (r.workload == "queue/1000-producers") {
      leat::sync_wait(many_producers(count, sum));
    } else {
      bench::unknown(r);
    }
  };
  run(r.items / 10);
  const bench::stopwatch watch;
  run(r.items);
  const double seconds = watch.seconds();
  if (sum < 0) return 1;  // keeps the sum alive
  return bench::report(r, "leat", seconds * 1e9 / static_cast<double>(r.items), "ns/item");
}
