// Boost.Fiber's buffered channel, on one thread and between two. Its size is a power of two, and
// one slot is unused.

#include <boost/fiber/all.hpp>

#include <array>
#include <cstddef>
#include <string>
#include <thread>
#include <vector>

#include "support/bench.hpp"

namespace {

using channel = boost::fibers::buffered_channel<long>;
using boost::fibers::fiber;

void send(channel& c, long count) {
  for (long i = 0; i < count; ++i) c.push(i);
}

void receive(channel& c, long count, long& sum) {
  for (long i = 0; i < count; ++i) {
    long item = 0;
    c.pop(item);
    sum += item;
  }
}

void on_one_thread(channel& c, long count, long& sum) {
  fiber producer([&] { send(c, count); });
  fiber consumer([&] { receive(c, count, sum); });
  producer.join();
  consumer.join();
}

// One producer and one consumer, or two of each.
void on_two_threads(channel& c, bool pairs, long count, long& sum) {
  std::array<long, 2> sums{};
  const auto run = [&](std::size_t cpu) {
    bench::pin(cpu);
    std::vector<fiber> fibers;
    if (pairs || cpu == 0) fibers.emplace_back([&] { send(c, pairs ? count / 2 : count); });
    if (pairs || cpu == 1) {
      fibers.emplace_back([&, cpu] { receive(c, pairs ? count / 2 : count, sums[cpu]); });
    }
    for (fiber& f : fibers) f.join();
  };
  {
    const std::jthread first([&] { run(0); });
    const std::jthread second([&] { run(1); });
  }
  sum += sums[0] + sums[1];
}

}  // namespace

int main(int argc, char** argv) {
  const bench::request r = bench::parse(argc, argv);
  const bool one_thread = r.workload.starts_with("queue/1-thread/");
  const bool pairs = r.workload.starts_with("queue/2-threads/2-by-2/");
  if (!one_thread && !r.workload.starts_with("queue/2-threads/")) bench::unknown(r);
  if (one_thread) bench::pin(0);
  const auto capacity = static_cast<std::size_t>(bench::number_of(r));
  long sum = 0;
  const double nanoseconds = bench::nanoseconds_each(r, [&](long count) {
    channel c(capacity < 2 ? 2 : capacity);
    one_thread ? on_one_thread(c, count, sum) : on_two_threads(c, pairs, count, sum);
  });
  if (sum < 0) return 1;
  return bench::report(r, "Boost.Fiber channel", nanoseconds, "ns/item");
}
