#pragma once

#include <memory>
#include <utility>

#include "leat/base/flavour.hpp"
#include "leat/tls/tls_options.hpp"

struct ssl_ctx_st;

namespace LEAT {
namespace detail {
class tls_context_state;
}

/// Certificates, keys and options for TLS, shared by any number of connections.
///
///     const auto context = leat::tls_context::server(
///         {.certificate_chain_file = "chain.pem", .private_key_file = "key.pem"});
///
/// To use new certificates, create another context: connections keep the one that they began with.
///
/// Thread safety: thread-safe. A copy refers to the same context.
class tls_context {
 public:
  /// Returns a context for tls_connect(). Without options, the server must have a certificate for
  /// its name from an authority of the system.
  ///
  /// Errors: not_found, permission_denied or another error of the system, if a file cannot be read;
  ///         invalid_argument, if a certificate or a key is malformed or they do not belong
  ///         together. The message has the name of the file. std::bad_alloc.
  /// Cost:   reads files: create it before the program starts to serve.
  [[nodiscard]] static tls_context client(const tls_options& options = {});
  /// Returns a context for tls_accept(). Needs a certificate and its key.
  ///
  /// Errors: see client().
  [[nodiscard]] static tls_context server(const tls_options& options);

  /// Returns OpenSSL's SSL_CTX, for settings that tls_options does not have. Change it only before
  /// the first connection.
  [[nodiscard]] ssl_ctx_st* native_handle() const noexcept;

  /// Returns the state, for leat itself.
  [[nodiscard]] const std::shared_ptr<const detail::tls_context_state>& state() const noexcept {
    return state_;
  }

 private:
  explicit tls_context(std::shared_ptr<const detail::tls_context_state> s) noexcept
      : state_(std::move(s)) {}

  std::shared_ptr<const detail::tls_context_state> state_;
};

}  // namespace LEAT
