// asio::co_spawn of trivial awaitables: the peer of leat_task_bench in task/spawn-and-join,
// task/spawn-and-join/million and task/spawned-memory. In task/when-all-2, a parallel group starts
// them.

#include <asio/awaitable.hpp>
#include <asio/co_spawn.hpp>
#include <asio/detached.hpp>
#include <asio/experimental/deferred.hpp>
#include <asio/experimental/parallel_group.hpp>
#include <asio/io_context.hpp>
#include <asio/this_coro.hpp>
#include <asio/use_awaitable.hpp>

#include "support/bench.hpp"

namespace {

asio::awaitable<void> add_one(long& sum) {
  ++sum;
  co_return;
}

asio::awaitable<void> when_all_2(long count, long& sum) {
  using asio::experimental::deferred;
  const auto executor = co_await asio::this_coro::executor;
  for (long done = 0; done < count; done += 2) {
    co_await asio::experimental::make_parallel_group(
        asio::co_spawn(executor, add_one(sum), deferred),
        asio::co_spawn(executor, add_one(sum), deferred))
        .async_wait(asio::experimental::wait_for_all(), asio::use_awaitable);
  }
}

}  // namespace

int main(int argc, char** argv) {
  const bench::request r = bench::parse(argc, argv);
  bench::pin(0);
  long sum = 0;
  if (r.workload == "task/spawned-memory") {
    asio::io_context io(1);
    const std::size_t before = bench::heap_bytes();
    for (long i = 0; i < r.items; ++i) asio::co_spawn(io, add_one(sum), asio::detached);
    const std::size_t after = bench::heap_bytes();
    io.run();
    return bench::report(r, "asio::co_spawn",
                         static_cast<double>(after - before) / static_cast<double>(r.items),
                         "bytes/task");
  }
  if (r.workload == "task/when-all-2") {
    const double nanoseconds = bench::nanoseconds_each(r, [&](long count) {
      asio::io_context io(1);
      asio::co_spawn(io, when_all_2(count, sum), asio::detached);
      io.run();
    });
    if (sum < r.items) return 1;
    return bench::report(r, "asio::experimental::parallel_group", nanoseconds, "ns/task");
  }
  const bool all = r.workload == "task/spawn-and-join/million";
  if (!all && r.workload != "task/spawn-and-join") bench::unknown(r);
  const auto run = [&](long count) {
    asio::io_context io(1);
    const long at_once = all ? count : 1000;
    for (long done = 0; done < count; done += at_once) {
      for (long i = 0; i < at_once; ++i) asio::co_spawn(io, add_one(sum), asio::detached);
      io.restart();
      io.run();
    }
  };
  if (all) run(r.items);  // a first pass, as in leat_task_bench
  const double nanoseconds = bench::nanoseconds_each(r, run);
  if (sum < r.items) return 1;
  return bench::report(r, "asio::co_spawn", nanoseconds, "ns/task");
}
