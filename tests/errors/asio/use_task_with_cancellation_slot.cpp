// expect: asio::bind_cancellation_slot() does not support use_task:
#include <asio/bind_cancellation_slot.hpp>
#include <asio/cancellation_signal.hpp>
#include <asio/steady_timer.hpp>

#include "leat/async/loop/use_task.hpp"
#include "leat/async/task.hpp"

leat::task<> wait(asio::steady_timer& timer, asio::cancellation_slot slot) {
  co_await timer.async_wait(asio::bind_cancellation_slot(slot, leat::use_task));
}
