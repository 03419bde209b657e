/// An Asio program that moves to leat piece by piece. An asio::awaitable waits for operations of
/// leat and calls a leat task. A coroutine of a third kind, in a handler, prints the replies.

#include <chrono>
#include <coroutine>
#include <cstdio>
#include <exception>
#include <optional>
#include <string>
#include <utility>
#include <variant>

#include <asio/awaitable.hpp>
#include <asio/co_spawn.hpp>
#include <asio/io_context.hpp>
#include <asio/post.hpp>
#include <asio/use_awaitable.hpp>

#include <leat/leat.hpp>

namespace {

using namespace std::chrono_literals;
using queue = leat::fifo_queue<std::string>;

leat::task<std::string> answer(std::string request) {
  co_await leat::sleep_for(1ms);  // stands for work
  co_return "reply to " + request;
}

// Waits for a request, urgent ones first. Returns an empty string after 100 ms without one.
//! [select]
asio::awaitable<std::string> next_request(queue& urgent, queue& normal) {
  const auto executor = co_await asio::this_coro::executor;
  const auto first = [&] {
    return leat::select(urgent.pop(), normal.pop(), leat::sleep_for(100ms));
  };
  auto done = co_await leat::async_run(executor, first, asio::use_awaitable);
  if (done.index() == 0) co_return std::get<0>(std::move(done)).value();
  if (done.index() == 1) co_return std::get<1>(std::move(done)).value();
  co_return "";  // the time is over, and no queue has lost an item
}
//! [/select]

//! [task]
asio::awaitable<void> serve(queue& urgent, queue& normal, queue& replies) {
  const auto executor = co_await asio::this_coro::executor;
  for (;;) {
    const std::string request = co_await next_request(urgent, normal);
    if (request.empty()) break;
    auto reply = co_await leat::async_run(executor, answer(request), asio::use_awaitable);
    if (!co_await replies.async_push(std::move(reply), asio::use_awaitable)) break;
  }
  replies.close();
}
//! [/task]

// A coroutine type that knows neither Asio nor leat.
struct detached {
  struct promise_type {
    detached get_return_object() const noexcept { return {}; }
    std::suspend_never initial_suspend() const noexcept { return {}; }
    std::suspend_never final_suspend() const noexcept { return {}; }
    void return_void() const noexcept {}
    void unhandled_exception() const noexcept { std::terminate(); }
  };
};

//! [plain]
detached print(queue& replies) {
  while (const auto reply = co_await replies.pop()) std::puts(reply->c_str());
}
//! [/plain]

}  // namespace

int main() {
  queue urgent(4, "urgent"), normal(4, "normal"), replies(4, "replies");
  for (const char* text : {"one", "two"}) leat::block_on(normal.push(text));
  leat::block_on(urgent.push("three"));
  //! [handler]
  asio::io_context io;
  static_cast<void>(leat::get_scheduler(io));  // before a coroutine awaits leat
  asio::post(io, [&] { print(replies); });     // starts the coroutine in a handler
  //! [/handler]
  // An error of serve() ends the program: asio::detached would hide it, and print() would wait.
  asio::co_spawn(io, serve(urgent, normal, replies), [](const std::exception_ptr& error) {
    if (error) std::rethrow_exception(error);
  });
  io.run();
}
