// Runs Asio's timer in Asio's coroutine, without leat, while the n-th allocation fails. A noexcept
// function (asio/impl/awaitable.hpp, await_transform of a function) calls the initiating function
// of an operation. An exception from that function therefore ends the process, whichever operation
// throws it. For that reason examples.py excludes operations in such coroutines.

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

// main() returns 1 for everything that can be caught, so any other status ended the process from
// within.
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
