// oneTBB's bounded queue between two OS threads.

#include <thread>

#include <tbb/concurrent_queue.h>

#include "support/bench.hpp"

int main(int argc, char** argv) {
  const bench::request r = bench::parse(argc, argv);
  if (!r.workload.starts_with("queue/2-threads/capacity-")) bench::unknown(r);
  tbb::concurrent_bounded_queue<long> q;
  q.set_capacity(std::atol(r.workload.substr(r.workload.rfind('-') + 1).c_str()));
  long sum = 0;
  const bench::stopwatch watch;
  {
    std::jthread producer([&] {
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
  return bench::report(r, "oneTBB", seconds * 1e9 / static_cast<double>(r.items), "ns/item");
}
