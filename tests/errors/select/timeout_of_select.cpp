// expect: a limit cannot be around a select(): add leat::sleep_for(limit)
#include <chrono>

#include "leat/async/select.hpp"
#include "leat/queue/fifo_queue.hpp"

leat::task<> run(leat::fifo_queue<int>& a, leat::fifo_queue<int>& b) {
  co_await leat::with_timeout(leat::select(a.pop(), b.pop()), std::chrono::seconds(1));
}
