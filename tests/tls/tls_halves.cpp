#include "tls/tls_halves.hpp"

#include <asio/ssl/error.hpp>

namespace leat_test {

task<ends> secure_with(ends plain, leat::tls_context client, leat::tls_context server) {
  auto [c, s] =
      co_await leat::when_all(leat::tls_connect(std::move(plain.client), client, "server.test"),
                              leat::tls_accept(std::move(plain.server), server));
  ends e;
  e.client = std::move(c);
  e.server = std::move(s);
  co_return e;
}

task<ends> secure(ends plain) {
  return secure_with(std::move(plain), leat::tls_context::client(client_options()),
                     leat::tls_context::server(server_options()));
}

std::span<const net_half> net_halves() {
  static const leat::asio_error_code truncated = asio::ssl::error::stream_truncated;
  static const net_half halves[] = {
      {"TLS over TCP", false, &run_in_io_context, false, &secure, truncated},
      // A reset of a Unix socket is a close.
      {"TLS over a Unix socket", true, &run_in_io_context, false, &secure, truncated, truncated},
      {"TLS in an embedded_scheduler", false, &run_embedded, false, &secure, truncated},
      {"TLS in a world", false, &run_in_world, true, &secure, truncated},
      {"TLS over a Unix socket in a world", true, &run_in_world, true, &secure, truncated,
       truncated},
  };
  return halves;
}

}  // namespace leat_test
