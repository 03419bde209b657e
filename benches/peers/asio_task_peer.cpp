// asio::awaitable, asio::co_spawn and timers: the peer of leat_task_bench, and of
// leat_latency_bench in latency/timer-N and latency/stop. In task/when-all-2, a parallel group
// starts the awaitables.

#include <asio/awaitable.hpp>
#include <asio/bind_cancellation_slot.hpp>
#include <asio/cancellation_signal.hpp>
#include <asio/co_spawn.hpp>
#include <asio/detached.hpp>
#include <asio/executor_work_guard.hpp>
#include <asio/experimental/as_tuple.hpp>
#include <asio/experimental/deferred.hpp>
#include <asio/experimental/parallel_group.hpp>
#include <asio/io_context.hpp>
#include <asio/post.hpp>
#include <asio/steady_timer.hpp>
#include <asio/this_coro.hpp>
#include <asio/thread_pool.hpp>
#include <asio/use_awaitable.hpp>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <thread>

#include "support/bench.hpp"
#include "support/task_loops.hpp"

namespace {

template <class T>
using awaitable = asio::awaitable<T>;
using loops = bench::task_loops<awaitable>;

void spawn_and_join(asio::io_context& io, long count, long at_once, long& sum) {
  for (long done = 0; done < count; done += at_once) {
    for (long i = 0; i < at_once; ++i) asio::co_spawn(io, loops::add_one(sum), asio::detached);
    io.restart();
    io.run();
  }
}

awaitable<void> when_all_2(long count, long& sum) {
  using asio::experimental::deferred;
  const auto executor = co_await asio::this_coro::executor;
  for (long done = 0; done < count; done += 2) {
    co_await asio::experimental::make_parallel_group(
        asio::co_spawn(executor, loops::add_one(sum), deferred),
        asio::co_spawn(executor, loops::add_one(sum), deferred))
        .async_wait(asio::experimental::wait_for_all(), asio::use_awaitable);
  }
}

awaitable<void> sleep(std::chrono::microseconds duration) {
  asio::steady_timer timer(co_await asio::this_coro::executor, duration);
  co_await timer.async_wait(asio::use_awaitable);
}

void timers(asio::io_context& io, long count, long& sum) {
  for (long i = 0; i < count; ++i) asio::co_spawn(io, sleep(bench::sleep_of(i)), asio::detached);
  io.run();
  sum += count;
}

awaitable<void> timed_waits(const bench::request& r) {
  bench::latencies delays(static_cast<std::size_t>(r.items));
  for (std::size_t i = 0; i < delays.wanted(); ++i) {
    asio::steady_timer timer(co_await asio::this_coro::executor, bench::latencies::sleep);
    co_await timer.async_wait(asio::use_awaitable);
    delays.add_since(timer.expiry());
  }
  delays.report(r, "asio::awaitable");
  bench::leave();
}

awaitable<void> wait_for_stop(std::atomic<bool>& waits, long& begin, bench::latencies& delays) {
  asio::steady_timer timer(co_await asio::this_coro::executor, std::chrono::hours(1));
  waits = true;
  co_await timer.async_wait(asio::experimental::as_tuple(asio::use_awaitable));
  delays.add(bench::seconds_since(begin));
  waits = false;
}

// A coroutine that waits is stopped by another thread, again and again.
void stops(bench::latencies& delays) {
  asio::io_context io(1);
  const auto work = asio::make_work_guard(io);
  std::jthread other([&] {
    bench::pin(1);
    io.run();
  });
  bench::pin(0);
  std::atomic<bool> waits = false;
  long begin = 0;
  for (std::size_t i = 0; i < delays.wanted(); ++i) {
    asio::cancellation_signal signal;
    asio::co_spawn(io, wait_for_stop(waits, begin, delays),
                   asio::bind_cancellation_slot(signal.slot(), asio::detached));
    while (!waits) {
    }
    bench::pace().wait();  // until the other thread sleeps
    begin = bench::nanoseconds_now();
    asio::post(io, [&] { signal.emit(asio::cancellation_type::all); });
    while (waits) {
    }
    std::atomic<bool> ended = false;
    asio::post(io, [&] { ended = true; });
    while (!ended) {
    }
  }
  io.stop();
}

awaitable<long> successor(long n) { co_return n + 1; }

awaitable<void> call_blocking(asio::thread_pool& pool, long count, long& sum, long& left) {
  long own = 0;
  for (long i = 0; i < count; ++i) {
    own = co_await asio::co_spawn(pool, successor(own), asio::use_awaitable);
  }
  sum += own;
  --left;
}

void call_blocking_concurrently(asio::io_context& io, long count, long tasks, long& sum) {
  asio::thread_pool pool(1);
  asio::post(pool, [] { bench::pin(1); });
  const auto work = asio::make_work_guard(io);
  long left = tasks;
  for (long i = 0; i < tasks; ++i) {
    asio::co_spawn(io, call_blocking(pool, count / tasks + 1, sum, left), asio::detached);
  }
  while (left > 0) io.run_one();
  pool.join();
}

double spawned_memory(asio::io_context& io, long count, long& sum) {
  const std::size_t before = bench::heap_bytes();
  for (long i = 0; i < count; ++i) asio::co_spawn(io, loops::add_one(sum), asio::detached);
  const std::size_t after = bench::heap_bytes();
  io.run();
  return static_cast<double>(after - before) / static_cast<double>(count);
}

void run_workload(const bench::request& r, asio::io_context& io, long count, long& sum) {
  io.restart();
  if (r.workload == "task/spawn-and-join") {
    spawn_and_join(io, count, 1000, sum);
  } else if (r.workload == "task/spawn-and-join/million") {
    spawn_and_join(io, count, count, sum);
  } else if (r.workload == "task/timers") {
    timers(io, count, sum);
  } else if (r.workload.starts_with("task/blocking")) {
    call_blocking_concurrently(io, count, r.workload == "task/blocking" ? 1 : bench::number_of(r),
                               sum);
  } else {
    asio::co_spawn(
        io, r.workload == "task/when-all-2" ? when_all_2(count, sum) : loops::loop(r, count, sum),
        asio::detached);
    io.run();
  }
}

}  // namespace

