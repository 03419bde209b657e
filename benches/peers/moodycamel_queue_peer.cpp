// moodycamel::BlockingConcurrentQueue between two OS threads, item by item or 64 at a time. It is
// unbounded and cannot be closed.

#include <thread>

#include <concurrentqueue/blockingconcurrentqueue.h>

#include "support/bench.hpp"

int main(int argc, char** argv) {
  const bench::request r = bench::parse(argc, argv);
  if (!r.workload.starts_with("queue/2-threads/")) bench::unknown(r);
  const bool batches = r.workload.ends_with("batches-64");
  constexpr long batch = 64;
  const long items = r.items / batch * batch;
  moodycamel::BlockingConcurrentQueue<long> q;
  long sum = 0;
  const bench::stopwatch watch;
  {
    bench::pin(1);
    std::jthread producer([&] {
      bench::pin(0);
      long values[batch] = {};
      for (long i = 0; i < items; i += batches ? batch : 1) {
        if (batches) {
          q.enqueue_bulk(values, batch);
        } else {
          q.enqueue(i);
        }
      }
    });
    long values[batch];
    for (long i = 0; i < items;) {
      if (batches) {
        i += static_cast<long>(q.wait_dequeue_bulk(values, batch));
      } else {
        q.wait_dequeue(values[0]);
        ++i;
      }
      sum += values[0];
    }
  }
  const double seconds = watch.seconds();
  if (sum < 0) return 1;
  return bench::report(r, "moodycamel (unbounded)", seconds * 1e9 / static_cast<double>(items),
                       "ns/item");
}
