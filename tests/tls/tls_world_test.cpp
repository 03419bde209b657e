#include <openssl/ssl.h>

#include <asio.hpp>
#include <asio/ssl.hpp>

#include "leat/sim/network/network.hpp"
#include "tls/tls_halves.hpp"

// TLS between the hosts of simulated worlds.

namespace tls_world_test {

using leat::as_tuple;
using leat::connection;
using leat::with_timeout;
using leat::sim::world;
using leat::sim::world_options;
using leat_test::client_options;
using leat_test::read_all;
using leat_test::server_options;
using leat_test::write_all;
using namespace std::chrono_literals;

std::string text_of(int n) {
  std::string text;
  while (text.size() < static_cast<std::size_t>(1 + 20'000 * n))
    text += std::to_string(n * 7) + ' ';
  return text;
}

task<> serve_one(connection plain, const leat::tls_context& context) {
  connection c = co_await leat::tls_accept(std::move(plain), context);
  const std::string text = co_await read_all(c);
  co_await write_all(c, text);
  co_await leat::close_gracefully(std::move(c), 10min);
}

task<> serve(leat::listener& l, const leat::tls_context& context, int count) {
  co_await leat::with_task_group([&](task_group& group) -> task<> {
    for (int i = 0; i < count; ++i) group.spawn(serve_one(co_await l.accept(), context));
  });
}

task<> ask(const leat::tls_context& context, int n, int& whole) {
  connection c =
      co_await leat::tls_connect(co_await leat::connect("server:443"), context, "server.test");
  const std::string text = text_of(n);
  co_await write_all(c, text);
  c.shutdown_send();
  if (co_await read_all(c) == text) ++whole;
}

constexpr int client_count = 2;

task<> test(world& w) {
  const auto client = leat::tls_context::client(client_options());
  const auto server = leat::tls_context::server(server_options());
  auto& host = w.add_host("server");
  int whole = 0;
  std::optional<leat::listener> listener;
  co_await leat::with_task_group([&](task_group& group) -> task<> {
    group.spawn_on(host.thread(), [](auto& l, const leat::tls_context& context) -> task<> {
      l.emplace(co_await leat::listen("*:443"));
      co_await serve(*l, context, client_count);
    }(listener, server));
    co_await leat::sleep_for(1ms);
    for (int i = 0; i < client_count; ++i) group.spawn(ask(client, i, whole));
  });
  if (whole != client_count) throw std::logic_error("not all texts came back");
}

TEST_CASE("tls: a seed of a world repeats handshakes and transfers exactly") {
  leat::sim::sweep([](world& w) { return test(w); }, {.count = 20, .check_repeatable = true});
}

TEST_CASE("tls: short transfers, split segments and losses change nothing") {
  leat::sim::sweep(
      [](world& w) { return test(w); },
      {.count = 40,
       .world = {.network = {.send_buffer = 2304,
                             .receive_buffer = 2304,
                             .faults = {.short_transfer = 0.2, .split = 0.2, .loss = 0.02}}}});
}

// Limits at every moment of the handshake of either end.
TEST_CASE("tls: a handshake that a limit ends at any moment leaves nothing open") {
  const auto client = leat::tls_context::client(client_options());
  const auto server = leat::tls_context::server(server_options());
  int ended = 0;
  int made = 0;
  for (int i = 0; i < 120; ++i) {
    const auto client_limit = i % 2 == 0 ? leat::duration(1h) : leat::duration(i * 50us);
    const auto server_limit = i % 2 == 1 ? leat::duration(1h) : leat::duration(i * 50us);
    INFO(i);
    world w({}, 1);
    auto& host = w.add_host("server");
    w.run([&](world&) -> task<> {
      co_await leat::with_task_group([&](task_group& group) -> task<> {
        group.spawn_on(
            host.thread(),
            [](const leat::tls_context& context, leat::duration limit, int& late) -> task<> {
              leat::listener l = co_await leat::listen("*:443");
              connection plain = co_await l.accept();
              const auto c = co_await as_tuple(
                  with_timeout(leat::tls_accept(std::move(plain), context), limit));
              if (c.error == make_error_code(errc::deadline_exceeded)) ++late;
            }(server, server_limit, ended));
        co_await leat::sleep_for(1ms);
        connection plain = co_await leat::connect("server:443");
        const auto c = co_await as_tuple(
            with_timeout(leat::tls_connect(std::move(plain), client, "server.test"), client_limit));
        if (c.error == make_error_code(errc::deadline_exceeded)) ++ended;
        if (!c.error) ++made;
      });
      co_await leat::sleep_for(5min);
      CHECK(w.network().open_ends() == 0);
    });
  }
  CHECK(ended > 30);
  CHECK(made > 10);
}

// The same for reads and writes: each limit has no effect, or the operation succeeds.
task<> test_limits(world& w) {
  const auto client = leat::tls_context::client(client_options());
  const auto server = leat::tls_context::server(server_options());
  auto& host = w.add_host("server");
  const std::string text = text_of(3);
  std::string received;
  co_await leat::with_task_group([&](task_group& group) -> task<> {
    group.spawn_on(host.thread(), [](const leat::tls_context& context, std::string& all) -> task<> {
      leat::listener l = co_await leat::listen("*:443");
      connection c = co_await leat::tls_accept(co_await l.accept(), context);
      std::array<char, 5000> bytes;
      for (;;) {
        const auto n =
            co_await as_tuple(with_timeout(c.async_read_some(asio::buffer(bytes)), 300us));
        all.append(bytes.data(), n.value);
        if (n.error == asio::error::eof) break;
        if (n.error && n.error != make_error_code(errc::deadline_exceeded)) {
          throw leat::failure(n.error, "read");
        }
      }
    }(server, received));
    co_await leat::sleep_for(1ms);
    connection c =
        co_await leat::tls_connect(co_await leat::connect("server:443"), client, "server.test");
    for (std::size_t sent = 0; sent < text.size();) {
      const auto n = co_await as_tuple(with_timeout(
          c.async_write_some(asio::buffer(text.data() + sent, text.size() - sent)), 300us));
      if (n.error && n.error != make_error_code(errc::deadline_exceeded)) {
        throw leat::failure(n.error, "write");
      }
      sent += n.value;
    }
  });  // the destructor has closed it
  if (received != text) throw std::logic_error("other bytes arrived");
}

TEST_CASE("tls: reads and writes under limits lose nothing and repeat nothing") {
  leat::sim::sweep(
      [](world& w) { return test_limits(w); },
      {.count = 25,
       .world = {.network = {.send_buffer = 2304,
                             .receive_buffer = 2304,
                             .faults = {.short_transfer = 0.2, .split = 0.2, .loss = 0.02}}}});
}

// Asio's own streams, which use timers, at both ends.
using asio_tls = asio::ssl::stream<connection&>;

task<> serve_with_asio(connection c, asio::ssl::context& context) {
  asio_tls stream(c, context);
  co_await stream.async_handshake(asio::ssl::stream_base::server, leat::use_task);
  std::string line;
  co_await asio::async_read_until(stream, asio::dynamic_buffer(line), '\n', leat::use_task);
  co_await asio::async_write(stream, asio::buffer(line), leat::use_task);
  co_await stream.async_shutdown(leat::use_task);
}

task<> ask_with_asio(connection c, asio::ssl::context& context, std::string& reply) {
  asio_tls stream(c, context);
  co_await stream.async_handshake(asio::ssl::stream_base::client, leat::use_task);
  co_await asio::async_write(stream, asio::buffer("line\n", 5), leat::use_task);
  static_cast<void>(
      co_await as_tuple(asio::async_read(stream, asio::dynamic_buffer(reply), leat::use_task)));
  static_cast<void>(co_await as_tuple(stream.async_shutdown(leat::use_task)));
}

task<> test_asio_at_both_ends(leat::endpoint at) {
  asio::ssl::context server(asio::ssl::context::tls_server);
  const auto& own = leat_test::server_certificate();
  server.use_certificate_chain(asio::buffer(own.chain));
  server.use_private_key(asio::buffer(own.key), asio::ssl::context::pem);
  // A ticket has a random number, whose size varies. leat sends none.
  SSL_CTX_set_num_tickets(server.native_handle(), 0);
  asio::ssl::context client(asio::ssl::context::tls_client);
  client.add_certificate_authority(asio::buffer(leat_test::test_authority().pem()));
  client.set_verify_mode(asio::ssl::verify_peer);
  leat::listener l = co_await leat::listen(at);
  connection c = co_await leat::connect(l.local());
  connection s = co_await l.accept();
  std::string reply;
  co_await leat::with_task_group([&](task_group& group) -> task<> {
    group.spawn(serve_with_asio(std::move(s), server));
    group.spawn(ask_with_asio(std::move(c), client, reply));
    co_return;
  });
  if (reply != "line\n") throw std::logic_error("reply: " + reply);
}

TEST_CASE("tls: asio::ssl::stream at both ends, over real and simulated connections") {
  leat::block_on(test_asio_at_both_ends("127.0.0.1:0"));
  leat::sim::sweep([](world&) { return test_asio_at_both_ends("127.0.0.1:443"); },
                   {.count = 30,
                    .world = {.network = {.faults = {.short_transfer = 0.2, .split = 0.2}}},
                    .check_repeatable = true});
}

}  // namespace tls_world_test
