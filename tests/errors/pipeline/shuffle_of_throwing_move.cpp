// expect: a queue moves its elements, and moving one must not throw
#include "leat/queue/random_shuffle_queue.hpp"

struct job {
  job(job&&) {}
};
void use(leat::random_shuffle_queue<job>& queue) { queue.close(); }
