// expect: asio::redirect_error() does not support use_task:
#include <system_error>

#include <asio/redirect_error.hpp>
#include <asio/steady_timer.hpp>

#include "leat/async/loop/use_task.hpp"
#include "leat/async/task.hpp"

leat::task<> wait(asio::steady_timer& timer) {
  leat::asio_error_code ec;
  co_await timer.async_wait(asio::redirect_error(leat::use_task, ec));
}
