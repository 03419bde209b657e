#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "leat/base/braced.hpp"
#include "leat/base/flavour.hpp"

namespace LEAT {

/// A version of TLS.
enum class tls_version : std::uint8_t {
  tls_1_2,  ///< RFC 5246
  tls_1_3,  ///< RFC 8446
};

/// Whether a certificate of the peer is requested and verified.
enum class tls_verification : std::uint8_t {
  by_role,   ///< `required` for a client, `none` for a server
  none,      ///< not verified; a server does not request one
  optional,  ///< only for a server: a client may have none, but not one that is not valid
  required,  ///< the peer must have a valid one; a client also compares the server's name
};

/// Options of a tls_context. Certificates and keys are in PEM, either as the name of a file, which
/// is read once, or as text.
struct tls_options {
  /// The own certificate, followed by the intermediate ones. A server needs it.
  option_string certificate_chain_file = {};
  option_string certificate_chain = {};  ///< the text in place of a file
  /// The private key of the certificate, which must not be encrypted.
  option_string private_key_file = {};
  option_string private_key = {};  ///< the text in place of a file
  /// The authorities that issue trusted certificates. If neither this nor `authorities` is set, the
  /// system has a list.
  option_string authorities_file = {};
  option_string authorities = {};  ///< the text in place of a file
  /// The protocols for ALPN, such as "h2", best first. A server rejects a client that offers only
  /// others.
  braced<std::vector<std::string>> application_protocols = {};
  tls_version minimum_version = tls_version::tls_1_2;         ///< older versions are rejected
  tls_verification verification = tls_verification::by_role;  ///< of the peer's certificate
};

}  // namespace LEAT
