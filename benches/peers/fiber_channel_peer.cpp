// Boost.Fiber's buffered channel on one thread. Its size is a power of two, and one slot is unused.

#include <boost/fiber/all.hpp>

#include "support/bench.hpp"

int main(int argc, char** argv) {
  const bench::request r = bench::parse(argc, argv);
  bench::pin(0);
  if (!r.workload.starts_with("queue/1-thread/")) bench::unknown(r);
  const auto capacity = static_cast<std::size_t>(bench::number_of(r));
  long sum = 0;
  const auto run = [&](long count) {
    boost::fibers::buffered_channel<long> c(capacity < 2 ? 2 : capacity);
    boost::fibers::fiber producer([&] {
      for (long i = 0; i < count; ++i) c.push(i);
      c.close();
    });
    boost::fibers::fiber consumer([&] {
      long item = 0;
      while (c.pop(item) == boost::fibers::channel_op_status::success) sum += item;
    });
    producer.join();
    consumer.join();
  };
  const double nanoseconds = bench::nanoseconds_each(r, run);
  if (sum < 0) return 1;
  return bench::report(r, "Boost.Fiber channel", nanoseconds, "ns/item");
}
