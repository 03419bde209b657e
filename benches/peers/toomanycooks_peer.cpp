// TooManyCooks: its bounded queues for one producer and for many, and its groups of tasks. Each
// thread is an executor for one thread (ex_cpu_st). Its queues have no batch pop and are not closed
// here; qu_spsc_bounded has exactly one producer and one consumer.

#define TMC_IMPL
#include <tmc/all_headers.hpp>

#include <algorithm>
#include <cstddef>
#include <utility>
#include <vector>

#include "support/bench.hpp"

namespace {

template <class T>
using task = tmc::task<T>;
using one_producer_queue = tmc::qu_spsc_bounded<long>;
using many_producers_queue = tmc::qu_mpsc_bounded<long>;

template <class Queue>
task<void> produce(Queue& q, long count) {
  for (long i = 0; i < count; ++i) co_await q.push(i);
}

task<void> produce_batches(one_producer_queue& q, long count) {
  std::vector<long> items(64);
  for (long i = 0; i < count; i += 64) co_await q.push_bulk(items.begin(), items.size());
}

template <class Queue>
task<void> consume(Queue& q, long count, long& sum) {
  for (long i = 0; i < count; ++i) {
    auto item = co_await q.pull();
    sum += item.value();
  }
}

task<void> on_one_thread(std::size_t capacity, bool batches, long count, long& sum) {
  one_producer_queue q(capacity);
  auto both = tmc::fork_group();
  both.fork(batches ? produce_batches(q, count) : produce(q, count));
  both.fork(consume(q, count, sum));
  co_await std::move(both);
}

task<void> many_producers(long count, long& sum) {
  many_producers_queue q(64);
  auto all = tmc::fork_group();
  for (int i = 0; i < 1000; ++i) all.fork(produce(q, count / 1000));
  all.fork(consume(q, count / 1000 * 1000, sum));
  co_await std::move(all);
}

void on_two_threads(tmc::ex_cpu_st& first, tmc::ex_cpu_st& second, std::size_t capacity,
                    bool batches, long count, long& sum) {
  one_producer_queue q(capacity);
  auto producer =
      tmc::post_waitable(first, batches ? produce_batches(q, count) : produce(q, count));
  auto consumer = tmc::post_waitable(second, consume(q, count, sum));
  producer.get();
  consumer.get();
}

task<void> add_one(long& sum) {
  ++sum;
  co_return;
}

task<void> spawn_one(long count, long& sum) {
  for (long i = 0; i < count; ++i) {
    auto forked = tmc::spawn(add_one(sum)).fork();
    co_await std::move(forked);
  }
}

task<void> when_all_2(long count, long& sum) {
  for (long i = 0; i < count; i += 2) {
    co_await tmc::spawn_tuple(add_one(sum), add_one(sum));
  }
}

task<void> spawn_and_join(long count, long at_once, long& sum) {
  for (long done = 0; done < count; done += at_once) {
    auto group = tmc::fork_group();
    for (long i = 0; i < at_once; ++i) group.fork(add_one(sum));
    co_await std::move(group);
  }
}

task<void> await_children(long count, long& sum) {
  for (long i = 0; i < count; ++i) co_await add_one(sum);
}

void start(tmc::ex_cpu_st& executor, std::size_t cpu, std::size_t spins) {
  executor.set_spins(spins).set_thread_init_hook([cpu](std::size_t) { bench::pin(cpu); }).init();
}

}  // namespace

int main(int argc, char** argv) {
  bench::request r = bench::parse(argc, argv);
  // A suffix /spins: an executor without work polls 400 times before it sleeps.
  const bool spins = r.workload.ends_with("/spins");
  if (spins) r.workload.resize(r.workload.size() - 6);
  tmc::ex_cpu_st first;
  tmc::ex_cpu_st second;
  start(first, 0, spins ? 400 : 0);
  const bool batches = r.workload.ends_with("batches-64");
  const auto capacity = batches ? std::size_t{1024} : static_cast<std::size_t>(bench::number_of(r));
  const char* subject = "TooManyCooks qu_spsc_bounded";
  const bool is_task = r.workload.starts_with("task/");
  if (is_task) subject = "TooManyCooks";
  if (r.workload == "queue/1000-producers") subject = "TooManyCooks qu_mpsc_bounded";
  if (spins) subject = "TooManyCooks qu_spsc_bounded, 400 spins";
  long sum = 0;
  const auto wait = [&](task<void> t) { tmc::post_waitable(first, std::move(t)).get(); };
  const auto run = [&](long count) {
    if (r.workload.starts_with("queue/1-thread/")) {
      wait(on_one_thread(capacity, batches, count, sum));
    } else if (r.workload == "queue/1000-producers") {
      wait(many_producers(count, sum));
    } else if (r.workload == "task/spawn-one") {
      wait(spawn_one(count, sum));
    } else if (r.workload == "task/when-all-2") {
      wait(when_all_2(count, sum));
    } else if (r.workload == "task/when-all-1000" || r.workload == "task/spawn-and-join") {
      wait(spawn_and_join(count, 1000, sum));
    } else if (r.workload == "task/spawn-and-join/million") {
      wait(spawn_and_join(count, count, sum));
    } else if (r.workload == "task/child") {
      wait(await_children(count, sum));
    } else if (r.workload.starts_with("queue/2-threads/")) {
      on_two_threads(first, second, capacity, batches, count, sum);
    } else {
      bench::unknown(r);
    }
  };
  if (r.workload.starts_with("queue/2-threads/")) start(second, 1, spins ? 400 : 0);
  if (r.workload == "task/spawn-and-join/million") run(r.items);  // as in leat_task_bench
  const double nanoseconds = bench::nanoseconds_each(r, run);
  if (sum < 0) return 1;
  return bench::report(r, subject, nanoseconds, is_task ? "ns/task" : "ns/item");
}
