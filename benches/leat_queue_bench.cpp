// leat's queues.
//
// queue/1-thread/capacity-N    producer and consumer on one scheduler; ns/item
// queue/1-thread/batches-64    the same, with push_many and pop_many of 64, capacity 1024; ns/item
// queue/1-thread/select-64     the same, each pop in a select with a timer; ns/item
// queue/2-threads/capacity-N   one on each of two; ns/item
// queue/2-threads/batches-64   the same, with push_many and pop_many of 64, capacity 1024; ns/item
// queue/1000-producers         1,000 producers, one consumer, capacity 64, one scheduler; ns/item
// queue/suspended-memory       100,000 loops that wait for room; bytes/task

#include <chrono>
#include <string>
#include <thread>
#include <variant>
#include <vector>

#include <leat/leat.hpp>

#include "support/bench.hpp"

namespace {

leat::task<> produce(leat::fifo_queue<long>& q, long count) {
  for (long i = 0; i < count; ++i) co_await q.push(long{i});
}

leat::task<> consume(leat::fifo_queue<long>& q, long count, long& sum) {
  for (long i = 0; i < count; ++i) sum += *co_await q.pop();
}

constexpr long batch = 64;

leat::task<> produce_batches(leat::fifo_queue<long>& q, long count) {
  std::vector<long> items(std::size_t{batch});
  for (long i = 0; i < count; i += batch) co_await q.push_many(items);
}

leat::task<> consume_batches(leat::fifo_queue<long>& q, long count, long& sum) {
  for (long i = 0; i < count; i += batch) {
    const auto items = co_await q.pop_many(batch);
    sum += items->front();
  }
}

leat::task<> select_all(leat::fifo_queue<long>& q, long count, long& sum) {
  for (long i = 0; i < count; ++i) {
    const auto first = co_await leat::select(q.pop(), leat::sleep_for(std::chrono::hours(1)));
    sum += *std::get<0>(first);
  }
}

leat::task<> on_one_thread(const std::string& kind, std::size_t number, long count, long& sum) {
  leat::fifo_queue<long> q(kind == "batches" ? 1024 : number);
  leat::task_group g;
  g.spawn(kind == "batches" ? produce_batches(q, count) : produce(q, count));
  g.spawn(kind == "batches"  ? consume_batches(q, count, sum)
          : kind == "select" ? select_all(q, count, sum)
                             : consume(q, count, sum));
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

void batches_on_two_threads(long count, long& sum) {
  leat::runtime rt({.threads = 2});
  leat::fifo_queue<long> q(1024);
  leat::task_group g;
  g.spawn_on(rt.get_scheduler(0), produce_batches(q, count));
  g.spawn_on(rt.get_scheduler(1), consume_batches(q, count, sum));
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
  // queue/THREADS/KIND-NUMBER
  const std::size_t slash = r.workload.rfind('/') + 1;
  const std::size_t dash = r.workload.rfind('-');
  const std::string kind = r.workload.substr(slash, dash - slash);
  const auto number = static_cast<std::size_t>(std::atol(r.workload.substr(dash + 1).c_str()));
  if (r.workload == "queue/suspended-memory") {
    return bench::report(r, "leat", leat::sync_wait(suspended_memory(100'000)), "bytes/task");
  }
  const auto run = [&](long count) {
    if (r.workload.starts_with("queue/1-thread/")) {
      leat::sync_wait(on_one_thread(kind, number, count, sum));
    } else if (r.workload == "queue/2-threads/batches-64") {
      batches_on_two_threads(count, sum);
    } else if (kind == "capacity") {
      on_two_threads(number, count, sum);
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
