// expect: completion handler returns a coroutine, which would never run
#include <exception>

#include <asio/io_context.hpp>

#include "leat/async/loop/async_run.hpp"

leat::task<int> work();
leat::task<> finish(std::exception_ptr error, int result);
void run(asio::io_context& io) { leat::async_run(io, work(), finish); }
