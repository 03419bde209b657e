// expect: async_run() needs a task: call the function that returns it, and pass the state as
// expect: parameters
#include <asio/detached.hpp>
#include <asio/io_context.hpp>

#include "leat/async/loop/async_run.hpp"

void run(asio::io_context& io) {
  leat::async_run(io, []() -> leat::task<> { co_return; }, asio::detached);
}
