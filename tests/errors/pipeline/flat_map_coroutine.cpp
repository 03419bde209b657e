// expect: map() and flat_map() require a plain function
#include <vector>

#include "leat/pipeline/read_queue.hpp"
#include "leat/queue/fifo_queue.hpp"

leat::task<std::vector<int>> fetch(int i) { co_return std::vector<int>{i}; }
auto declare(leat::fifo_queue<int>& ids) { return leat::read_queue(ids).flat_map("fetch", fetch); }
