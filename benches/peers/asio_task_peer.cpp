// asio::co_spawn of trivial awaitables: the peer of leat_task_bench in task/spawn-and-join,
// task/spawn-and-join/million and task/spawned-memory.

#include <asio/awaitable.hpp>
#include <asio/co_spawn.hpp>
#include <asio/detached.hpp>
#include <asio/io_context.hpp>

#include "support/bench.hpp"

namespace {

asio::awaitable<void> add_one(long& sum) {
  ++sum;
  co_return;
}

}  // namespace

int main(int argc, char** argv) {
  const bench::request r = bench::parse(argc, argv);
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
