// expect: a queue moves its elements, and moving one must not throw
#include <atomic>

#include "leat/queue/priority_queue.hpp"

leat::priority_queue<std::atomic<int>> queue(3);
