// expect: with_timeout(), with_deadline() and with_stop() take ownership of the operation: write
// expect: std::move(operation)
#include <chrono>

#include "leat/queue/fifo_queue.hpp"

leat::task<> run(leat::fifo_queue<int>& queue) {
  auto pop = queue.pop();
  auto item = co_await leat::with_timeout(pop, std::chrono::seconds(1));
  static_cast<void>(item);
}
