// expect: asio::awaitable cannot await an operation of leat: write co_await
// expect: queue.async_pop(asio::use_awaitable) for a queue, and leat::async_run() for a task with
// expect: other operations
#include <chrono>

#include <asio/awaitable.hpp>

#include "leat/async/sleep.hpp"

asio::awaitable<void> run() { co_await leat::sleep_for(std::chrono::seconds(1)); }
