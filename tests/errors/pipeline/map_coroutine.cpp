// expect: map() and flat_map() require a plain function
// expect: await it in for_each()
#include "leat/pipeline/read_queue.hpp"
#include "leat/queue/fifo_queue.hpp"

leat::task<int> fetch(int i) { co_return i; }
auto declare(leat::fifo_queue<int>& ids) { return leat::read_queue(ids).map("fetch", fetch); }
