/// A TCP proxy, as a model of a server: `proxy PORT [IDLE [DRAIN]]` forwards each connection to
/// PORT of this machine.
///
/// A connection ends when both peers have sent their last byte, after an error, or after IDLE
/// seconds without a byte in either direction. After SIGTERM or SIGINT, open connections may finish
/// for DRAIN seconds; then the proxy stops and names them. A second signal terminates the process.
/// The exit status is 0 if all connections have finished, and 1 after an error or if the drain ran
/// out of time.

#include <iostream>

#include <asio.hpp>
#include <leat/leat.hpp>

namespace {

using namespace std::chrono_literals;
using asio::ip::tcp;

struct settings {
  tcp::endpoint target;
  std::chrono::seconds idle, drain;
};

struct connection_log {
  leat::rate_limiter lines{1, 1s, 20, "log lines"};
  bool draining = false;  // names each connection that the drain stops
};

//! [copy]
// Copies bytes until `from` ends, and then ends `to`. `active` is the time of the last transfer in
// either direction.
leat::task<> copy(tcp::socket& from, tcp::socket& to, leat::time_point& active, settings s) {
  const leat::scheduler& clock = leat::this_task::get_scheduler();
  std::vector<char> bytes(16 * 1024);
  for (;;) {
    const auto read = co_await leat::as_tuple(leat::with_deadline(
        from.async_read_some(asio::buffer(bytes), leat::use_task), active + s.idle));
    const auto& [ec, n] = read;
    if (ec == asio::error::eof) break;
    const bool is_late = ec == make_error_code(leat::errc::deadline_exceeded);
    if (is_late && clock.now() < active + s.idle) continue;  // the other direction was active
    if (ec) throw leat::failure(ec, "read");
    active = clock.now();
    co_await leat::with_timeout(asio::async_write(to, asio::buffer(bytes, n), leat::use_task),
                                s.idle);
    active = clock.now();
  }
  leat::asio_error_code ignored;  // the other direction reports a lost connection
  to.shutdown(tcp::socket::shutdown_send, ignored);
}
//! [/copy]

//! [connection]
// Clients cause most errors, so their number must not determine the number of log lines.
leat::task<> serve(tcp::socket client, std::string name, settings s, connection_log& log) try {
  tcp::socket server(client.get_executor());
  co_await leat::with_timeout(server.async_connect(s.target, leat::use_task), s.idle);
  leat::time_point active = leat::this_task::get_scheduler().now();
  co_await leat::when_all(copy(client, server, active, s), copy(server, client, active, s));
} catch (const std::exception& e) {  // ends this connection only
  if (log.draining || log.lines.try_acquire()) std::cerr << name << ": " << e.what() << std::endl;
} catch (...) {
  if (log.draining || log.lines.try_acquire())
    std::cerr << name << ": an exception of an unknown type" << std::endl;
}
//! [/connection]

//! [accept]
leat::task<> accept_until_signal(tcp::acceptor acceptor, leat::coordinator& connections,
                                 connection_log& log, settings s) {
  const auto accept = [&](leat::task_group& accepting) -> leat::task<> {
    const leat::stop_on_signal guard(accepting);  // before the port is printed
    std::cout << "port " << acceptor.local_endpoint().port() << std::endl;
    for (int number = 0;;) {
      tcp::socket client(acceptor.get_executor());
      const auto accepted = co_await leat::as_tuple(acceptor.async_accept(client, leat::use_task));
      if (accepted.error) {               // such as too many open files
        co_await leat::sleep_for(100ms);  // throws `cancelled` after a signal
        if (log.lines.try_acquire())
          std::cerr << "accept: " << accepted.error.message() << std::endl;
      } else {
        const std::string name = "connection " + std::to_string(++number);
        connections.spawn(serve(std::move(client), name, s, log), name);
      }
    }
  };
  co_await leat::with_task_group(accept, "accepting");  // returns normally after a signal
  log.draining = true;
}
//! [/accept]

//! [drain]
leat::task<int> run_proxy(settings s) {
  const auto executor = leat::get_executor(leat::this_task::get_scheduler());
  tcp::acceptor acceptor(executor, {asio::ip::address_v4::loopback(), 0});
  connection_log log;
  leat::coordinator connections("connections");
  auto drained =
      connections.join({.stop_after = s.drain, .stragglers = leat::straggler_policy::wait});
  co_await connections.stop_on_exception(
      accept_until_signal(std::move(acceptor), connections, log, s));
  co_await std::move(drained);
  co_return connections.should_stop() ? 1 : 0;  // 1: the drain has stopped connections
}
//! [/drain]

}  // namespace

int main(int argc, char** argv) {
  const auto number = [&](int i, int otherwise) {
    return argc > i ? std::atoi(argv[i]) : otherwise;
  };
  const auto port = static_cast<asio::ip::port_type>(number(1, 0));
  const settings s{{asio::ip::address_v4::loopback(), port},
                   std::chrono::seconds(number(2, 60)),
                   std::chrono::seconds(number(3, 10))};
  return leat::run([&] { return run_proxy(s); }, {.signals = {}});
}
