#pragma once

#include <string>

#include "leat/async/task.hpp"
#include "leat/base/flavour.hpp"
#include "leat/net/connection.hpp"
#include "leat/tls/tls_context.hpp"

namespace LEAT {

/// Begins TLS as a client, and returns a connection that encrypts.
///
///     const auto context = leat::tls_context::client();
///     leat::connection plain = co_await leat::connect("example.com:443");
///     leat::connection c = co_await leat::with_timeout(
///         leat::tls_connect(std::move(plain), context, "example.com"), 5s);
///
/// The result is used like any other connection, with these differences:
///
/// - The end of the stream is the `close_notify` of TLS. If the peer's stream ends without one, a
///   read fails with `asio::ssl::error::stream_truncated`, which equals errc::unavailable.
/// - A write has succeeded once its bytes are encrypted. If a limit ends it after that, it returns
///   their number, and they are sent in the background. So the stream remains usable.
/// - close() and the destructor send a `close_notify`. If the kernel has no memory for it, it is
///   sent in the background for up to 30 s.
///
/// Nothing that belongs to TLS may have been read from `c` before. `server_name` is the name or
/// address that the certificate must be for. A name is also sent to the server (SNI).
///
/// Errors:        unauthenticated, if the certificate of the server is not valid; errors of OpenSSL
///                in `asio::error::get_ssl_category()`; the errors of the connection. The message
///                of the first two has the peer, the server name and the reason. invalid_argument,
///                if the context is for a server, or the server is to be verified and has no name.
/// Cancellation:  ends the handshake and closes the connection. Without a limit, tls_connect()
///                waits for a silent peer.
/// Thread safety: thread-bound to the scheduler of the connection.
/// Cost:          0.5 ms of CPU time with Ed25519 certificates. An idle connection
///                occupies 34 KiB.
[[nodiscard]] task<connection> tls_connect(connection c, tls_context context,
                                           std::string server_name);

/// Begins TLS as a server: see tls_connect(). If the context requests certificates of clients, a
/// client may learn from its first read that its certificate was rejected.
///
///     leat::task<> serve_encrypted(leat::connection plain, leat::tls_context context) {
///       co_await serve(co_await leat::with_timeout(
///           leat::tls_accept(std::move(plain), context), 10s));
///     }
///
/// Shake hands in the task of the connection, as here. In the accept loop, a slow client would
/// delay all others.
///
/// Errors:        unauthenticated, if the client needs a valid certificate and has none; otherwise
///                as for tls_connect().
/// Cancellation:  ends the handshake and closes the connection.
/// Thread safety: thread-bound to the scheduler of the connection.
[[nodiscard]] task<connection> tls_accept(connection c, tls_context context);

}  // namespace LEAT
