// expect: map() and flat_map() require a plain function
// expect: or returns an operation
#include <chrono>

#include "leat/async/sleep.hpp"
#include "leat/pipeline/read_queue.hpp"
#include "leat/queue/fifo_queue.hpp"

auto declare(leat::fifo_queue<int>& delays) {
  return leat::read_queue(delays).map(
      "wait", [](int n) { return leat::sleep_for(std::chrono::milliseconds(n)); });
}
