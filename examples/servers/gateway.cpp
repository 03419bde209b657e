/// A gateway: a server of asio::awaitable coroutines calls leat tasks for each request, a line.
///
/// `gateway [LIMIT [DRAIN [PATIENCE]]]` replies "timeout" if the back-ends need more than LIMIT ms.
/// A client has PATIENCE ms to send a line, and as long to receive its reply. A client that resets
/// its connection withdraws its request.
///
/// After SIGTERM or SIGINT, requests may finish for DRAIN ms; then the gateway stops them and names
/// their connections. A second signal terminates the process. The exit status is 0 if all requests
/// have finished, and 1 after an error or if the drain ran out of time.

#include <csignal>
#include <iostream>

#include <asio.hpp>
#include <leat/leat.hpp>

namespace {

using namespace std::chrono_literals;
using asio::use_awaitable;
using asio::ip::tcp;
using std::chrono::milliseconds;

constexpr std::size_t longest_line = 64 * 1024;

struct gateway {
  milliseconds limit, drain, patience;
  asio::io_context io = {};
  asio::signal_set signals{io, SIGINT, SIGTERM};  // from now on, no signal ends the process
  tcp::acceptor acceptor{io, {asio::ip::address_v4::loopback(), 0}};
  leat::coordinator connections{{.name = "connections"}};
  std::stop_source draining = {};
  leat::rate_limiter log_lines{1, 1s, 20, "log lines"};
};

struct connection {
  gateway& g;
  tcp::socket socket;
  std::string input = {};  // bytes that are not part of a request yet
  bool ended = false;      // after the client's last byte
};

// Stands for a back-end: a request is the time in ms that its answer takes.
leat::task<std::string> ask(std::string name, std::string request) {
  co_await leat::sleep_for(milliseconds(std::stoi(request)));
  co_return name + " " + request;
}

//! [request]
leat::task<std::string> answer(std::string request) {
  const auto both = co_await leat::when_all(ask("stock", request), ask("price", request));
  const auto& [stock, price] = both;
  co_return stock + ", " + price;
}

leat::task<std::string> reply_to(std::string request, milliseconds limit) try {
  co_return co_await leat::with_timeout(answer(request), limit);
} catch (const std::exception& e) {
  const std::error_code ec = leat::to_error_code(std::current_exception());
  if (ec == leat::errc::cancelled) throw;  // the drain has ended, or the client has left
  co_return ec == leat::errc::deadline_exceeded ? "timeout" : std::string("error: ") + e.what();
}
//! [/request]

//! [read]
// Waits for some bytes, or for the end of the stream.
leat::task<> receive(connection& c) {
  std::array<char, 4096> bytes;
  const auto [ec, n] =
      co_await leat::as_tuple(c.socket.async_read_some(asio::buffer(bytes), leat::use_task));
  c.input.append(bytes.data(), n);
  c.ended = ec == asio::error::eof;
  if (ec && !c.ended) throw leat::failure(ec, "read");
}

// Returns the next line, the last one also without a newline. Returns nothing at the end of the
// stream, and if the drain begins before a byte of the next line has arrived.
leat::task<std::optional<std::string>> next_request(connection& c) {
  for (;;) {
    const std::size_t size = c.input.find('\n');
    if (size != std::string::npos || (c.ended && !c.input.empty())) {
      std::string line = c.input.substr(0, size);
      c.input.erase(0, size == std::string::npos ? size : size + 1);
      co_return line;
    }
    if (c.ended) co_return std::nullopt;
    if (c.input.size() > longest_line)
      throw leat::failure(leat::errc::resource_exhausted, "the line is too long");
    if (c.input.empty()) {  // the start of the drain ends this wait
      const auto [ec] =
          co_await leat::as_tuple(leat::with_stop(receive(c), c.g.draining.get_token()));
      if (ec == leat::errc::cancelled) co_return std::nullopt;
      if (ec) throw leat::failure(ec, "read");
    } else {
      co_await receive(c);
    }
  }
}
//! [/read]

//! [leave]
// Reads the client's next requests ahead, and throws if the client resets the connection. Continues
// after the end of the stream: a client that sends no more requests may wait for its reply.
leat::task<> fail_if_client_leaves(connection& c) {
  while (!c.ended && c.input.size() <= longest_line) co_await receive(c);
  co_await leat::sleep_for(leat::duration::max());
}

leat::task<std::string> reply_unless_client_leaves(connection& c, std::string request) {
  const auto [reply, left] =
      co_await leat::when_any(reply_to(std::move(request), c.g.limit), fail_if_client_leaves(c));
  co_return *reply;
}
//! [/leave]

//! [connection]
asio::awaitable<void> serve(gateway& g, tcp::socket socket) {
  connection c{g, std::move(socket)};
  const auto read = [&] { return leat::with_timeout(next_request(c), g.patience); };
  for (;;) {
    const auto request = co_await leat::async_run(g.io, read, use_awaitable);
    if (!request) co_return;
    auto replying = reply_unless_client_leaves(c, *request);
    const auto reply = co_await leat::async_run(g.io, std::move(replying), use_awaitable) + '\n';
    const auto write = [&] {
      return leat::with_timeout(asio::async_write(c.socket, asio::buffer(reply), leat::use_task),
                                g.patience);
    };
    co_await leat::async_run(g.io, write, use_awaitable);
  }
}

// A task that runs the coroutine: the coordinator owns the task, and a stop cancels the coroutine.
// Clients cause most errors, so their number must not determine the number of log lines.
leat::task<> own(gateway& g, tcp::socket socket, std::string name) try {
  co_await asio::co_spawn(g.io, serve(g, std::move(socket)), leat::use_task);
} catch (const std::exception& e) {
  if (g.draining.stop_requested() || g.log_lines.try_acquire())
    std::cerr << name << ": " << e.what() << '\n';
} catch (...) {
  if (g.draining.stop_requested() || g.log_lines.try_acquire())
    std::cerr << name << ": an exception of an unknown type\n";
}

asio::awaitable<void> accept(gateway& g) {
  for (int i = 1; g.acceptor.is_open(); ++i) {
    leat::asio_error_code ec;
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
  co_await g.signals.async_wait(use_awaitable);
  g.signals.clear();  // the second signal has its default effect
  g.acceptor.close();
  g.draining.request_stop();
  leat::join_options options{.stop_after = g.drain, .stragglers = leat::straggler_policy::wait};
  co_await leat::async_run(g.io, g.connections.join(options), use_awaitable);
}
//! [/drain]

}  // namespace

int main(int argc, char** argv) try {
  const auto number = [&](int i, int otherwise) {
    return milliseconds(argc > i ? std::atoi(argv[i]) : otherwise);
  };
  gateway g{number(1, 500), number(2, 10'000), number(3, 60'000)};
  std::exception_ptr error;
  asio::co_spawn(g.io, drain_after_signal(g), [&](const std::exception_ptr& e) { error = e; });
  asio::co_spawn(g.io, accept(g), [](const std::exception_ptr& e) {
    if (e) std::rethrow_exception(e);
  });
  std::cout << "port " << g.acceptor.local_endpoint().port() << std::endl;
  g.io.run();
  if (error) std::rethrow_exception(error);
  return g.connections.should_stop() ? 1 : 0;  // 1: the drain has stopped connections
} catch (const std::exception& e) {
  std::cerr << "error: " << e.what() << '\n';
  return 1;
}
