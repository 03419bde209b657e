#pragma once

// The loops of the workloads net/*, for any type of coroutine, its completion token, and sockets of
// Asio or connections of leat.

#include <array>
#include <cstddef>
#include <vector>

#include <asio.hpp>

#include "support/bench.hpp"

namespace bench {

using asio::ip::tcp;

/// The loops. Library: has a type `task` and a constant `token`.
template <class Library>
struct net_loops {
  using task = typename Library::task;
  static constexpr auto& token = Library::token;

  template <class Socket>
  static task serve(Socket& s, long count) {
    std::array<char, 64> bytes{};
    for (long i = 0; i < count; ++i) {
      const std::size_t n = co_await s.async_read_some(asio::buffer(bytes), token);
      co_await asio::async_write(s, asio::buffer(bytes, n), token);
    }
  }
  template <class Socket>
  static task call(Socket& s, long count) {
    std::array<char, 64> bytes{};
    for (long i = 0; i < count; ++i) {
      co_await asio::async_write(s, asio::buffer(bytes), token);
      co_await asio::async_read(s, asio::buffer(bytes), token);
    }
  }
};

/// The workloads on sockets of Asio. Library: also has a function `start`.
template <class Library>
struct asio_net_loops : net_loops<Library> {
  using typename net_loops<Library>::task;
  using net_loops<Library>::token;

  static void echo(long connections, long count) {
    asio::io_context io{1};
    tcp::acceptor acceptor(io, {asio::ip::make_address("127.0.0.1"), 0});
    std::vector<tcp::socket> clients;
    std::vector<tcp::socket> servers;
    for (long i = 0; i < connections; ++i) {
      clients.emplace_back(io).connect(acceptor.local_endpoint());
      servers.push_back(acceptor.accept());
      clients.back().set_option(tcp::no_delay(true));
      servers.back().set_option(tcp::no_delay(true));
    }
    const long each = count / connections;
    for (std::size_t i = 0; i < clients.size(); ++i) {
      Library::start(io, net_loops<Library>::serve(servers[i], each));
      Library::start(io, net_loops<Library>::call(clients[i], each));
    }
    io.run();
  }

  // Connections that end by a reset leave no port behind that a later one would wait for.
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
        echo(number_of(r), count);
      } else {
        unknown(r);
      }
    });
    return report(r, subject, each, "ns/item");
  }
};

}  // namespace bench
