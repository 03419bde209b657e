// asio::co_spawn of trivial awaitables; the workload task/spawn-and-join of leat_task_bench.

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
  if (r.workload != "task/spawn-and-join") bench::unknown(r);
  long sum = 0;
  const auto run = [&](long count) {
    asio::io_context io(1);
    for (long done = 0; done < count; done += 1000) {
      for (int i = 0; i < 1000; ++i) asio::co_spawn(io, add_one(sum), asio::detached);
      io.restart();
      io.run();
    }
  };
  const double nanoseconds = bench::nanoseconds_each(r, run);
  if (sum < r.items) return 1;
  return bench::report(r, "asio::co_spawn", nanoseconds, "ns/task");
}
