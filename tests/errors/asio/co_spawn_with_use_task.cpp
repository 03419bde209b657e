// expect: asio::co_spawn() cannot start a leat::task: write leat::async_run(executor, task, token)
#include <asio/co_spawn.hpp>
#include <asio/io_context.hpp>

#include "leat/async/loop/async_run.hpp"
#include "leat/async/loop/use_task.hpp"

leat::task<> work();
leat::task<> run(asio::io_context& io) { co_await asio::co_spawn(io, work(), leat::use_task); }
