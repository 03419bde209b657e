// expect: asio::awaitable cannot await a leat::task: write co_await leat::async_run(executor,
// expect: task, asio::use_awaitable)
#include <asio/awaitable.hpp>

#include "leat/async/task.hpp"

leat::task<int> work();
asio::awaitable<void> run() {
  int n = co_await work();
  static_cast<void>(n);
}
