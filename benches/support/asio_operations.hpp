#pragma once

// The loops of the workloads asio/* and latency/echo-N, for any type of coroutine and its
// completion token.

#include <array>
#include <chrono>
#include <cstddef>
#include <string_view>
#include <vector>

#include <asio.hpp>

#include "support/bench.hpp"

namespace bench {

using asio::ip::tcp;
using local_stream = asio::local::stream_protocol;

/// The loops. Library: has a type `task` and a constant `token`.
template <class Library>
struct asio_loops {
  using task = typename Library::task;
  static constexpr auto& token = Library::token;

  static task timers(asio::io_context& io, long count) {
    asio::steady_timer t(io);
    for (long i = 0; i < count; ++i) {
      t.expires_after(std::chrono::nanoseconds(0));
      co_await t.async_wait(token);
    }
  }

  static task ping(local_stream::socket& s, long count) {
    std::array<char, 8> bytes{};
    for (long i = 0; i < count; ++i) {
      co_await s.async_write_some(asio::buffer(bytes), token);
      co_await s.async_read_some(asio::buffer(bytes), token);
    }
  }
  static task pong(local_stream::socket& s, long count) {
    std::array<char, 8> bytes{};
    for (long i = 0; i < count; ++i) {
      co_await s.async_read_some(asio::buffer(bytes), token);
      co_await s.async_write_some(asio::buffer(bytes), token);
    }
  }

  template <class Socket>
  static task serve(Socket& s, long count) {
    std::array<char, 64> bytes{};
    for (long i = 0; i < count; ++i) {
      const std::size_t n = co_await s.async_read_some(asio::buffer(bytes), token);
      co_await asio::async_write(s, asio::buffer(bytes, n), token);
    }
  }
  template <class Socket>
  static task call(Socket& s, long count, latencies* round_trips) {
    std::array<char, 64> bytes{};
    for (long i = 0; i < count; ++i) {
      const stopwatch watch;
      co_await asio::async_write(s, asio::buffer(bytes), token);
      co_await asio::async_read(s, asio::buffer(bytes), token);
      if (round_trips) round_trips->add(watch.seconds());
    }
  }

  /// Runs echoes over `connections` TCP connections, `count` in all.
  static void echo(long connections, long count, latencies* round_trips) {
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
      Library::start(io, serve(servers[i], each));
      Library::start(io, call(clients[i], each, round_trips));
    }
    io.run();
  }

  static void run(const request& r, long count, latencies* round_trips) {
    if (r.workload == "asio/timer") {
      asio::io_context io{1};
      Library::start(io, timers(io, count));
      io.run();
    } else if (r.workload == "asio/socket-pair") {
      asio::io_context io{1};
      local_stream::socket a(io);
      local_stream::socket b(io);
      asio::local::connect_pair(a, b);
      Library::start(io, ping(a, count / 4));
      Library::start(io, pong(b, count / 4));
      io.run();
    } else if (r.workload.starts_with("asio/echo-") || r.workload.starts_with("latency/echo-")) {
      echo(number_of(r), count, round_trips);
    } else {
      unknown(r);
    }
  }

  static int main(int argc, char** argv, const char* subject) {
    const request r = parse(argc, argv);
    pin(0);
    raise_descriptor_limit();
    if (r.workload.starts_with("latency/")) {
      latencies round_trips(static_cast<std::size_t>(r.items));
      run(r, r.items, &round_trips);
      return round_trips.report(r, subject);
    }
    const double each = nanoseconds_each(r, [&](long count) { run(r, count, nullptr); });
    return report(r, subject, each, "ns/item");
  }
};

}  // namespace bench
