// expect: queue element must be movable without throwing
#include "leat/queue/random_shuffle_queue.hpp"

struct job {
  job(job&&) {}
};
void use(leat::random_shuffle_queue<job>& queue) { queue.close(); }
