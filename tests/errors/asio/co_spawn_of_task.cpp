// expect: asio::co_spawn() cannot start a leat::task: write leat::async_run(executor, task, token)
#include <asio/co_spawn.hpp>
#include <asio/detached.hpp>
#include <asio/io_context.hpp>

#include "leat/async/loop/async_run.hpp"

leat::task<> work();
void run(asio::io_context& io) { asio::co_spawn(io, work(), asio::detached); }
