// expect: a leat::task cannot await this. An asio::awaitable runs in asio::co_spawn() only: start
// expect: the operation with a handler that pushes its result into a queue, and co_await
// expect: queue.pop()
#include <asio/steady_timer.hpp>
#include <asio/use_awaitable.hpp>

#include "leat/async/task.hpp"

leat::task<> run(asio::steady_timer& timer) { co_await timer.async_wait(asio::use_awaitable); }
