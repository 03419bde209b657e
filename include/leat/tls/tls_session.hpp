#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "leat/base/flavour.hpp"
#include "leat/net/connection.hpp"

namespace LEAT {

/// The result of a TLS handshake: see get_tls_session().
struct tls_session {
  std::string_view protocol;         ///< the version, such as "TLSv1.3"
  std::string_view cipher;           ///< such as "TLS_AES_256_GCM_SHA384"
  std::string application_protocol;  ///< chosen by ALPN; empty if none was
  std::string server_name;           ///< that the client has asked for; empty if it sent none
  /// The certificate of the peer in PEM; empty if it has none. It was verified unless verification
  /// is `none`.
  std::string peer_certificate;
};

/// Returns what the handshake of `c` has agreed on; empty for a connection without TLS. Allowed if
/// `c` is empty, and after close().
///
/// Errors:        std::bad_alloc.
/// Thread safety: thread-bound to the scheduler of the connection.
[[nodiscard]] std::optional<tls_session> get_tls_session(const connection& c);

}  // namespace LEAT
