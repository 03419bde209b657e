// A ring between two OS threads that spin while they wait: about the least time that an item takes
// from one processor to another. It has one producer and one consumer, and no close. A thread never
// sleeps. The difference to leat's queue is the cost of these features.

#include <atomic>
#include <cstddef>
#include <vector>

#include "support/bench.hpp"
#include "support/thread_queues.hpp"

namespace {

// Each place shows whether it is full, so that the threads share no counter.
class ring {
 public:
  explicit ring(std::size_t capacity) : places_(capacity) {
    for (auto& place : places_) place.store(empty, std::memory_order_relaxed);
  }

  void push(long item) {
    std::atomic<long>& place = next(in_);
    while (place.load(std::memory_order_acquire) != empty) {
    }
    place.store(item, std::memory_order_release);
  }
  long pop() {
    std::atomic<long>& place = next(out_);
    long item = place.load(std::memory_order_acquire);
    while (item == empty) item = place.load(std::memory_order_acquire);
    place.store(empty, std::memory_order_release);
    return item;
  }

 private:
  static constexpr long empty = -1;

  std::atomic<long>& next(std::size_t& at) {
    std::atomic<long>& place = places_[at];
    at = at + 1 == places_.size() ? 0 : at + 1;
    return place;
  }

  std::vector<std::atomic<long>> places_;
  alignas(64) std::size_t in_ = 0;
  alignas(64) std::size_t out_ = 0;
};

}  // namespace

int main(int argc, char** argv) {
  const bench::request r = bench::parse(argc, argv);
  return bench::thread_queues<ring>::main(r, "two threads that spin");
}
