// Asio's timer in Asio's coroutine, without leat: how such a program ends where the n-th allocation
// fails. The initiation of an operation is called from a function that is noexcept
// (asio/impl/awaitable.hpp, await_transform of a function), so one that throws, of whatever
// operation, ends the process. That is why examples.py leaves out what is in such coroutines.

#include <chrono>
#include <exception>

#include <asio/awaitable.hpp>
#include <asio/co_spawn.hpp>
#include <asio/io_context.hpp>
#include <asio/steady_timer.hpp>
#include <asio/use_awaitable.hpp>

namespace {

asio::awaitable<void> wait() {
  asio::steady_timer timer(co_await asio::this_coro::executor, std::chrono::milliseconds(1));
  co_await timer.async_wait(asio::use_awaitable);
}

}  // namespace

// Whatever can be caught is 1; so all else has ended the process from within.
int main() {
  try {
    std::exception_ptr error;
    asio::io_context io;
    asio::co_spawn(io, wait(), [&](std::exception_ptr e) { error = e; });
    io.run();
    if (error) std::rethrow_exception(error);
    return 0;
  } catch (const std::exception&) {
    return 1;
  }
}
