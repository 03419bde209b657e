/// A TCP proxy, as a model of a server: `proxy TARGET [IDLE [DRAIN]]` forwards each connection to
/// TARGET, such as `db:5432` or `unix:/run/jobs.sock`.
///
/// A connection ends when both peers have sent their last byte, after an error, or after IDLE
/// seconds without a byte in either direction. After SIGTERM or SIGINT, open connections may finish
/// for DRAIN seconds; then the proxy stops and names them. A second signal terminates the process.
/// The exit status is 0 if all connections have finished, and 1 after an error or if the drain ran
/// out of time.

#include <iostream>

#include <leat/leat.hpp>
#include <leat/net.hpp>

namespace {

using namespace std::chrono_literals;

struct settings {
  leat::endpoint target;
  std::chrono::seconds idle, drain;
};

struct connection_log {
  leat::rate_limiter lines{1, 1s, 20, "log lines"};
  bool draining = false;  // names each connection that the drain stops
};

//! [copy]
// Copies bytes until `from` ends, and then ends `to`. `active` is the time of the last transfer in
// either direction.
leat::task<> copy(leat::connection& from, leat::connection& to, leat::time_point& active,
                  std::chrono::seconds idle) {
  const leat::scheduler& clock = leat::this_task::get_scheduler();
  std::vector<char> bytes(16 * 1024);
  for (;;) {
    const auto read = co_await leat::as_tuple(
        leat::with_deadline(from.async_read_some_or_end(asio::buffer(bytes)), active + idle));
    const bool is_late = read.error == make_error_code(leat::errc::deadline_exceeded);
    if (is_late && clock.now() < active + idle) continue;  // the other direction was active
    if (read.error) throw leat::failure(read.error, "read");
    if (!read.value) break;
    active = clock.now();
    const auto some = asio::buffer(bytes, *read.value);
    co_await leat::with_timeout(asio::async_write(to, some, leat::use_task), idle);
    active = clock.now();
  }
  static_cast<void>(to.shutdown_send());  // the other direction reports a lost connection
}
//! [/copy]

//! [connection]
// Clients cause most errors, so their number must not determine the number of log lines.
leat::task<> serve(leat::connection client, std::string name, const settings& s,
                   connection_log& log) try {
  leat::connection server = co_await leat::with_timeout(leat::connect(s.target), s.idle);
  leat::time_point active = leat::this_task::get_scheduler().now();
  co_await leat::when_all(copy(client, server, active, s.idle),
                          copy(server, client, active, s.idle));
} catch (const std::exception& e) {  // ends this connection only
  if (log.draining || log.lines.try_acquire()) std::cerr << name << ": " << e.what() << std::endl;
} catch (...) {
  if (log.draining || log.lines.try_acquire())
    std::cerr << name << ": an exception of an unknown type" << std::endl;
}
//! [/connection]

//! [accept]
leat::task<> accept_until_signal(leat::listener listener, leat::coordinator& connections,
                                 connection_log& log, const settings& s) {
  const auto accept = [&](leat::task_group& accepting) -> leat::task<> {
    const leat::stop_on_signal guard(accepting);  // before the port is printed
    std::cout << "port " << listener.local().port() << std::endl;
    for (int number = 1;; ++number) {
      leat::connection client = co_await listener.accept();  // throws `cancelled` after a signal
      const std::string name = "connection " + std::to_string(number);
      connections.spawn(serve(std::move(client), name, s, log), name);
    }
  };
  co_await leat::with_task_group(accept, "accepting");  // returns normally after a signal
  log.draining = true;
}
//! [/accept]

//! [drain]
leat::task<int> run_proxy(const settings& s) {
  leat::listener listener = co_await leat::listen("127.0.0.1:0");
  connection_log log;
  leat::coordinator connections("connections");
  auto drained =
      connections.join({.stop_after = s.drain, .stragglers = leat::straggler_policy::wait});
  co_await connections.stop_on_exception(
      accept_until_signal(std::move(listener), connections, log, s));
  co_await std::move(drained);
  co_return connections.should_stop() ? 1 : 0;  // 1: the drain has stopped connections
}
//! [/drain]

}  // namespace

int main(int argc, char** argv) try {
  const auto number = [&](int i, int otherwise) {
    return argc > i ? std::atoi(argv[i]) : otherwise;
  };
  const settings s{argc > 1 ? argv[1] : "", std::chrono::seconds(number(2, 60)),
                   std::chrono::seconds(number(3, 10))};
  return leat::run([&] { return run_proxy(s); }, {.signals = {}});
} catch (const leat::failure& e) {
  std::cerr << "proxy: " << e.what() << std::endl;
  return 2;
}
