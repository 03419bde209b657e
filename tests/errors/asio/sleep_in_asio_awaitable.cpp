// expect: asio::awaitable cannot await an operation of leat: write co_await
// expect: queue.async_pop(asio::use_awaitable) for a queue, or co_await leat::async_run(
// expect: executor, [&] { return operation; }, asio::use_awaitable)
#include <chrono>

#include <asio/awaitable.hpp>

#include "leat/async/sleep.hpp"

asio::awaitable<void> run() { co_await leat::sleep_for(std::chrono::seconds(1)); }
