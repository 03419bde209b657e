// expect: map() and flat_map() require a plain function
#include <asio/awaitable.hpp>

#include "leat/pipeline/read_queue.hpp"
#include "leat/queue/fifo_queue.hpp"

asio::awaitable<int> fetch(int i);
auto declare(leat::fifo_queue<int>& ids) { return leat::read_queue(ids).map("fetch", fetch); }
