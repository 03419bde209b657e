// TooManyCooks: its bounded queues for one producer and for many, its channel, its groups of tasks
// and its timers, which are Asio's. Each thread is an executor for one thread (ex_cpu_st). Its
// queues have no batch pop and are not closed here; qu_spsc_bounded has exactly one producer and
// one consumer.
//
// A suffix of the workload: /spins lets an executor without work poll 400 times before it sleeps,
// and /channel uses the channel, which is unbounded.

#include <asio.hpp>

#define TMC_IMPL
#include <tmc/all_headers.hpp>
#include <tmc/asio/aw_asio.hpp>
#include <tmc/asio/ex_asio.hpp>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "support/bench.hpp"
#include "support/count.hpp"
#include "support/producer_order.hpp"
#include "support/task_loops.hpp"

namespace {

template <class T>
using task = tmc::task<T>;
using loops = bench::task_loops<tmc::task>;
using one_producer_queue = tmc::qu_spsc_bounded<long>;
using many_producers_queue = tmc::qu_mpsc_bounded<long>;
using channel = tmc::chan_tok<long>;

// The executors. The second thread is started when a workload uses it.
struct executors {
  tmc::ex_cpu_st first;
  tmc::ex_cpu_st second;
  std::size_t spins = 0;

  void start(tmc::ex_cpu_st& executor, std::size_t cpu) const {
    executor.set_spins(spins).set_thread_init_hook([cpu](std::size_t) { bench::pin(cpu); }).init();
  }
};

// Its instructions are counted alone. Valgrind does not support the system call with which an idle
// executor sleeps, so that the executor polls.
task<void> counted(task<void> t) {
  bench::toggle_count();
  co_await std::move(t);
  bench::toggle_count();
}

template <class Executor>
void wait(Executor& executor, task<void> t) {
  tmc::post_waitable(executor, counted(std::move(t))).get();
}

template <class Queue>
task<void> produce(Queue& q, long count) {
  for (long i = 0; i < count; ++i) co_await q.push(i);
}

template <class Queue>
task<void> consume(Queue& q, long count, long& sum) {
  for (long i = 0; i < count; ++i) {
    auto item = co_await q.pull();
    sum += item.value();
  }
}

task<void> produce_batches(one_producer_queue& q, long count) {
  std::vector<long> items(64);
  for (long i = 0; i < count; i += 64) co_await q.push_bulk(items.begin(), items.size());
}

task<void> consume_all(channel q, long& sum) {
  while (const auto item = co_await q.pull()) sum += *item;
}

task<void> produce_into(channel q, long count) { co_await produce(q, count); }
task<void> consume_from(channel q, long count, long& sum) { co_await consume(q, count, sum); }

task<void> on_one_thread(std::size_t capacity, bool batches, long count, long& sum) {
  one_producer_queue q(capacity);
  auto both = tmc::fork_group();
  both.fork(batches ? produce_batches(q, count) : produce(q, count));
  both.fork(consume(q, count, sum));
  co_await std::move(both);
}

task<void> channel_on_one_thread(long count, long& sum) {
  auto q = tmc::make_channel<long>();
  auto both = tmc::fork_group();
  both.fork(produce_into(q.new_token(), count));
  both.fork(consume_from(q.new_token(), count, sum));
  co_await std::move(both);
}

// tmc::yield() does not let tasks run that have not started, so the consumer awaits an event.
template <class Queue>
task<void> produce_number(Queue& q, long number, long count, bench::producer_order& order,
                          tmc::manual_reset_event& all_started) {
  order.start();
  if (order.all_started()) all_started.set();
  for (long i = 0; i < count; ++i) co_await q.push(number);
}

template <class Queue>
task<void> consume_numbers(Queue& q, long count, bench::producer_order& order,
                           tmc::manual_reset_event& all_started) {
  co_await all_started;
  for (long i = 0; i < count; ++i) {
    auto item = co_await q.pull();
    order.add(item.value());
  }
}

task<void> many_producers(long each, bench::producer_order& order) {
  many_producers_queue q(64);
  tmc::manual_reset_event all_started;
  auto all = tmc::fork_group();
  for (long i = 0; i < order.producers; ++i) {
    all.fork(produce_number(q, i, each, order, all_started));
  }
  all.fork(consume_numbers(q, each * order.producers, order, all_started));
  co_await std::move(all);
}

task<void> produce_number_into(channel q, long number, long count, bench::producer_order& order,
                               tmc::manual_reset_event& all_started) {
  co_await produce_number(q, number, count, order, all_started);
}

task<void> many_producers_into_channel(long each, bench::producer_order& order) {
  auto q = tmc::make_channel<long>();
  tmc::manual_reset_event all_started;
  auto all = tmc::fork_group();
  for (long i = 0; i < order.producers; ++i) {
    all.fork(produce_number_into(q.new_token(), i, each, order, all_started));
  }
  all.fork(consume_numbers(q, each * order.producers, order, all_started));
  co_await std::move(all);
}

void on_two_threads(executors& on, std::size_t capacity, bool batches, long count, long& sum) {
  one_producer_queue q(capacity);
  auto producer =
      tmc::post_waitable(on.first, batches ? produce_batches(q, count) : produce(q, count));
  auto consumer = tmc::post_waitable(on.second, consume(q, count, sum));
  producer.get();
  consumer.get();
}

void channel_on_two_threads(executors& on, long count, long& sum) {
  auto q = tmc::make_channel<long>();
  auto producer = tmc::post_waitable(on.first, produce_into(q.new_token(), count));
  auto consumer = tmc::post_waitable(on.second, consume_from(q.new_token(), count, sum));
  producer.get();
  consumer.get();
}

// Two producers and two consumers.
void pairs_on_two_threads(executors& on, long count, long& sum) {
  auto q = tmc::make_channel<long>();
  std::array<long, 2> sums{};
  auto to_first = tmc::post_waitable(on.first, consume_all(q.new_token(), sums[0]));
  auto to_second = tmc::post_waitable(on.second, consume_all(q.new_token(), sums[1]));
  auto from_first = tmc::post_waitable(on.first, produce_into(q.new_token(), count / 2));
  auto from_second = tmc::post_waitable(on.second, produce_into(q.new_token(), count / 2));
  from_first.get();
  from_second.get();
  q.close();
  to_first.get();
  to_second.get();
  sum += sums[0] + sums[1];
}

task<void> spawn_one(long count, long& sum) {
  for (long i = 0; i < count; ++i) {
    auto forked = tmc::spawn(loops::add_one(sum)).fork();
    co_await std::move(forked);
  }
}

task<void> when_all_2(long count, long& sum) {
  for (long i = 0; i < count; i += 2) {
    co_await tmc::spawn_tuple(loops::add_one(sum), loops::add_one(sum));
  }
}

task<void> spawn_and_join(long count, long at_once, long& sum) {
  for (long done = 0; done < count; done += at_once) {
    auto group = tmc::fork_group();
    for (long i = 0; i < at_once; ++i) group.fork(loops::add_one(sum));
    co_await std::move(group);
  }
}

task<void> push_forever(many_producers_queue& q) {
  for (long i = 0;; ++i) co_await q.push(i);
}

task<void> report_memory(const bench::request& r, std::size_t before, long count) {
  const auto bytes = static_cast<double>(bench::heap_bytes() - before);
  bench::report(r, "TooManyCooks qu_mpsc_bounded", bytes / static_cast<double>(count),
                "bytes/task");
  bench::leave();
  co_return;
}

task<void> suspended_memory(const bench::request& r, long count) {
  many_producers_queue q(2);
  const std::size_t before = bench::heap_bytes();
  auto all = tmc::fork_group();
  for (long i = 0; i < count; ++i) all.fork(push_forever(q));
  all.fork(report_memory(r, before, count));
  co_await std::move(all);
}

task<void> answer(one_producer_queue& there, one_producer_queue& back, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) {
    long ball = 0;
    {
      auto item = co_await there.pull();
      ball = item.value();
    }
    co_await back.push(ball + 1);
  }
}

