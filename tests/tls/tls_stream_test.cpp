#include <openssl/ssl.h>

#include <asio.hpp>
#include <asio/ssl.hpp>

#include "tls/tls_halves.hpp"

// What a TLS connection does apart from the contract of all connections.

namespace tls_stream_test {

using leat::as_tuple;
using leat::connection;
using leat::with_timeout;
using leat_test::connect_ends;
using leat_test::ends;
using leat_test::read_all;
using leat_test::write_all;
using namespace std::chrono_literals;

std::string numbered(std::size_t size) {
  std::string text;
  for (int i = 0; text.size() < size; ++i) text += std::to_string(i) + ' ';
  text.resize(size);
  return text;
}

// The default buffers of Linux hold megabytes.
void set_buffers(connection& from, connection& to, int size) {
  from.set_option(asio::socket_base::send_buffer_size(size));
  to.set_option(asio::socket_base::receive_buffer_size(size));
}

LEAT_NET_TEST("TLS: a write that a limit ends in a record counts what the peer receives") {
  ends e = co_await connect_ends(half);
  if (!half.is_simulated) set_buffers(e.client, e.server, 64 * 1024);
  const std::string text = numbered(600'000);
  std::size_t sent = 0;
  std::string received;
  std::vector<char> bytes(60'000);
  int limits = 0;
  while (sent < text.size()) {
    const auto some = co_await as_tuple(with_timeout(
        e.client.async_write_some(asio::buffer(text.data() + sent, text.size() - sent)), 1ms));
    sent += some.value;
    if (!some.error) continue;
    CHECK(some.error == make_error_code(errc::deadline_exceeded));
    ++limits;
    // Also limits in the middle of records that are read.
    const auto read = co_await as_tuple(
        with_timeout(e.server.async_read_some(asio::buffer(bytes, 1 + sent % 60'000)), 1ms));
    received.append(bytes.data(), read.value);
  }
  CHECK(limits > 0);
  CHECK_FALSE(e.client.shutdown_send());
  while (const auto n = co_await e.server.async_read_some_or_end(asio::buffer(bytes))) {
    received.append(bytes.data(), *n);
  }
  CHECK(received == text);
}

LEAT_NET_TEST("TLS: a close with unread data resets the connection, and sends no close_notify") {
  ends e = co_await connect_ends(half);
  co_await write_all(e.client, "unread");
  if (!half.is_unix) co_await e.server.async_wait(connection::wait_type::wait_read);
  co_await e.server.async_wait(connection::wait_type::wait_read);
  e.server.close();
  std::array<char, 8> bytes;
  const auto end = co_await as_tuple(e.client.async_read_some(asio::buffer(bytes)));
  CHECK(end.error == half.reset);
}

LEAT_NET_TEST("TLS: a close_notify that was not read does not reset the connection") {
  ends e = co_await connect_ends(half);
  CHECK_FALSE(e.server.shutdown_send());
  std::size_t written = 0;
  for (;;) {  // until the buffers are full: a reset would discard them
    const std::string block = numbered(50'000);
    const auto some =
        co_await as_tuple(with_timeout(e.client.async_write_some(asio::buffer(block)), 5ms));
    if (some.error) break;
    written += some.value;
  }
  e.client.close();  // its kernel has the close_notify of the server
  co_await leat::sleep_for(5ms);
  const std::string all = co_await read_all(e.server);
  CHECK(all.size() == written);
}

LEAT_NET_TEST("TLS: moves to another scheduler unless a record is being sent") {
  if (half.is_simulated) co_return;
  ends e = co_await connect_ends(half);
  leat::runtime other({.threads = 1});
  co_await write_all(e.client, "before");
  e.server.attach(other.get_scheduler(0));
  CHECK(&e.server.get_scheduler() == &other.get_scheduler(0));
  task_group group;
  std::string seen;
  group.spawn_on(other.get_scheduler(0), [](connection own, std::string& out) -> task<> {
    out = co_await read_all(own);
  }(std::move(e.server), seen));
  e.client.close();
  co_await group.join();
  CHECK(seen == "before");

  ends full = co_await connect_ends(half);
  const std::string block(50'000, 'x');
  while (!(co_await as_tuple(with_timeout(full.client.async_write_some(asio::buffer(block)), 5ms)))
              .error) {
  }
  CHECK(contains(error_of([&] { full.client.attach(other.get_scheduler(0)); }),
                 "while it still sends a record"));
}

LEAT_NET_TEST("TLS: a second read at the same time is rejected") {
  ends e = co_await connect_ends(half);
  task_group group;
  leat::asio_error_code second;
  std::string first;
  group.spawn([](connection& c, std::string& out) -> task<> { out = co_await read_all(c); }(
                                                      e.server, first));
  co_await leat::sleep_for(1ms);
  std::array<char, 8> bytes;
  second = (co_await as_tuple(e.server.async_read_some(asio::buffer(bytes)))).error;
  CHECK(second == asio::error::already_started);
  co_await write_all(e.client, "x");
  e.client.close();
  co_await group.join();
  CHECK(first == "x");
}

// ------------------------------------------------------- Asio's TLS as the peer, over a connection

using asio_tls = asio::ssl::stream<connection&>;

// A client of Asio with leat's server.
struct with_asio {
  connection plain;
  std::unique_ptr<asio::ssl::context> context;
  std::unique_ptr<asio_tls> client;
  connection server;
};

task<> shake_asio(asio_tls& stream) {
  co_await stream.async_handshake(asio::ssl::stream_base::client, leat::use_task);
}

task<std::unique_ptr<with_asio>> connect_asio(const leat_test::net_half& half) {
  leat_test::listener l = co_await leat::listen(half.address());
  auto made = std::make_unique<with_asio>();
  made->plain = co_await leat::connect(l.local());
  connection server = co_await l.accept();
  made->context = std::make_unique<asio::ssl::context>(asio::ssl::context::tls_client);
  made->context->add_certificate_authority(asio::buffer(leat_test::test_authority().pem()));
  made->context->set_verify_mode(asio::ssl::verify_peer);
  made->client = std::make_unique<asio_tls>(made->plain, *made->context);
  made->client->set_verify_callback(asio::ssl::host_name_verification("server.test"));
  auto [none, s] = co_await leat::when_all(
      shake_asio(*made->client),
      leat::tls_accept(std::move(server), leat::tls_context::server(leat_test::server_options())));
  made->server = std::move(s);
  co_return made;
}

LEAT_NET_TEST("TLS: asio::ssl::stream over a connection is a peer") {
  const auto p = co_await connect_asio(half);
  co_await asio::async_write(*p->client, asio::buffer("to leat\n", 8), leat::use_task);
  std::string line;
  co_await asio::async_read_until(p->server, asio::dynamic_buffer(line), '\n', leat::use_task);
  CHECK(line == "to leat\n");
  co_await write_all(p->server, "to Asio\n");
  line.clear();
  co_await asio::async_read_until(*p->client, asio::dynamic_buffer(line), '\n', leat::use_task);
  CHECK(line == "to Asio\n");
  p->server.close();
  std::array<char, 8> bytes;
  const auto end =
      co_await as_tuple(p->client->async_read_some(asio::buffer(bytes), leat::use_task));
  CHECK(end.error == asio::error::eof);
}

LEAT_NET_TEST("TLS: a stream that ends without a close_notify is truncated, not ended") {
  const auto p = co_await connect_asio(half);
  co_await asio::async_write(*p->client, asio::buffer("part", 4), leat::use_task);
  p->plain.close();
  std::array<char, 8> bytes;
  const auto n = co_await p->server.async_read_some(asio::buffer(bytes));
  CHECK(n == 4);
  for (int i = 0; i < 2; ++i) {
    const auto end = co_await as_tuple(p->server.async_read_some_or_end(asio::buffer(bytes)));
    CHECK(end.error == asio::ssl::error::stream_truncated);
    CHECK(end.error == errc::unavailable);
  }
}

LEAT_NET_TEST("TLS: bytes that are not those of the peer fail the connection") {
  const auto p = co_await connect_asio(half);
  co_await write_all(p->plain, std::string("\x17\x03\x03\x00\x20", 5) + std::string(32, 'x'));
  std::array<char, 8> bytes;
  for (int i = 0; i < 2; ++i) {
    const auto end = co_await as_tuple(p->server.async_read_some(asio::buffer(bytes)));
    CHECK(contains(end.error.message(), "decryption failed or bad record mac"));
    const auto written = co_await as_tuple(p->server.async_write_some(asio::buffer(bytes)));
    CHECK(written.error == end.error);
  }
  // The peer learns why.
  const auto seen =
      co_await as_tuple(p->client->async_read_some(asio::buffer(bytes), leat::use_task));
  CHECK(contains(seen.error.message(), "alert bad record mac"));
}

LEAT_NET_TEST("TLS: a peer that asks for new keys is answered, also by a reader alone") {
  const auto p = co_await connect_asio(half);
  for (int i = 0; i < 3; ++i) {
    REQUIRE(SSL_key_update(p->client->native_handle(), SSL_KEY_UPDATE_REQUESTED) == 1);
    co_await asio::async_write(*p->client, asio::buffer("new", 3), leat::use_task);
    std::array<char, 3> bytes;
    co_await asio::async_read(p->server, asio::buffer(bytes), leat::use_task);
    CHECK(std::string_view(bytes.data(), 3) == "new");
    co_await write_all(p->server, "yes");
    co_await asio::async_read(*p->client, asio::buffer(bytes), leat::use_task);
    CHECK(std::string_view(bytes.data(), 3) == "yes");
  }
}

LEAT_NET_TEST("TLS: answers that a peer does not read occupy no more memory") {
  if (half.is_simulated) co_return;  // the buffers of a world hold the answers
  const auto p = co_await connect_asio(half);
  set_buffers(p->server, p->plain, 4096);
  const auto ask = [](asio_tls& client) -> task<> {
    for (int i = 0; i < 30'000; ++i) {
      SSL_key_update(client.native_handle(), SSL_KEY_UPDATE_REQUESTED);
      const auto written = co_await as_tuple(
          with_timeout(asio::async_write(client, asio::buffer("x", 1), leat::use_task), 50ms));
      if (written.error) co_return;  // the server no longer reads
    }
  };
  const auto read = [](connection& c, std::size_t& most) -> task<> {
    std::array<char, 64> bytes;
    for (;;) {
      const auto n = co_await as_tuple(with_timeout(c.async_read_some(asio::buffer(bytes)), 200ms));
      most = std::max(most, c.status().unsent);
      if (n.error) co_return;
    }
  };
  std::size_t most = 0;
  co_await leat::with_task_group([&](task_group& group) -> task<> {
    group.spawn(ask(*p->client));
    group.spawn(read(p->server, most));
    co_return;
  });
  CHECK(most > 0);
  CHECK(most < 150'000);
}

}  // namespace tls_stream_test
