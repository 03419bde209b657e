// expect: sync_wait() needs a task: co_await the operation in a task, or write queue.wait_pop() or
// expect: group.wait_join()
#include <optional>

#include "leat/async/loop/sync_wait.hpp"
#include "leat/queue/fifo_queue.hpp"

void run(leat::fifo_queue<int>& queue) {
  std::optional<int> item = leat::sync_wait(queue.pop());
  static_cast<void>(item);
}
