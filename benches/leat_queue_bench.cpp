// leat's queues.
//
// queue/1-thread/capacity-N    a producer and a consumer on one scheduler; ns/item
// queue/1-thread/batches-64    push_many and pop_many of 64 items, capacity 1024; ns/item
// queue/1-thread/select-64     each pop in a select with a timer, capacity 64; ns/item
// queue/2-threads/capacity-N   a producer and a consumer on two schedulers; ns/item
// queue/2-threads/batches-64   push_many and pop_many of 64 items, capacity 1024; ns/item
// queue/2-threads/2-by-2/capacity-N  a producer and a consumer on each of two schedulers; ns/item
// queue/1000-producers         1,000 producers, one consumer, capacity 64, one scheduler; ns/item
// queue/suspended-memory       100,000 loops that wait for free capacity; bytes/task
// queue/suspended-frame        the frames of these loops, with their waiting operations; bytes/task
// queue/suspended-bare-frame   the frame of such a loop with an empty promise and without an await

#include <array>
#include <chrono>
#include <coroutine>
#include <exception>
#include <string>
#include <thread>
#include <utility>
#include <variant>
#include <vector>

#include <leat/leat.hpp>

#include "support/bench.hpp"
#include "support/pin_threads.hpp"
#include "support/producer_order.hpp"

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
  std::vector<long> memory;
  for (long i = 0; i < count; i += batch) {
    auto items = co_await q.pop_many(batch, std::move(memory));
    sum += items->front();
    memory = std::move(*items);
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

void on_two_threads(std::size_t capacity, long count, long& sum) {
  leat::runtime rt({.threads = 2});
  bench::pin_threads(rt);
  leat::fifo_queue<long> q(capacity);
  leat::task_group g;
  g.spawn_on(rt.get_scheduler(0), produce(q, count));
  g.spawn_on(rt.get_scheduler(1), consume(q, count, sum));
  leat::block_on(g.join());
}

leat::task<> consume_all(leat::fifo_queue<long>& q, long& sum) {
  while (const auto item = co_await q.pop()) sum += *item;
}

void pairs_on_two_threads(std::size_t capacity, long count, long& sum) {
  leat::runtime rt({.threads = 2});
  bench::pin_threads(rt);
  leat::fifo_queue<long> q(capacity);
  leat::task_group producers;
  leat::task_group consumers;
  std::array<long, 2> sums{};
  for (std::size_t i = 0; i < 2; ++i) {
    consumers.spawn_on(rt.get_scheduler(i), consume_all(q, sums[i]));
    producers.spawn_on(rt.get_scheduler(i), produce(q, count / 2));
  }
  leat::block_on(producers.join());
  q.close();
  leat::block_on(consumers.join());
  sum += sums[0] + sums[1];
}

void batches_on_two_threads(long count, long& sum) {
  leat::runtime rt({.threads = 2});
  bench::pin_threads(rt);
  leat::fifo_queue<long> q(1024);
  leat::task_group g;
  g.spawn_on(rt.get_scheduler(0), produce_batches(q, count));
  g.spawn_on(rt.get_scheduler(1), consume_batches(q, count, sum));
  leat::block_on(g.join());
}

leat::task<> produce_number(leat::fifo_queue<long>& q, long number, long count,
                            bench::producer_order& order) {
  order.start();
  for (long i = 0; i < count; ++i) co_await q.push(long{number});
}

leat::task<> consume_numbers(leat::fifo_queue<long>& q, long count, bench::producer_order& order) {
  while (!order.all_started()) co_await leat::this_task::yield();
  for (long i = 0; i < count; ++i) order.add(*co_await q.pop());
}

leat::task<> many_producers(long each, bench::producer_order& order) {
  leat::fifo_queue<long> q(64);
  leat::task_group g;
  for (long i = 0; i < order.producers; ++i) g.spawn(produce_number(q, i, each, order));
  g.spawn(consume_numbers(q, each * order.producers, order));
  co_await g.join();
}

leat::task<> push_forever(leat::fifo_queue<long>& q) {
  for (long i = 0;; ++i) co_await q.push(long{i});
}

double per_task(std::size_t bytes, long count) {
  return static_cast<double>(bytes) / static_cast<double>(count);
}

leat::task<double> suspended_memory(long count, bool frames_only) {
  leat::fifo_queue<long> q(1);
  leat::task_group g;
  std::vector<leat::task<>> loops;
  loops.reserve(static_cast<std::size_t>(count));
  const std::size_t before = bench::heap_bytes();
  for (long i = 0; i < count; ++i) loops.push_back(push_forever(q));
  const std::size_t frames = bench::heap_bytes();
  for (leat::task<>& loop : loops) g.spawn(std::move(loop));
  while (q.statistics().waiting_pushes + 1 < static_cast<std::size_t>(count)) {
    co_await leat::this_task::yield();
  }
  const std::size_t after = bench::heap_bytes();
  g.request_stop();
  co_await g.join();
  co_return per_task((frames_only ? frames : after) - before, count);
}

// The loop of push_forever() without leat: its parameter, its local variable and its item.
struct bare_loop {
  struct promise_type {
    bare_loop get_return_object() {
      return {std::coroutine_handle<promise_type>::from_promise(*this)};
    }
    std::suspend_always initial_suspend() const noexcept { return {}; }
    std::suspend_always final_suspend() const noexcept { return {}; }
    void return_void() const noexcept {}
    void unhandled_exception() const noexcept { std::terminate(); }
  };
  std::coroutine_handle<promise_type> coroutine;
};

struct bare_push : std::suspend_always {
  bare_push(leat::fifo_queue<long>&, long&&) noexcept {}
};

bare_loop push_without_queue(leat::fifo_queue<long>& q) {
  for (long i = 0;; ++i) co_await bare_push(q, long{i});
}

double bare_frame(long count) {
  leat::fifo_queue<long> q(1);
  std::vector<bare_loop> loops;
  loops.reserve(static_cast<std::size_t>(count));
  const std::size_t before = bench::heap_bytes();
  for (long i = 0; i < count; ++i) loops.push_back(push_without_queue(q));
  const std::size_t after = bench::heap_bytes();
  for (const bare_loop& loop : loops) loop.coroutine.resume();
  for (const bare_loop& loop : loops) loop.coroutine.destroy();
  return per_task(after - before, count);
}

}  // namespace

