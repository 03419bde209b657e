// expect: asio::awaitable cannot await an operation of leat: write co_await
// expect: queue.async_pop(asio::use_awaitable) for a queue, or co_await leat::async_run(
// expect: executor, [&] { return operation; }, asio::use_awaitable)
#include <optional>

#include <asio/awaitable.hpp>

#include "leat/queue/fifo_queue.hpp"

asio::awaitable<void> run(leat::fifo_queue<int>& queue) {
  std::optional<int> item = co_await queue.pop();
  static_cast<void>(item);
}
