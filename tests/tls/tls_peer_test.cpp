#include <cstdio>
#include <cstdlib>

#include <asio.hpp>

#include "support/temp_dir.hpp"
#include "tls/tls_halves.hpp"

// The openssl command as the peer.

namespace tls_peer_test {

using leat::connection;
using leat_test::client_options;
using leat_test::listener;
using leat_test::server_options;
using namespace std::chrono_literals;

std::string run(std::string command) {
  std::FILE* const f = ::popen(command.c_str(), "r");
  if (!f) throw std::runtime_error("popen failed");
  std::string text;
  char part[256];
  while (const std::size_t n = std::fread(part, 1, sizeof part, f)) text.append(part, n);
  ::pclose(f);
  return text;
}

bool has_openssl() {
  const bool found = std::system("command -v openssl > /dev/null") == 0;
  if (!found) WARN("skipped: the command openssl is not installed");
  return found;
}

LEAT_REAL_TIME_TEST("tls_accept: openssl s_client is a client") {
  if (!has_openssl()) co_return;
  const temp_dir dir;
  const std::string authorities = dir.write("ca.pem", leat_test::test_authority().pem());
  leat::tls_options options = server_options();
  options.application_protocols = {"echo"};
  const auto context = leat::tls_context::server(options);
  for (const std::string version : {"-tls1_3", "-tls1_2"}) {
    INFO(version);
    listener l = co_await leat::listen("127.0.0.1:0");
    std::string seen;
    const std::string command = "printf 'line from openssl\\n' | timeout 60 openssl s_client " +
                                version + " -connect " + l.local().text() +
                                " -servername server.test -verify_hostname server.test -CAfile " +
                                authorities + " -verify_return_error -alpn echo -ign_eof 2>&1";
    co_await leat::with_task_group([&](task_group& group) -> task<> {
      group.spawn([](std::string line, std::string& out) -> task<> {
        out = co_await leat::run_blocking([&line] { return run(line); });
      }(command, seen));
      connection c = co_await leat::tls_accept(co_await l.accept(), context);
      CHECK(leat::get_tls_session(c)->application_protocol == "echo");
      std::string line;
      co_await asio::async_read_until(c, asio::dynamic_buffer(line), '\n', leat::use_task);
      CHECK(line == "line from openssl\n");
      co_await asio::async_write(c, asio::buffer("reply of leat\n", 14), leat::use_task);
      co_await leat::close_gracefully(std::move(c));
    });
    CHECK(contains(seen, "Verify return code: 0 (ok)"));
    CHECK(contains(seen, "reply of leat"));
    CHECK(contains(seen, "closed"));
  }
}

LEAT_REAL_TIME_TEST("tls_connect: openssl s_server is a server") {
  if (!has_openssl()) co_return;
  const temp_dir dir;
  const auto& own = leat_test::server_certificate();
  const std::string command =
      "exec timeout 60 openssl s_server -accept 127.0.0.1:0 -naccept 1 -cert " +
      dir.write("chain.pem", own.chain) + " -key " + dir.write("key.pem", own.key) +
      " -rev 2>/dev/null";
  std::FILE* const server = ::popen(command.c_str(), "r");
  REQUIRE(server != nullptr);
  std::string port;  // of the line "ACCEPT 127.0.0.1:34567"
  char line[256];
  while (port.empty() && std::fgets(line, sizeof line, server)) {
    const std::string_view text(line);
    if (text.starts_with("ACCEPT ")) port = text.substr(text.rfind(':') + 1);
  }
  while (!port.empty() && port.back() == '\n') port.pop_back();
  REQUIRE_FALSE(port.empty());
  connection c =
      co_await leat::tls_connect(co_await leat::connect("127.0.0.1:" + port),
                                 leat::tls_context::client(client_options()), "localhost");
  co_await asio::async_write(c, asio::buffer("drawer\n", 7), leat::use_task);
  std::string reply;
  co_await asio::async_read_until(c, asio::dynamic_buffer(reply), '\n', leat::use_task);
  CHECK(reply == "reward\n");
  co_await leat::close_gracefully(std::move(c));
  ::pclose(server);
}

}  // namespace tls_peer_test
