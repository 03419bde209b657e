// expect: a queue moves its elements, and moving one must not throw
// expect: declare the move constructor
// expect: or queue a std::unique_ptr
#include "leat/queue/fifo_queue.hpp"

struct job {
  job(job&&) {}
};
leat::fifo_queue<job> queue(3);