task<void> ask(one_producer_queue& there, one_producer_queue& back, bench::latencies& trips) {
  for (std::size_t i = 0; i < trips.wanted(); ++i) {
    const long begin = bench::nanoseconds_now();
    co_await there.push(static_cast<long>(i));
    {
      auto item = co_await back.pull();
    }
    trips.add(bench::seconds_since(begin));
  }
}

void ping_pong(executors& on, bench::latencies& trips) {
  one_producer_queue there(2);
  one_producer_queue back(2);
  auto second = tmc::post_waitable(on.second, answer(there, back, trips.wanted()));
  auto first = tmc::post_waitable(on.first, ask(there, back, trips));
  first.get();
  second.get();
}

task<void> produce_at_pace(one_producer_queue& q, std::size_t count) {
  bench::pace items;
  for (std::size_t i = 0; i < count; ++i) co_await q.push(items.wait());
}

task<void> arrive(one_producer_queue& q, bench::latencies& delays) {
  for (std::size_t i = 0; i < delays.wanted(); ++i) {
    auto item = co_await q.pull();
    delays.add(bench::seconds_since(item.value()));
  }
}

void arrivals(executors& on, bench::latencies& delays) {
  one_producer_queue q(64);
  auto consumer = tmc::post_waitable(on.second, arrive(q, delays));
  auto producer = tmc::post_waitable(on.first, produce_at_pace(q, delays.wanted()));
  producer.get();
  consumer.get();
}

task<void> sleep(tmc::ex_asio& executor, std::chrono::microseconds duration) {
  asio::steady_timer timer(executor, duration);
  co_await timer.async_wait(tmc::aw_asio);
}

task<void> timers(tmc::ex_asio& executor, long count, long& sum) {
  auto all = tmc::fork_group();
  for (long i = 0; i < count; ++i) all.fork(sleep(executor, bench::sleep_of(i)));
  co_await std::move(all);
  sum += count;
}

