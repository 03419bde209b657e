// expect: map() and flat_map() require a plain function
#include "leat/pipeline/read_queue.hpp"
#include "leat/queue/fifo_queue.hpp"

auto declare(leat::fifo_queue<int>& ids, leat::fifo_queue<int>& others) {
  return leat::read_queue(ids).map("pop", [&](int) { return others.pop(); });
}
