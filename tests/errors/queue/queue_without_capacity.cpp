// expect: queue needs a capacity, in items: write fifo_queue<T> queue(64)
#include "leat/queue/fifo_queue.hpp"

leat::fifo_queue<int> queue;
