/// A TCP server that distributes the batches of one pipeline among its clients.
///
/// A client receives a batch as one line, answers "ok" when it has processed the batch, and
/// receives the next one. A slow client holds one batch while the others continue; if all clients
/// are slow, the generator waits. The server drops a client that disconnects or does not answer
/// within a second, and another client receives its batch. After SIGTERM or SIGINT the server
/// accepts no more clients, generates no more records, and delivers those in the pipeline. A second
/// signal terminates the process. The exit status is 0 if all records were delivered.

#include <climits>
#include <csignal>
#include <iostream>

#include <asio.hpp>
#include <leat/leat.hpp>

namespace {

using asio::use_awaitable;
using asio::ip::tcp;

struct server {
  asio::io_context io;
  tcp::acceptor acceptor{io, {asio::ip::address_v4::loopback(), 0}};
  asio::signal_set signals{io, SIGINT, SIGTERM};
  leat::fifo_queue<long> numbers{32, "numbers"};
  leat::fifo_queue<std::vector<long>> batches{4, "batches"};
  long made = 0, delivered = 0, clients = 0;
  bool complete = false, failed = false;  // how the pipeline has ended

  // Stops the server once all records are delivered, or once they cannot be: the pipeline has
  // failed, or no client is left after a signal.
  void settle(bool error = false) {
    const bool all = complete && made == delivered;
    failed = failed || error || (!all && clients == 0 && !acceptor.is_open());
    if (!all && !failed) return;
    numbers.close_and_cancel();
    batches.close_and_cancel();
    acceptor.close(), signals.cancel();
  }
  // The completion handler of everything that is spawned: an error stops the server.
  auto handler() {
    return [this](const std::exception_ptr& error) { settle(error != nullptr); };
  }
};

leat::task<> generate(server& s, long count) {
  for (long i = 0; i < count; ++i)
    if (!co_await s.numbers.push(i)) break;  // closed after a signal
  s.numbers.close();
}

leat::task<> make_batches(server& s) {
  while (auto some = co_await s.numbers.pop_up_to(8)) {
    s.made += static_cast<long>(some->size());
    if (!co_await s.batches.push(std::move(*some))) co_return;  // waits while clients are slow
  }
  s.complete = true;
}

//! [client]
asio::awaitable<void> serve(server& s, std::shared_ptr<tcp::socket> socket) {
  std::optional<std::vector<long>> taken;
  for (++s.clients; (taken = co_await s.batches.async_pop(use_awaitable)); s.settle()) {
    std::string text, answer;
    for (const long n : *taken) text += std::to_string(n) + ' ';
    asio::steady_timer limit(s.io, std::chrono::seconds(1));
    limit.async_wait([socket](std::error_code ec) { return ec ? void() : socket->close(); });
    leat::asio_error_code ec;
    auto token = asio::redirect_error(use_awaitable, ec);
    co_await asio::async_write(*socket, asio::buffer(text += '\n'), token);
    if (!ec) co_await asio::async_read_until(*socket, asio::dynamic_buffer(answer, 3), '\n', token);
    if (ec || answer != "ok\n") break;
    s.delivered += static_cast<long>(taken->size());
  }
  --s.clients, s.settle();
  if (taken) co_await s.batches.async_push(std::move(*taken), use_awaitable);  // for another client
}
//! [/client]

asio::awaitable<void> accept(server& s) {
  for (leat::asio_error_code ec; s.acceptor.is_open();) {
    const auto socket = std::make_shared<tcp::socket>(s.io);
    co_await s.acceptor.async_accept(*socket, asio::redirect_error(use_awaitable, ec));
    if (!ec) asio::co_spawn(s.io, serve(s, socket), s.handler());
    // After an error, such as too many open files, waits before it accepts again.
    asio::steady_timer pause(s.io, std::chrono::milliseconds(ec ? 100 : 0));
    co_await pause.async_wait(use_awaitable);
  }
}

}  // namespace

int main(int argc, char** argv) {
  server s;
  s.signals.async_wait([&s](std::error_code ec, int) {
    if (!ec) s.signals.clear(), s.acceptor.close(), s.numbers.close(), s.settle();
  });
  leat::async_run(s.io, generate(s, argc > 1 ? std::atol(argv[1]) : LONG_MAX), s.handler());
  leat::async_run(s.io, make_batches(s), s.handler());
  asio::co_spawn(s.io, accept(s), s.handler());
  std::cout << "port " << s.acceptor.local_endpoint().port() << std::endl;
  s.io.run();
  std::cout << s.made << " made, " << s.delivered << " delivered\n";
  return s.failed ? 1 : 0;
}
