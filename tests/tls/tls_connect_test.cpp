#include "leat/tls/tls_connect.hpp"

#include <openssl/ssl.h>

#include <asio.hpp>

#include "tls/tls_halves.hpp"

namespace tls_connect_test {

using leat::as_tuple;
using leat::connection;
using leat::tls_context;
using leat::tls_options;
using leat::tls_verification;
using leat::with_timeout;
using leat_test::authority;
using leat_test::client_options;
using leat_test::ends;
using leat_test::listener;
using leat_test::read_all;
using leat_test::server_options;
using leat_test::test_authority;
using leat_test::write_all;
using namespace std::chrono_literals;

task<ends> connect_plain() {
  listener l = co_await leat::listen("127.0.0.1:0");
  ends e;
  e.client = co_await leat::connect(l.local());
  e.server = co_await l.accept();
  co_return e;
}

// How both ends of a handshake have ended.
struct results {
  ends made;
  std::string client;  // the message of the error
  std::string server;
  std::error_code client_code;
  std::error_code server_code;
};

task<> run_client(results& r, connection c, tls_context context, std::string name) {
  try {
    r.made.client = co_await leat::tls_connect(std::move(c), std::move(context), std::move(name));
  } catch (const leat::failure& e) {
    r.client = e.what();
    r.client_code = e.code();
  }
}

task<> run_server(results& r, connection c, tls_context context) {
  try {
    r.made.server = co_await leat::tls_accept(std::move(c), std::move(context));
  } catch (const leat::failure& e) {
    r.server = e.what();
    r.server_code = e.code();
  }
}

task<results> shake_hands(tls_context client, tls_context server,
                          std::string name = "server.test") {
  ends e = co_await connect_plain();
  results r;
  task_group group;
  group.spawn(run_client(r, std::move(e.client), std::move(client), std::move(name)));
  group.spawn(run_server(r, std::move(e.server), std::move(server)));
  co_await group.join();
  co_return r;
}

task<results> shake_hands(const tls_options& client, const tls_options& server,
                          std::string name = "server.test") {
  return shake_hands(tls_context::client(client), tls_context::server(server), std::move(name));
}

task<> check_echo(ends& e) {
  co_await write_all(e.client, "question");
  CHECK_FALSE(e.client.shutdown_send());
  CHECK(co_await read_all(e.server) == "question");
  co_await write_all(e.server, "answer");
  e.server.close();
  CHECK(co_await read_all(e.client) == "answer");
}

LEAT_REAL_TIME_TEST("tls_connect: a verified server, by name and by address") {
  for (const char* name :
       {"server.test", "SERVER.test", "server.test.", "localhost", "127.0.0.1"}) {
    INFO(name);
    results r = co_await shake_hands(client_options(), server_options(), name);
    REQUIRE(r.client.empty());
    REQUIRE(r.server.empty());
    CHECK(r.made.client.status().protocol == "TLSv1.3");
    CHECK(r.made.server.status().cipher == r.made.client.status().cipher);
    CHECK(contains(r.made.client.status().cipher, "TLS_"));
    const auto session = leat::get_tls_session(r.made.server);
    REQUIRE(session);
    const bool is_address = std::string_view(name) == "127.0.0.1";
    CHECK(session->server_name == (is_address                                 ? ""
                                   : std::string_view(name) == "server.test." ? "server.test"
                                                                              : name));
    CHECK(session->peer_certificate.empty());
    CHECK(leat::get_tls_session(r.made.client)->peer_certificate ==
          leat_test::server_certificate().chain);
    co_await check_echo(r.made);
  }
}

LEAT_REAL_TIME_TEST("tls_connect: TLS 1.2") {
  auto client = tls_context::client(client_options());
  SSL_CTX_set_max_proto_version(client.native_handle(), TLS1_2_VERSION);
  results r = co_await shake_hands(client, tls_context::server(server_options()));
  REQUIRE(r.client.empty());
  CHECK(r.made.client.status().protocol == "TLSv1.2");
  co_await check_echo(r.made);

  tls_options modern = server_options();
  modern.minimum_version = leat::tls_version::tls_1_3;
  const results refused = co_await shake_hands(client, tls_context::server(modern));
  CHECK(contains(refused.client, "tlsv1 alert protocol version"));
  CHECK(contains(refused.server, "unsupported protocol"));
}

LEAT_REAL_TIME_TEST("tls_connect: a certificate that is not valid is rejected, with the reason") {
  const auto check = [](const results& r, const std::string& name, const std::string& reason) {
    CHECK(r.client_code == errc::unauthenticated);
    CHECK(r.client.starts_with("tls_connect to 127.0.0.1:"));
    CHECK(contains(r.client, " (server name " + name + "): certificate verify failed: " + reason));
    CHECK(r.server.starts_with("tls_accept from 127.0.0.1:"));
    CHECK(contains(r.server, "alert"));
    CHECK_FALSE(r.made.client.is_open());
    CHECK_FALSE(r.made.server.is_open());
  };
  const auto server_with = [](const leat_test::certificate& c) {
    return tls_options{.certificate_chain = c.chain, .private_key = c.key};
  };
  check(co_await shake_hands(client_options(), server_options(), "other.test"), "other.test",
        "hostname mismatch");
  check(co_await shake_hands(client_options(), server_options(), "127.0.0.2"), "127.0.0.2",
        "IP address mismatch");
  check(co_await shake_hands(client_options(), server_with(test_authority().issue({.days = -1}))),
        "server.test", "certificate has expired");
  const authority unknown("unknown authority");
  check(co_await shake_hands(client_options(), server_with(unknown.issue())), "server.test",
        "unable to get local issuer certificate");
  // The authorities of the system do not include it.
  check(co_await shake_hands(tls_options(), server_options()), "server.test",
        "unable to get local issuer certificate");
  const auto part = test_authority().issue({.names = "DNS:*.server.test"});
  check(co_await shake_hands(client_options(), server_with(part), "a.b.server.test"),
        "a.b.server.test", "hostname mismatch");
  const results matching =
      co_await shake_hands(client_options(), server_with(part), "a.server.test");
  CHECK(matching.client.empty());
}

LEAT_REAL_TIME_TEST("tls_connect: without verification, any certificate and no name are accepted") {
  tls_options o;
  o.verification = tls_verification::none;
  results r = co_await shake_hands(o, server_options(), "");
  CHECK(r.client.empty());
  CHECK(leat::get_tls_session(r.made.server)->server_name.empty());
  co_await check_echo(r.made);
}

LEAT_REAL_TIME_TEST("tls_connect: wrong arguments") {
  results none = co_await shake_hands(client_options(), server_options(), "");
  CHECK(
      contains(none.client, "tls_connect needs the server name that the certificate must be for"));
  CHECK(none.client_code == errc::invalid_argument);
  CHECK(contains(none.server, ": the peer closed the connection during the handshake"));
  CHECK(none.server_code == asio::error::eof);
  results bad = co_await shake_hands(client_options(), server_options(), std::string("a\0b", 3));
  CHECK(contains(bad.client, "tls_connect: the server name must be a name or an address, not \"a"));
  results large = co_await shake_hands(client_options(), server_options(), std::string(300, 'a'));
  CHECK(contains(large.client, "the server name must be a name or an address"));
  const auto client = tls_context::client(client_options());
  const auto server = tls_context::server(server_options());
  results swapped = co_await shake_hands(server, client);
  CHECK(contains(swapped.client, "needs a context of tls_context::client()"));
  CHECK(contains(swapped.server, "needs a context of tls_context::server()"));
}

LEAT_REAL_TIME_TEST("tls_accept: certificates of clients") {
  tls_options server = server_options();
  server.authorities = test_authority().pem();
  server.verification = tls_verification::required;
  tls_options client = client_options();

  // In TLS 1.3, the client has finished before the server rejects it.
  results without = co_await shake_hands(client, server);
  CHECK(contains(without.server, ": certificate verify failed: the peer has sent none"));
  CHECK(without.server_code == errc::unauthenticated);
  REQUIRE(without.client.empty());
  std::array<char, 8> bytes;
  const auto read = co_await as_tuple(without.made.client.async_read_some(asio::buffer(bytes)));
  CHECK(contains(read.error.message(), "certificate required"));

  server.verification = tls_verification::optional;
  results optional = co_await shake_hands(client, server);
  CHECK(optional.server.empty());
  CHECK(leat::get_tls_session(optional.made.server)->peer_certificate.empty());

  const auto own = test_authority().issue({.names = "DNS:client.test"});
  client.certificate_chain = own.chain;
  client.private_key = own.key;
  results with = co_await shake_hands(client, server);
  REQUIRE(with.server.empty());
  CHECK(leat::get_tls_session(with.made.server)->peer_certificate == own.chain);
  co_await check_echo(with.made);

  const authority unknown("unknown authority");
  const auto foreign = unknown.issue();
  client.certificate_chain = foreign.chain;
  client.private_key = foreign.key;
  const results rejected = co_await shake_hands(client, server);
  CHECK(contains(rejected.server,
                 ": certificate verify failed: unable to get local issuer certificate"));
}

LEAT_REAL_TIME_TEST("tls_connect: ALPN") {
  tls_options client = client_options();
  tls_options server = server_options();
  const auto chosen = [&]() -> task<std::string> {
    results r = co_await shake_hands(client, server);
    CHECK(r.client == "");
    CHECK(r.server == "");
    const std::string name = leat::get_tls_session(r.made.client)->application_protocol;
    CHECK(leat::get_tls_session(r.made.server)->application_protocol == name);
    co_return name;
  };
  CHECK(co_await chosen() == "");
  server.application_protocols = {"h2", "http/1.1"};
  CHECK(co_await chosen() == "");  // the client offers none
  client.application_protocols = {"http/1.1", "h2"};
  CHECK(co_await chosen() == "h2");  // the server decides
  client.application_protocols = {"spdy", "http/1.1"};
  CHECK(co_await chosen() == "http/1.1");
  client.application_protocols = {"spdy"};
  const results r = co_await shake_hands(client, server);
  CHECK(contains(r.client, "no application protocol"));
  CHECK(contains(r.server, "no application protocol"));
}

// What tls_accept() says about a client that writes `text` and then closes.
task<std::string> accept_after(std::string text) {
  ends e = co_await connect_plain();
  co_await write_all(e.client, text);
  CHECK_FALSE(e.client.shutdown_send());
  results r;
  co_await run_server(r, std::move(e.server), tls_context::server(server_options()));
  CHECK_FALSE(r.made.server.is_open());
  co_return r.server;
}

LEAT_REAL_TIME_TEST("tls_accept: a client that speaks no TLS, or goes away") {
  CHECK(contains(co_await accept_after("GET / HTTP/1.0\r\n\r\n"), "http request"));
  CHECK(contains(co_await accept_after("SSH-2.0-OpenSSH_9.2\r\n"), "wrong version number"));
  CHECK(contains(co_await accept_after(""), "the peer closed the connection during the handshake"));
  const std::string part("\x16\x03\x01\x01\x00\x01\x00\x00\xfc\x03\x03", 11);
  CHECK(contains(co_await accept_after(part), "the peer closed the connection during"));
}

LEAT_REAL_TIME_TEST("tls_connect: a server that speaks no TLS") {
  ends e = co_await connect_plain();
  co_await write_all(e.server, "HTTP/1.1 400 Bad Request\r\n\r\n");
  results r;
  co_await run_client(r, std::move(e.client), tls_context::client(client_options()), "server.test");
  CHECK(contains(r.client, "(server name server.test): wrong version number"));
  std::string seen;  // the start of the handshake, and an alert
  const auto all =
      co_await as_tuple(asio::async_read(e.server, asio::dynamic_buffer(seen), leat::use_task));
  CHECK(all.error);
  CHECK(contains(seen, "server.test"));
}

LEAT_REAL_TIME_TEST("tls_connect: a limit or a stop ends the handshake and leaves nothing open") {
  ends e = co_await connect_plain();
  const auto late = co_await as_tuple(with_timeout(
      leat::tls_connect(std::move(e.client), tls_context::client(client_options()), "server.test"),
      5ms));
  CHECK(late.error == make_error_code(errc::deadline_exceeded));
  std::string seen;
  const auto all =
      co_await as_tuple(asio::async_read(e.server, asio::dynamic_buffer(seen), leat::use_task));
  CHECK(all.error == asio::error::eof);
  CHECK(seen.size() > 100);  // the client has only greeted

  ends f = co_await connect_plain();
  std::stop_source stop;
  stop.request_stop();
  const auto stopped = co_await as_tuple(
      leat::with_stop(leat::tls_accept(std::move(f.server), tls_context::server(server_options())),
                      stop.get_token()));
  CHECK(stopped.error == errc::cancelled);
  CHECK(co_await read_all(f.client) == "");
}

LEAT_REAL_TIME_TEST("tls_connect: one context serves many connections at the same time") {
  const auto client = tls_context::client(client_options());
  const auto server = tls_context::server(server_options());
  task_group group;
  int whole = 0;
  for (int i = 0; i < 20; ++i) {
    group.spawn([](tls_context c, tls_context s, int& n) -> task<> {
      results r = co_await shake_hands(c, s);
      co_await check_echo(r.made);
      ++n;
    }(client, server, whole));
  }
  co_await group.join();
  CHECK(whole == 20);
}

TEST_CASE("get_tls_session: a connection without TLS has none") {
  CHECK_FALSE(leat::get_tls_session(connection()));
  leat::block_on([]() -> task<> {
    ends e = co_await connect_plain();
    CHECK_FALSE(leat::get_tls_session(e.client));
    CHECK(e.client.status().protocol.empty());
    CHECK(e.client.status().cipher.empty());
  }());
}

}  // namespace tls_connect_test
