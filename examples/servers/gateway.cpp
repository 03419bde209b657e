/// A gateway: a server of asio::awaitable coroutines calls a leat task for each request, a line.
///
/// `gateway [LIMIT [DRAIN]]` replies "timeout" if the back-ends need more than LIMIT ms. After
/// SIGTERM or SIGINT, requests may finish for DRAIN ms; then the gateway stops and names their
/// connections. A second signal terminates the process.

#include <csignal>
#include <iostream>

#include <asio.hpp>
#include <leat/leat.hpp>

namespace {

using asio::use_awaitable;
using asio::ip::tcp;
using std::chrono::milliseconds;

struct gateway {
  milliseconds limit, drain;
  asio::io_context io = {};
  tcp::acceptor acceptor{io, {asio::ip::address_v4::loopback(), 0}};
  leat::coordinator connections{{.name = "connections"}};
  std::stop_source draining = {};
};

// Stands for a back-end: a request is the time in ms that its answer takes.
leat::task<std::string> ask(std::string name, std::string request) {
  co_await leat::sleep_for(milliseconds(std::stoi(request)));
  co_return name + " " + request;
}

//! [request]
leat::task<std::string> answer(std::string request) {
  const auto [stock, price] = co_await leat::when_all(ask("stock", request), ask("price", request));
  co_return stock + ", " + price;
}

asio::awaitable<std::string> reply_to(gateway& g, std::string request) {
  const auto limited = [&] { return leat::with_timeout(answer(request), g.limit); };
  try {
    co_return co_await leat::async_run(g.io, limited, use_awaitable);
  } catch (const std::exception& e) {
    const std::error_code ec = leat::to_error_code(std::current_exception());
    if (ec == leat::errc::cancelled) throw;  // the drain has ended
    co_return ec == leat::errc::deadline_exceeded ? "timeout" : std::string("error: ") + e.what();
  }
}
//! [/request]

//! [connection]
asio::awaitable<void> serve(gateway& g, tcp::socket socket) {
  std::string input;
  const auto read = [&] {  // the start of the drain ends this wait
    auto line = asio::async_read_until(socket, asio::dynamic_buffer(input), '\n', leat::use_task);
    return leat::as_tuple(leat::with_stop(std::move(line), g.draining.get_token()));
  };
  for (;;) {
    const auto [ec, size] = co_await leat::async_run(g.io, read, use_awaitable);
    if (ec) co_return;
    const std::string reply = co_await reply_to(g, input.substr(0, size - 1)) + '\n';
    input.erase(0, size);
    co_await asio::async_write(socket, asio::buffer(reply), use_awaitable);
  }
}

// A task that runs the coroutine: the coordinator owns the task, and a stop cancels the coroutine.
leat::task<> own(gateway& g, tcp::socket socket, std::string name) try {
  co_await asio::co_spawn(g.io, serve(g, std::move(socket)), leat::use_task);
} catch (const std::exception& e) {
  std::cerr << name << ": " << e.what() << '\n';
}

asio::awaitable<void> accept(gateway& g) {
  for (int i = 1; g.acceptor.is_open(); ++i) {
    std::error_code ec;
    tcp::socket socket(g.io);
    co_await g.acceptor.async_accept(socket, asio::redirect_error(use_awaitable, ec));
    const std::string name = "connection " + std::to_string(i);
    if (!ec)
      g.connections.spawn_on(leat::get_scheduler(g.io), own(g, std::move(socket), name), name);
    asio::steady_timer pause(g.io, milliseconds(ec ? 100 : 0));  // too many open files, for example
    co_await pause.async_wait(use_awaitable);
  }
}
//! [/connection]

//! [drain]
asio::awaitable<void> drain_after_signal(gateway& g) {
  asio::signal_set signals(g.io, SIGINT, SIGTERM);
  co_await signals.async_wait(use_awaitable);
  signals.clear();  // the second signal has its default effect
  g.acceptor.close();
  g.draining.request_stop();
  leat::join_options options{.stop_after = g.drain, .wait_for_stragglers = true};
  co_await leat::async_run(g.io, g.connections.join(options), use_awaitable);
}
//! [/drain]

}  // namespace

int main(int argc, char** argv) try {
  gateway g{milliseconds(argc > 1 ? std::atoi(argv[1]) : 500),
            milliseconds(argc > 2 ? std::atoi(argv[2]) : 10'000)};
  std::exception_ptr error;
  asio::co_spawn(g.io, drain_after_signal(g), [&](const std::exception_ptr& e) { error = e; });
  asio::co_spawn(g.io, accept(g), [](const std::exception_ptr& e) {
    if (e) std::rethrow_exception(e);
  });
  std::cout << "port " << g.acceptor.local_endpoint().port() << std::endl;
  g.io.run();
  if (error) std::rethrow_exception(error);
} catch (const std::exception& e) {
  std::cerr << "error: " << e.what() << '\n';
  return 1;
}
