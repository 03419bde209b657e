/// A TCP proxy, as a model of a server: `proxy TARGET [IDLE [DRAIN]]` forwards each connection to
/// TARGET, such as `db:5432` or `unix:/run/jobs.sock`.
///
/// A connection ends when both peers have sent their last byte, after an error, or after IDLE
/// seconds without a byte in either direction. Up to 1,000 connections are open; further clients
/// wait. After SIGTERM or SIGINT, connections may finish for DRAIN seconds; then the proxy stops
/// and names them. A second signal terminates the process. The exit status is 0 if all connections
/// have finished, and 1 after an error or if the drain ran out of time.

#include <iostream>

#include <asio/write.hpp>
#include <leat/leat.hpp>
#include <leat/net.hpp>

namespace {

using namespace std::chrono_literals;

struct settings {
  leat::endpoint target;
  std::chrono::seconds idle, drain;
};

// Shared by all connections, which it outlives.
struct shared_state {
  settings options;
  leat::semaphore slots{1000, "connections"};
  leat::rate_limiter log_lines{1, 1s, 20, "log lines"};
  bool draining = false;  // names each connection that the drain stops

  void log(const std::string& name, const char* error) {
    if (draining || log_lines.try_acquire()) std::cerr << name << ": " << error << std::endl;
  }
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
// Clients cause most errors, so their number must not determine the number of log lines. The slot
// is free again at the end of the task.
leat::task<> serve(leat::connection client, std::string name, shared_state& shared,
                   leat::semaphore::guard) try {
  const std::chrono::seconds idle = shared.options.idle;
  leat::connection server = co_await leat::with_timeout(leat::connect(shared.options.target), idle);
  leat::time_point active = leat::this_task::get_scheduler().now();
  co_await leat::when_all(copy(client, server, active, idle), copy(server, client, active, idle));
} catch (const std::exception& e) {  // ends this connection only
  shared.log(name, e.what());
} catch (...) {
  shared.log(name, "an exception of an unknown type");
}
//! [/connection]

//! [accept]
leat::task<> accept_until_signal(leat::listener listener, leat::coordinator& connections,
                                 shared_state& shared) {
  auto start = [&, number = 0](leat::connection client, leat::semaphore::guard slot) mutable {
    const std::string name = "connection " + std::to_string(++number);
    connections.spawn(serve(std::move(client), name, shared, std::move(slot)), name);
  };
  const auto accept = [&](leat::task_group& accepting) -> leat::task<> {
    const leat::stop_on_signal guard(accepting);  // before the port is printed
    std::cout << "port " << listener.local().port() << std::endl;
    for (;;) {  // a signal ends both waits with `cancelled`
      auto slot = co_await shared.slots.acquire();
      start(co_await listener.accept(), std::move(slot));
    }
  };
  co_await leat::with_task_group(accept, "accepting");  // returns normally after a signal
  shared.draining = true;
  while (auto slot = shared.slots.try_acquire()) {  // clients that are connected and wait
    auto waiting = co_await leat::as_tuple(leat::with_timeout(listener.accept(), 0s));
    if (waiting.error) break;
    start(std::move(waiting.value), std::move(slot));
  }
}
//! [/accept]

//! [drain]
leat::task<int> run_proxy(settings options) {
  leat::listener listener = co_await leat::listen("127.0.0.1:0");
  shared_state shared{.options = std::move(options)};
  leat::coordinator connections("connections");
  auto drained = connections.join(
      {.stop_after = shared.options.drain, .stragglers = leat::straggler_policy::wait});
  co_await connections.stop_on_exception(
      accept_until_signal(std::move(listener), connections, shared));
  co_await std::move(drained);
  co_return connections.should_stop() ? 1 : 0;  // 1: the drain has stopped connections
}
//! [/drain]

}  // namespace

int main(int argc, char** argv) try {
  const auto number = [&](int i, int otherwise) {
    return argc > i ? std::atoi(argv[i]) : otherwise;
  };
  settings options{argc > 1 ? argv[1] : "", std::chrono::seconds(number(2, 60)),
                   std::chrono::seconds(number(3, 10))};
  return leat::run([&] { return run_proxy(std::move(options)); }, {.signals = {}});
} catch (const leat::failure& e) {
  std::cerr << "proxy: " << e.what() << std::endl;
  return 2;
}
