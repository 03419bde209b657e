// expect: select() does not accept a push next to an operation that cannot be undone
// expect: Push before or after the select(), or in a separate task
#include <asio/steady_timer.hpp>

#include "leat/async/loop/use_task.hpp"
#include "leat/queue/fifo_queue.hpp"

leat::task<> wait(asio::steady_timer& timer, leat::fifo_queue<int>& queue) {
  co_await leat::select(timer.async_wait(leat::use_task), queue.push(1));
}
