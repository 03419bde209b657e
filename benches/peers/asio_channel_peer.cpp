// Asio's experimental channels with use_awaitable: the one for a single thread, and in
// latency/queue the concurrent one.

#include <asio/awaitable.hpp>
#include <asio/co_spawn.hpp>
#include <asio/detached.hpp>
#include <asio/experimental/channel.hpp>
#include <asio/experimental/concurrent_channel.hpp>
#include <asio/io_context.hpp>
#include <asio/use_awaitable.hpp>

#include <cstddef>
#include <thread>

#include "support/bench.hpp"

namespace {

using channel = asio::experimental::channel<void(std::error_code, long)>;
using concurrent_channel = asio::experimental::concurrent_channel<void(std::error_code, long)>;

asio::awaitable<void> produce(channel& c, long count) {
  for (long i = 0; i < count; ++i) co_await c.async_send({}, i, asio::use_awaitable);
}

asio::awaitable<void> consume(channel& c, long count, long& sum) {
  for (long i = 0; i < count; ++i) sum += co_await c.async_receive(asio::use_awaitable);
}

asio::awaitable<void> produce_at_pace(concurrent_channel& c, std::size_t count) {
  bench::pace items;
  for (std::size_t i = 0; i < count; ++i) {
    co_await c.async_send({}, items.wait(), asio::use_awaitable);
  }
}

asio::awaitable<void> arrive(concurrent_channel& c, bench::latencies& delays) {
  for (std::size_t i = 0; i < delays.wanted(); ++i) {
    const long pushed = co_await c.async_receive(asio::use_awaitable);
    delays.add(bench::seconds_since(pushed));
  }
}

void arrivals(bench::latencies& delays) {
  asio::io_context first(1);
  asio::io_context second(1);
  concurrent_channel c(second, 64);
  asio::co_spawn(second, arrive(c, delays), asio::detached);
  asio::co_spawn(first, produce_at_pace(c, delays.wanted()), asio::detached);
  const std::jthread consumer([&] {
    bench::pin(1);
    second.run();
  });
  bench::pin(0);
  first.run();
}

}  // namespace

int main(int argc, char** argv) {
  const bench::request r = bench::parse(argc, argv);
  if (r.workload == "latency/queue") {
    bench::latencies delays(static_cast<std::size_t>(r.items));
    arrivals(delays);
    return delays.report(r, "Asio concurrent channel");
  }
  bench::pin(0);
  long sum = 0;
  if (r.workload == "queue/suspended-memory") {
    constexpr long count = 100'000;
    asio::io_context io(1);
    channel c(io, 1);
    const std::size_t before = bench::heap_bytes();
    for (long i = 0; i < count; ++i) asio::co_spawn(io, produce(c, 1L << 40), asio::detached);
    io.poll();
    const std::size_t after = bench::heap_bytes();
    bench::report(r, "Asio channel", static_cast<double>(after - before) / count, "bytes/task");
    bench::leave();
  }
  const auto capacity = static_cast<std::size_t>(bench::number_of(r));
  const auto run = [&](long count) {
    asio::io_context io(1);
    channel c(io, capacity);
    asio::co_spawn(io, produce(c, count), asio::detached);
    asio::co_spawn(io, consume(c, count, sum), asio::detached);
    io.run();
  };
  if (!r.workload.starts_with("queue/1-thread/")) bench::unknown(r);
  const double nanoseconds = bench::nanoseconds_each(r, run);
  if (sum < 0) return 1;
  return bench::report(r, "Asio channel", nanoseconds, "ns/item");
}
