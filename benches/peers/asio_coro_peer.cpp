// asio::experimental::coro, which yields values and can await between them: the peer of
// leat_task_bench in task/generator.

#include <asio/experimental/co_spawn.hpp>
#include <asio/experimental/coro.hpp>
#include <asio/io_context.hpp>

#include <exception>

#include "support/bench.hpp"

namespace {

using asio::experimental::coro;
using executor = asio::io_context::executor_type;

coro<long, void, executor> ones(asio::io_context&, long count) {
  for (long i = 0; i < count; ++i) co_yield 1;
}

coro<void, void, executor> values(asio::io_context& io, long count, long& sum) {
  auto all = ones(io, count);
  while (const auto value = co_await all) sum += *value;
}

}  // namespace

int main(int argc, char** argv) {
  const bench::request r = bench::parse(argc, argv);
  if (r.workload != "task/generator") bench::unknown(r);
  bench::pin(0);
  asio::io_context io(1);
  long sum = 0;
  const double nanoseconds = bench::nanoseconds_each(r, [&](long count) {
    io.restart();
    auto reader = values(io, count, sum);
    reader.async_resume([](std::exception_ptr) {});
    io.run();
  });
  if (sum < r.items) return 1;
  return bench::report(r, "asio::experimental::coro", nanoseconds, "ns/value");
}