int main(int argc, char** argv) {
  const bench::request r = bench::parse(argc, argv);
  bench::latencies delays(static_cast<std::size_t>(r.items));
  if (r.workload == "latency/stop") {
    stops(delays);
    return delays.report(r, "asio::awaitable");
  }
  bench::pin(0);
  asio::io_context io(1);
  long sum = 0;
  if (r.workload == "task/spawned-memory") {
    return bench::report(r, "asio::co_spawn", spawned_memory(io, r.items, sum), "bytes/task");
  }
  if (r.workload.starts_with("latency/timer-")) {
    for (long i = 1; i < bench::number_of(r); ++i) {
      asio::co_spawn(io, sleep(std::chrono::hours(1)), asio::detached);
    }
    io.poll();
    io.restart();
    asio::co_spawn(io, timed_waits(r), asio::detached);
    io.run();
  }
  const auto run = [&](long count) { run_workload(r, io, count, sum); };
  if (r.workload == "task/spawn-and-join/million") run(r.items);  // as in leat_task_bench
  const double nanoseconds = bench::nanoseconds_each(r, run);
  if (sum < r.items) return 1;
  const char* subject = "asio::co_spawn";
  if (r.workload == "task/when-all-2") subject = "asio::experimental::parallel_group";
  if (r.workload == "task/child" || r.workload == "task/timers") subject = "asio::awaitable";
  if (r.workload == "task/fib-25" || r.workload == "task/chain-1000") subject = "asio::awaitable";
  const bool calls = r.workload.starts_with("task/blocking");
  if (calls) subject = "asio::thread_pool";
  return bench::report(r, subject, nanoseconds, calls ? "ns/call" : "ns/task");
}
