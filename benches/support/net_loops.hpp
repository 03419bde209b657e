#pragma once

// The workloads net/* on sockets of Asio, for any type of coroutine and its completion token. They
// are apart from asio_loops: more code in a program changes what the compiler inlines.

#include <asio.hpp>

#include "support/asio_operations.hpp"
#include "support/bench.hpp"

namespace bench {

/// The loops. Library: as for asio_loops.
template <class Library>
struct net_loops {
  using task = typename Library::task;
  static constexpr auto& token = Library::token;

  // A reset leaves no port in the state TIME_WAIT, so the ports suffice.
  static task accept_all(tcp::acceptor& a, long count) {
    for (long i = 0; i < count; ++i) {
      tcp::socket s = co_await a.async_accept(token);
      s.set_option(tcp::no_delay(true));
    }
  }
  static task connect_all(asio::io_context& io, tcp::endpoint to, long count) {
    for (long i = 0; i < count; ++i) {
      tcp::socket s(io);
      co_await s.async_connect(to, token);
      s.set_option(tcp::no_delay(true));
      s.set_option(asio::socket_base::linger(true, 0));
    }
  }
  static void connect(long count) {
    asio::io_context io{1};
    tcp::acceptor acceptor(io, {asio::ip::make_address("127.0.0.1"), 0});
    Library::start(io, accept_all(acceptor, count));
    Library::start(io, connect_all(io, acceptor.local_endpoint(), count));
    io.run();
  }

  static int main(int argc, char** argv, const char* subject) {
    const request r = parse(argc, argv);
    pin(0);
    raise_descriptor_limit();
    const double each = nanoseconds_each(r, [&](long count) {
      if (r.workload == "net/connect") {
        connect(count);
      } else if (r.workload.starts_with("net/echo-")) {
        asio_loops<Library>::echo(number_of(r), count, nullptr);
      } else {
        unknown(r);
      }
    });
    return report(r, subject, each, "ns/item");
  }
};

}  // namespace bench
