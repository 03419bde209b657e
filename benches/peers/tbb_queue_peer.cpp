// oneTBB's bounded queue between two OS threads. It has no batches, so in batches-64 it moves one
// item at a time, with the same capacity.

#include <thread>

#include <tbb/concurrent_queue.h>

#include "support/bench.hpp"

int main(int argc, char** argv) {
  const bench::request r = bench::parse(argc, argv);
  if (!r.workload.starts_with("queue/2-threads/")) bench::unknown(r);
  const bool batches = r.workload.ends_with("batches-64");
  tbb::concurrent_bounded_queue<long> q;
  q.set_capacity(batches ? 1024 : bench::number_of(r));
  long sum = 0;
  const bench::stopwatch watch;
  {
    bench::pin(1);
    std::jthread producer([&] {
      bench::pin(0);
      for (long i = 0; i < r.items; ++i) q.push(i);
    });
    for (long i = 0; i < r.items; ++i) {
      long item = 0;
      q.pop(item);
      sum += item;
    }
  }
  const double seconds = watch.seconds();
  if (sum < 0) return 1;
  return bench::report(r, batches ? "oneTBB, item by item" : "oneTBB",
                       seconds * 1e9 / static_cast<double>(r.items), "ns/item");
}
