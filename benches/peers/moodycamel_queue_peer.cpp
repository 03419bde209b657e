// moodycamel::BlockingConcurrentQueue between OS threads, item by item or 64 at a time. It is
// unbounded and cannot be closed.

#include <concurrentqueue/blockingconcurrentqueue.h>

#include <cstddef>
#include <thread>
#include <vector>

#include "support/bench.hpp"
#include "support/thread_queues.hpp"

namespace {

class queue {
 public:
  explicit queue(std::size_t) {}
  void push(long item) { items_.enqueue(item); }
  long pop() {
    long item = 0;
    items_.wait_dequeue(item);
    return item;
  }

 private:
  moodycamel::BlockingConcurrentQueue<long> items_;
};

void batches(long count, long& sum) {
  constexpr long batch = 64;
  moodycamel::BlockingConcurrentQueue<long> q;
  std::vector<std::jthread> threads;
  bench::start_threads(threads, 1, 0, 2, [&q, count](long) {
    const moodycamel::ProducerToken token(q);
    const long values[batch] = {};
    for (long i = 0; i < count; i += batch) q.enqueue_bulk(token, values, batch);
  });
  bench::pin(1);
  moodycamel::ConsumerToken token(q);
  long values[batch];
  for (long i = 0; i < count;) {
    i += static_cast<long>(q.wait_dequeue_bulk(token, values, batch));
    sum += values[0];
  }
}

}  // namespace

int main(int argc, char** argv) {
  const bench::request r = bench::parse(argc, argv);
  constexpr auto subject = "moodycamel (unbounded)";
  if (r.workload == "queue/2-threads/batches-64") {
    long sum = 0;
    const double ns = bench::nanoseconds_each(r, [&](long count) { batches(count, sum); });
    if (sum < 0) return 1;
    return bench::report(r, subject, ns, "ns/item");
  }
  return bench::thread_queues<queue>::main(r, subject);
}
