/// Receives 20,000 messages and waits at most 20 microseconds for each of them.
///
/// Asio's channel with operator || loses up to a third of the messages: the channel has passed them
/// to a receive operation, and then the timer completes first. leat's queue loses none. A select
/// decides the winner before an item leaves the queue, and an item whose receive operation Asio
/// drops returns to the queue.
///
/// An argument sets the number of messages; leat's select alone then receives them.
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <thread>

#include <asio/co_spawn.hpp>
#include <asio/detached.hpp>
#include <asio/experimental/awaitable_operators.hpp>
#include <asio/experimental/concurrent_channel.hpp>
#include <asio/io_context.hpp>
#include <asio/steady_timer.hpp>
#include <asio/use_awaitable.hpp>
#include <leat/leat.hpp>

using namespace asio::experimental::awaitable_operators;
using channel = asio::experimental::concurrent_channel<void(leat::asio_error_code, int)>;
using queue = leat::fifo_queue<int>;
constexpr auto pace = std::chrono::microseconds(20);
int messages = 20'000;

//! [select]
leat::task<> send_all(queue& to) {
  for (int i = 0; i < messages; ++i) {
    if (!co_await to.push(i)) co_return;
    co_await leat::sleep_for(pace);
  }
  to.close();
}

leat::task<> receive_all(queue& from, int& received) {
  for (;;) {
    const auto first = co_await leat::select(from.pop(), leat::sleep_for(pace));
    if (first.index() == 1) continue;    // timed out: nothing was popped
    if (!std::get<0>(first)) co_return;  // closed and drained
    ++received;
  }
}
//! [/select]

// The comparison as Asio coroutines, with Asio's channel and with leat's queue.
auto send(channel& c, int i) {
  return c.async_send(leat::asio_error_code(), i, asio::use_awaitable);
}
auto send(queue& q, int i) { return q.async_push(i, asio::use_awaitable); }
auto receive(channel& c) { return c.async_receive(asio::use_awaitable); }
auto receive(queue& q) { return q.async_pop(asio::use_awaitable); }
bool try_receive(channel& c) {
  return c.try_receive([](leat::asio_error_code, int) {});
}
bool try_receive(queue& q) { return q.try_pop().has_value(); }

asio::awaitable<void> send_all(auto& to, std::atomic<bool>& sent) {
  asio::steady_timer timer(co_await asio::this_coro::executor);
  for (int i = 0; i < messages; ++i) {
    co_await send(to, i);
    timer.expires_after(pace);
    co_await timer.async_wait(asio::use_awaitable);
  }
  sent = true;
}

asio::awaitable<void> receive_all(auto& from, std::atomic<bool>& sent, int& received) {
  asio::steady_timer timer(co_await asio::this_coro::executor);
  for (int idle = 0; idle < 100; idle += sent) {
    timer.expires_after(pace);
    const auto first = co_await (receive(from) || timer.async_wait(asio::use_awaitable));
    if (first.index() == 1) continue;
    ++received;
    idle = 0;
  }
}

int report(const char* who, std::size_t threads, int received) {
  const int lost = messages - received;
  std::printf("%-32s %zu thread(s): %5d of %d lost\n", who, threads, lost, messages);
  return lost;
}

int with_asio(const char* who, auto& target, std::size_t threads) {
  std::atomic<bool> sent = false;
  int received = 0;
  asio::io_context contexts[2];
  asio::co_spawn(contexts[threads - 1], send_all(target, sent), asio::detached);
  asio::co_spawn(contexts[0], receive_all(target, sent, received), asio::detached);
  std::jthread other([&] { contexts[1].run(); });
  contexts[0].run();
  return report(who, threads, received);
}

int main(int argc, char** argv) {
  if (argc > 1) messages = std::atoi(argv[1]);
  int lost = 0;
  for (std::size_t threads = 1; threads <= 2; ++threads) {
    if (argc == 1) {
      channel c(asio::system_executor(), 64);
      queue q(64);
      with_asio("Asio channel, receive || timer", c, threads);
      lost += with_asio("leat queue, async_pop || timer", q, threads);
    }
    queue own(64);
    leat::runtime rt({.threads = threads});
    leat::task_group group;
    int received = 0;
    group.spawn_on(rt.get_scheduler(0), send_all(own));
    group.spawn_on(rt.get_scheduler(threads - 1), receive_all(own, received));
    leat::block_on(group.join());
    lost += report("leat queue, select", threads, received);
  }
  return lost == 0 ? 0 : 1;
}
