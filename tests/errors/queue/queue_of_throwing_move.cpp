// expect: queue element must be movable without throwing
// expect: declare the move constructor
// expect: or queue a std::unique_ptr
#include "leat/queue/fifo_queue.hpp"

struct job {
  job(job&&) {}
};
leat::fifo_queue<job> queue(3);
