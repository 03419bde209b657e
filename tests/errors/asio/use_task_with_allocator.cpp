// expect: asio::bind_allocator() does not support use_task: write leat::use_task alone
#include <memory>

#include <asio/bind_allocator.hpp>
#include <asio/steady_timer.hpp>

#include "leat/async/loop/use_task.hpp"
#include "leat/async/task.hpp"

leat::task<> wait(asio::steady_timer& timer) {
  co_await timer.async_wait(asio::bind_allocator(std::allocator<char>(), leat::use_task));
}
