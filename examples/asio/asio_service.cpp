/// leat inside an Asio program, which owns the io_context and its threads.
///
/// An asio::awaitable receives requests from a timer, which stands in for a socket. It pushes them
/// into a bounded queue through a completion token, and a leat task serves them. An ordinary thread
/// blocks on the queue of replies.

#include <chrono>
#include <cstdio>
#include <exception>
#include <string>
#include <thread>

#include <asio/awaitable.hpp>
#include <asio/co_spawn.hpp>
#include <asio/detached.hpp>
#include <asio/io_context.hpp>
#include <asio/steady_timer.hpp>
#include <asio/use_awaitable.hpp>
#include <leat/leat.hpp>

namespace {

using namespace std::chrono_literals;

struct request {
  int number;
};

//! [serve]
// A leat task that serves requests until the queue is closed and drained.
leat::task<int> serve(asio::io_context& io, leat::fifo_queue<request>& requests,
                      leat::fifo_queue<std::string>& replies) {
  int served = 0;
  while (const auto r = co_await requests.pop()) {
    asio::steady_timer work(io, 1ms);
    co_await work.async_wait(leat::use_task);
    if (!co_await replies.push("reply " + std::to_string(r->number))) break;  // closed
    ++served;
  }
  co_return served;
}
//! [/serve]

//! [awaitable]
// An Asio coroutine that pushes into a leat queue through a completion token.
asio::awaitable<void> receive(leat::fifo_queue<request>& requests) {
  struct closer {  // runs on every path, so that no error leaves serve() waiting
    leat::fifo_queue<request>& queue;
    ~closer() { queue.close(); }
  } const at_end{requests};
  asio::steady_timer timer(co_await asio::this_coro::executor);
  for (int i = 1; i <= 5; ++i) {
    timer.expires_after(1ms);
    co_await timer.async_wait(asio::use_awaitable);
    const bool accepted = co_await requests.async_push(request{i}, asio::use_awaitable);
    if (!accepted) co_return;  // closed
  }
}
//! [/awaitable]

}  // namespace

int main() {
  leat::fifo_queue<request> requests(2, "requests");
  leat::fifo_queue<std::string> replies(2, "replies");

  //! [thread]
  // An ordinary thread that blocks on the queue of replies.
  std::jthread printer([&replies] {
    while (const auto text = leat::block_on(replies.pop())) std::puts(text->c_str());
  });
  struct closer {  // runs on every path: a destroyed context does not call its handlers
    leat::fifo_queue<std::string>& queue;
    ~closer() { queue.close(); }
  } const at_end{replies};
  //! [/thread]

  //! [run]
  asio::io_context io;
  asio::co_spawn(io, receive(requests), asio::detached);
  leat::async_run(io, serve(io, requests, replies), [&](std::exception_ptr error, int served) {
    requests.close_and_cancel();  // after an error in serve(), no task pops requests
    replies.close();
    if (!error) std::printf("%d served\n", served);
  });
  io.run();
  //! [/run]
}