int main(int argc, char** argv) {
  const bench::request r = bench::parse(argc, argv);
  std::jthread([] {}).join();  // turns off the shortcuts for programs with a single thread
  long sum = 0;
  // queue/THREADS/KIND-NUMBER
  const std::size_t slash = r.workload.rfind('/') + 1;
  const std::size_t dash = r.workload.rfind('-');
  const std::string kind = r.workload.substr(slash, dash - slash);
  const auto number = static_cast<std::size_t>(bench::number_of(r));
  if (r.workload == "queue/suspended-bare-frame") {
    return bench::report(r, "empty promise", bare_frame(100'000), "bytes/task");
  }
  if (r.workload.starts_with("queue/suspended-")) {
    const bool frames_only = r.workload == "queue/suspended-frame";
    const leat::detail::frame_cache_bypass counted;  // malloc counts the frames
    const double bytes = leat::block_on(suspended_memory(100'000, frames_only));
    return bench::report(r, "leat", bytes, "bytes/task");
  }
  if (r.workload == "queue/1000-producers") {
    bench::pin(0);
    return bench::producer_order::measure(r, "leat", true,
                                          [](long each, bench::producer_order& order) {
                                            leat::block_on(many_producers(each, order));
                                          });
  }
  const auto run = [&](long count) {
    if (r.workload.starts_with("queue/1-thread/")) {
      bench::pin(0);
      leat::block_on(on_one_thread(kind, number, count, sum));
    } else if (r.workload == "queue/2-threads/batches-64") {
      batches_on_two_threads(count, sum);
    } else if (r.workload.starts_with("queue/2-threads/2-by-2/")) {
      pairs_on_two_threads(number, count, sum);
    } else if (kind == "capacity") {
      on_two_threads(number, count, sum);
    } else {
      bench::unknown(r);
    }
  };
  const double nanoseconds = bench::nanoseconds_each(r, run);
  if (sum < 0) return 1;  // the compiler must compute the sum
  return bench::report(r, "leat", nanoseconds, "ns/item");
}
