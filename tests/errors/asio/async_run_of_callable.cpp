// expect: async_run() needs a task, or a callable that returns a task or an operation of leat:
// expect: write [&] { return queue.pop(); }
#include <asio/detached.hpp>
#include <asio/io_context.hpp>

#include "leat/async/loop/async_run.hpp"

void run(asio::io_context& io) {
  leat::async_run(io, [] { return 3; }, asio::detached);
}
