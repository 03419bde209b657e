// The delays of leat, each with three percentiles in us.
//
// latency/queue    from a push on one thread to the end of the pop on another, 10,000 items/s
// latency/timer-N  how late a sleep of 500 us ends while N timers are pending
// latency/stop     from a stop request until the waiting task on another thread has resumed

#include <chrono>
#include <cstddef>
#include <thread>

#include <leat/leat.hpp>

#include "support/bench.hpp"
#include "support/pin_threads.hpp"

namespace {

leat::task<> produce_at_pace(leat::fifo_queue<long>& q, std::size_t count) {
  bench::pace items;
  for (std::size_t i = 0; i < count; ++i) co_await q.push(items.wait());
  q.close();
}

leat::task<> arrive(leat::fifo_queue<long>& q, bench::latencies& delays) {
  while (const auto pushed = co_await q.pop()) delays.add(bench::seconds_since(*pushed));
}

void arrivals(bench::latencies& delays) {
  leat::runtime rt({.threads = 2});
  bench::pin_threads(rt);
  leat::fifo_queue<long> q(64);
  leat::task_group g;
  g.spawn_on(rt.get_scheduler(1), arrive(q, delays));
  g.spawn_on(rt.get_scheduler(0), produce_at_pace(q, delays.wanted()));
  leat::block_on(g.join());
}

leat::task<> sleep(std::chrono::microseconds duration) { co_await leat::sleep_for(duration); }

leat::task<> timed_waits(const bench::request& r) {
  leat::task_group others;
  for (long i = 1; i < bench::number_of(r); ++i) others.spawn(sleep(std::chrono::hours(1)));
  co_await leat::sleep_for(bench::latencies::sleep);  // the others have started
  bench::latencies delays(static_cast<std::size_t>(r.items));
  for (std::size_t i = 0; i < delays.wanted(); ++i) {
    const auto due = std::chrono::steady_clock::now() + bench::latencies::sleep;
    co_await leat::sleep_for(bench::latencies::sleep);
    delays.add_since(due);
  }
  delays.report(r, "leat");
  bench::leave();
}

leat::task<> wait_for_stop(leat::fifo_queue<long>& q, const long& begin, bench::latencies& delays) {
  const auto popped = co_await leat::as_tuple(q.pop());
  if (popped.error) delays.add(bench::seconds_since(begin));
}

// A task that waits is stopped by another thread, again and again.
void stops(bench::latencies& delays) {
  leat::runtime rt({.threads = 2});
  bench::pin_threads(rt);
  bench::pin(0);
  leat::fifo_queue<long> q(1);
  long begin = 0;
  for (std::size_t i = 0; i < delays.wanted(); ++i) {
    leat::task_group g;
    g.spawn_on(rt.get_scheduler(1), wait_for_stop(q, begin, delays));
    while (q.statistics().waiting_pops == 0) {
    }
    bench::pace().wait();  // until the other thread sleeps
    begin = bench::nanoseconds_now();
    g.request_stop();
    leat::block_on(g.join());
  }
}

}  // namespace

int main(int argc, char** argv) {
  const bench::request r = bench::parse(argc, argv);
  std::jthread([] {}).join();  // turns off the shortcuts for programs with a single thread
  bench::latencies delays(static_cast<std::size_t>(r.items));
  if (r.workload == "latency/queue") {
    arrivals(delays);
  } else if (r.workload == "latency/stop") {
    stops(delays);
  } else if (r.workload.starts_with("latency/timer-")) {
    bench::pin(0);
    leat::block_on(timed_waits(r));
  } else {
    bench::unknown(r);
  }
  return delays.report(r, "leat");
}
