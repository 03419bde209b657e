// expect: leat::task cannot await this type: for an asio::awaitable, start the operation with a
// expect: handler that pushes its result into a queue, and co_await queue.pop()
#include <asio/steady_timer.hpp>
#include <asio/use_awaitable.hpp>

#include "leat/async/task.hpp"

leat::task<> run(asio::steady_timer& timer) { co_await timer.async_wait(asio::use_awaitable); }
