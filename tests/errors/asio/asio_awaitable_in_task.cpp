// expect: leat::task cannot await this type: pass leat::use_task to an Asio operation instead of
// expect: asio::use_awaitable
#include <asio/steady_timer.hpp>
#include <asio/use_awaitable.hpp>

#include "leat/async/task.hpp"

leat::task<> run(asio::steady_timer& timer) { co_await timer.async_wait(asio::use_awaitable); }
