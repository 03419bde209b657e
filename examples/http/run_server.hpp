#pragma once

// Runs one task for each connection, plain or TLS, until SIGTERM or SIGINT, and then drains.

#include <array>
#include <charconv>
#include <chrono>
#include <iostream>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "network.hpp"

namespace network {

using namespace std::chrono_literals;
using std::chrono::milliseconds;

struct server_options {
  std::uint16_t port = 0;
  std::string certificate = {}, key = {};  // PEM files for TLS; without them: plain
  std::size_t connections = 1000;          // more clients wait until one of these has ended
  milliseconds handshake = 10s;
  milliseconds linger = 1s;  // for a client to read the last response; with TLS, twice
  milliseconds drain = 10s;
};

struct connection_log {
  leat::rate_limiter lines{1, 1s, 20, "log lines"};
  std::stop_source& draining;

  void write(const std::string& name, const std::string& what) {
    if (draining.stop_requested() || lines.try_acquire())
      std::cerr << name << ": " << what << std::endl;
  }
};

//! [close]
inline leat::task<> read_until_end(socket& s) {
  std::array<char, 4096> ignored;
  for (;;) co_await s.async_read_some(asio::buffer(ignored));  // throws `eof` at the end
}
/// Ends a stream so that the client receives the last bytes: close() alone would discard them if
/// the client has sent bytes that were not read. Always throws an exception.
inline leat::task<> close(socket& s, milliseconds linger) {
  s.shutdown(tcp::socket::shutdown_send);
  co_await leat::with_timeout(read_until_end(s), linger);
}
inline leat::task<> close(tls_stream& s, milliseconds linger) {
  // Sends close_notify, and fails if the client sends data or nothing instead of its own.
  co_await leat::as_tuple(leat::with_timeout(s.async_shutdown(), linger));
  co_await close(s.next_layer(), linger);
}
//! [/close]

//! [connection]
template <class Serve>
leat::task<> serve_connection(socket s, asio::ssl::context* tls, std::string name,
                              const server_options& options, connection_log& log, Serve& serve,
                              leat::semaphore::guard) try {
  s.set_option(tcp::no_delay(true));
  if (tls) {
    tls_stream stream(std::move(s), *tls);
    co_await leat::with_timeout(stream.async_handshake(tls_stream::server), options.handshake);
    co_await serve(stream);
    co_await leat::as_tuple(close(stream, options.linger));
  } else {
    co_await serve(s);
    co_await leat::as_tuple(close(s, options.linger));
  }
} catch (const std::exception& e) {  // ends this connection only
  log.write(name, e.what());
} catch (...) {
  log.write(name, "an exception of an unknown type");
}
//! [/connection]

//! [accept]
template <class Serve>
leat::task<> accept_until_signal(acceptor& from, asio::ssl::context* tls,
                                 leat::coordinator& connections, const server_options& options,
                                 connection_log& log, leat::semaphore& permits, Serve& serve) {
  const auto accept = [&](leat::task_group& accepting) -> leat::task<> {
    const leat::stop_on_signal guard(accepting);  // before the port is printed
    std::cout << "port " << from.local_endpoint().port() << std::endl;
    for (int number = 0;;) {
      auto permit = co_await permits.acquire();
      socket client(from.get_executor());
      tcp::endpoint peer;
      const auto accepted = co_await leat::as_tuple(from.async_accept(client, peer));
      if (accepted.error) {               // such as too many open files
        co_await leat::sleep_for(100ms);  // throws `cancelled` after a signal
        log.write("accept", accepted.error.message());
      } else {
        const std::string name = "connection " + std::to_string(++number) + " from " +
                                 peer.address().to_string() + ':' + std::to_string(peer.port());
        connections.spawn(
            serve_connection(std::move(client), tls, name, options, log, serve, std::move(permit)),
            name);
      }
    }
  };
  co_await leat::with_task_group(accept, "accepting");  // returns normally after a signal
  from.close();
  log.draining.request_stop();
}
//! [/accept]

//! [run]
/// Calls `serve(stream)` for each connection; the stream is a socket or a tls_stream. The drain
/// requests a stop of `draining`, waits, and stops the connections that have not ended. Returns the
/// exit status: 1 if it had to stop one, otherwise 0.
template <class Serve>
leat::task<int> run_server(server_options options, std::stop_source& draining, Serve& serve) {
  std::optional<asio::ssl::context> tls;
  if (!options.certificate.empty()) tls = tls_server(options.certificate, options.key);
  acceptor from = listen(options.port);
  connection_log log{.draining = draining};
  leat::semaphore permits(options.connections, "connections");
  leat::coordinator connections("connections");
  auto drained =
      connections.join({.stop_after = options.drain, .stragglers = leat::straggler_policy::wait});
  co_await connections.stop_on_exception(
      accept_until_signal(from, tls ? &*tls : nullptr, connections, options, log, permits, serve));
  co_await std::move(drained);
  co_return connections.should_stop() ? 1 : 0;
}
//! [/run]

/// The arguments of a program, such as `port=8080`. An unknown one is an error.
class arguments {
 public:
  arguments(int argc, char** argv) : all_(argv + 1, argv + argc) {}

  std::string get(const std::string& name, std::string otherwise) {
    for (auto i = all_.begin(); i != all_.end(); ++i) {
      if (!i->starts_with(name + '=')) continue;
      otherwise = i->substr(name.size() + 1);
      all_.erase(i);
      break;
    }
    return otherwise;
  }
  template <class Number>
    requires std::integral<Number>
  Number get(const std::string& name, Number otherwise) {
    const std::string text = get(name, std::to_string(otherwise));
    const char* const end = text.data() + text.size();
    const auto [last, error] = std::from_chars(text.data(), end, otherwise);
    if (error != std::errc() || last != end)
      throw std::invalid_argument(name + '=' + text + ": not a number, or too large");
    return otherwise;
  }
  milliseconds get(const std::string& name, milliseconds otherwise) {
    return milliseconds(get(name, static_cast<std::uint32_t>(otherwise.count())));
  }
  /// Throws an exception if an argument is left that no call of get() has read.
  void require_no_others() const {
    if (!all_.empty()) throw std::invalid_argument("unknown option " + all_[0]);
  }

 private:
  std::vector<std::string> all_;
};

inline server_options read_options(arguments& args) {
  return {.port = args.get("port", std::uint16_t{0}),
          .certificate = args.get("certificate", std::string()),
          .key = args.get("key", std::string()),
          .connections = args.get("connections", std::size_t{1000}),
          .handshake = args.get("handshake", 10'000ms),
          .linger = args.get("linger", 1000ms),
          .drain = args.get("drain", 10'000ms)};
}

}  // namespace network
