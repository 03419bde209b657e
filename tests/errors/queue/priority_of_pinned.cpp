// expect: queue element must be movable without throwing
#include <atomic>

#include "leat/queue/priority_queue.hpp"

leat::priority_queue<std::atomic<int>> queue(3);