task<void> timed_waits(tmc::ex_asio& executor, long pending, const bench::request& r) {
  auto others = tmc::fork_group();
  for (long i = 1; i < pending; ++i) others.fork(sleep(executor, std::chrono::hours(1)));
  bench::latencies delays(static_cast<std::size_t>(r.items));
  co_await sleep(executor, bench::latencies::sleep);  // the others have started
  for (std::size_t i = 0; i < delays.wanted(); ++i) {
    asio::steady_timer timer(executor, bench::latencies::sleep);
    co_await timer.async_wait(tmc::aw_asio);
    delays.add_since(timer.expiry());
  }
  delays.report(r, "TooManyCooks on Asio");
  bench::leave();
}

// Runs the workload with `count` items, or ends the process if there is none.
void run_queue(const bench::request& r, executors& on, bool use_channel, long count, long& sum) {
  const bool batches = r.workload.ends_with("batches-64");
  const auto capacity = batches ? std::size_t{1024} : static_cast<std::size_t>(bench::number_of(r));
  if (r.workload.starts_with("queue/1-thread/")) {
    wait(on.first, use_channel ? channel_on_one_thread(count, sum)
                               : on_one_thread(capacity, batches, count, sum));
  } else if (r.workload.starts_with("queue/2-threads/2-by-2/") && use_channel) {
    pairs_on_two_threads(on, count, sum);
  } else if (r.workload.starts_with("queue/2-threads/")) {
    use_channel ? channel_on_two_threads(on, count, sum)
                : on_two_threads(on, capacity, batches, count, sum);
  } else {
    bench::unknown(r);
  }
}

task<void> task_workload(const bench::request& r, long count, long& sum) {
  if (r.workload == "task/spawn-one") return spawn_one(count, sum);
  if (r.workload == "task/when-all-2") return when_all_2(count, sum);
  if (r.workload == "task/when-all-1000" || r.workload == "task/spawn-and-join") {
    return spawn_and_join(count, 1000, sum);
  }
  if (r.workload == "task/spawn-and-join/million") return spawn_and_join(count, count, sum);
  return loops::loop(r, count, sum);
}

int measure_timers(const bench::request& r) {
  bench::pin(0);
  tmc::ex_asio executor;
  executor.init();
  if (r.workload != "task/timers") wait(executor, timed_waits(executor, bench::number_of(r), r));
  long sum = 0;
  const double nanoseconds =
      bench::nanoseconds_each(r, [&](long count) { wait(executor, timers(executor, count, sum)); });
  return bench::report(r, "TooManyCooks on Asio", nanoseconds, "ns/task");
}

// Removes a suffix of the workload, and returns whether there was one.
bool remove_suffix(bench::request& r, std::string_view suffix) {
  if (!r.workload.ends_with(suffix)) return false;
  r.workload.resize(r.workload.size() - suffix.size());
  return true;
}

}  // namespace

int main(int argc, char** argv) {
  bench::request r = bench::parse(argc, argv);
  if (r.workload == "task/timers" || r.workload.starts_with("latency/timer-")) {
    return measure_timers(r);
  }
  const bool spins = remove_suffix(r, "/spins");
  const bool use_channel = remove_suffix(r, "/channel");
  executors on;
  on.spins = spins ? 400 : 0;
  on.start(on.first, 0);
  if (r.workload == "queue/suspended-memory") wait(on.first, suspended_memory(r, 100'000));
  if (r.workload == "queue/1000-producers") {
    return bench::producer_order::measure(
        r, use_channel ? "TooManyCooks channel (unbounded)" : "TooManyCooks qu_mpsc_bounded",
        !use_channel, [&](long each, bench::producer_order& order) {
          wait(on.first, use_channel ? many_producers_into_channel(each, order)
                                     : many_producers(each, order));
        });
  }
  std::string subject = "TooManyCooks";
  const bool is_task = r.workload.starts_with("task/") && !r.workload.starts_with("task/ping-pong");
  if (!is_task) subject += use_channel ? " channel (unbounded)" : " qu_spsc_bounded";
  if (spins) subject += ", 400 spins";
  long sum = 0;
  const auto run = [&](long count) {
    is_task ? wait(on.first, task_workload(r, count, sum))
            : run_queue(r, on, use_channel, count, sum);
  };
  if (!is_task && !r.workload.starts_with("queue/1")) {
    on.start(on.second, r.workload.ends_with("one-core") ? 0 : 1);
  }
  if (r.workload.starts_with("task/ping-pong") || r.workload == "latency/queue") {
    bench::latencies measured(static_cast<std::size_t>(r.items));
    r.workload == "latency/queue" ? arrivals(on, measured) : ping_pong(on, measured);
    return measured.report(r, subject.c_str());
  }
  if (r.workload == "task/spawn-and-join/million") run(r.items);  // as in leat_task_bench
  const double nanoseconds = bench::nanoseconds_each(r, run);
  if (sum < 0) return 1;
  return bench::report(r, subject.c_str(), nanoseconds, is_task ? "ns/task" : "ns/item");
}
