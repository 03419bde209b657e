// oneTBB's bounded queue between OS threads. It has no batches, so in batches-64 it moves one item
// at a time, with the same capacity.

#include <tbb/concurrent_queue.h>

#include <cstddef>

#include "support/bench.hpp"
#include "support/thread_queues.hpp"

namespace {

class queue {
 public:
  explicit queue(std::size_t capacity) {
    items_.set_capacity(static_cast<std::ptrdiff_t>(capacity));
  }
  void push(long item) { items_.push(item); }
  long pop() {
    long item = 0;
    items_.pop(item);
    return item;
  }

 private:
  tbb::concurrent_bounded_queue<long> items_;
};

}  // namespace

int main(int argc, char** argv) {
  const bench::request r = bench::parse(argc, argv);
  if (r.workload == "queue/2-threads/batches-64") {
    long sum = 0;
    const double nanoseconds = bench::nanoseconds_each(
        r, [&](long count) { sum += bench::thread_queues<queue>::move(1024, 1, 1, count); });
    if (sum < 0) return 1;
    return bench::report(r, "oneTBB, item by item", nanoseconds, "ns/item");
  }
  return bench::thread_queues<queue>::main(r, "oneTBB");
}
