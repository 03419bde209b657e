#pragma once

// The tests of the contract of a connection run on each half: the sockets of the kernel, for TCP
// and for Unix sockets, in an io_context and in an embedded_scheduler, and those of a simulated
// world.

#include <poll.h>
#include <span>

#include <asio/error.hpp>

#include "leat/net.hpp"
#include "leat/sim.hpp"
#include "leat/sync.hpp"
#include "support/leat_test.hpp"

namespace leat_test {

using leat::connection;
using leat::endpoint;
using leat::listener;

/// Two ends of a connection.
struct ends {
  connection client;
  connection server;
};

/// An implementation of connections, and where its tests listen.
struct net_half {
  const char* name;
  bool is_unix;
  void (*run)(task<> body);
  bool is_simulated = false;
  // Of TLS.
  task<ends> (*secure)(ends plain) = nullptr;
  // How a read reports a stream that ends without a close_notify, and a reset.
  leat::asio_error_code abrupt_end = asio::error::eof;
  leat::asio_error_code reset = asio::error::connection_reset;

  [[nodiscard]] endpoint address() const {
    static int count = 0;
    if (!is_unix) return "127.0.0.1:0";
    return "unix:@leat-test-" + std::to_string(::getpid()) + "-" + std::to_string(++count);
  }
};

inline void run_in_io_context(task<> body) { leat::block_on(std::move(body)); }

inline void run_embedded(task<> body) {
  leat::embedded_scheduler s;
  task_group group;
  group.spawn_on(s, std::move(body));
  while (!s.idle()) {
    pollfd p{s.descriptor(), POLLIN, 0};
    ::poll(&p, 1, 10'000);
    s.run_ready();
  }
  leat::block_on(group.join());
}

inline void run_in_world(task<> body) {
  leat::sim::world w(1);
  w.run([&](leat::sim::world&) -> task<> { return std::move(body); });
}

/// The halves that this program tests: test_net those of leat-runtime, test_tls those of leat-tls.
std::span<const net_half> net_halves();

inline task<ends> connect_ends(const net_half& half) {
  listener l = co_await leat::listen(half.address());
  ends e;
  e.client = co_await leat::connect(l.local());
  e.server = co_await l.accept();
  if (half.secure) e = co_await half.secure(std::move(e));
  co_return e;
}

inline task<> write_all(connection& c, std::string text) {
  co_await asio::async_write(c, asio::buffer(text), leat::use_task);
}
inline task<std::string> read_all(connection& c) {
  std::string text;
  std::array<char, 256> bytes;
  while (const auto n = co_await c.async_read_some_or_end(asio::buffer(bytes))) {
    text.append(bytes.data(), *n);
  }
  co_return text;
}

}  // namespace leat_test

// A test case whose body is a coroutine that runs on each half.
#define LEAT_NET_TEST(title) LEAT_NET_TEST_AS(LEAT_TEST_NAME(leat_test_body_, __LINE__), title)
#define LEAT_NET_TEST_AS(body, title)                                     \
  static ::leat::task<void> body(const ::leat_test::net_half&);           \
  TEST_CASE(title) {                                                      \
    for (const ::leat_test::net_half& half : ::leat_test::net_halves()) { \
      INFO(half.name);                                                    \
      half.run(body(half));                                               \
    }                                                                     \
  }                                                                       \
  static ::leat::task<void> body([[maybe_unused]] const ::leat_test::net_half& half)
