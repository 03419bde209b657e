#pragma once

#include <memory>
#include <openssl/ssl.h>
#include <string>

#include "leat/base/flavour.hpp"
#include "leat/tls/tls_options.hpp"

namespace LEAT::detail {

/// Calls a function of OpenSSL that frees an object.
template <auto release>
struct openssl_deleter {
  template <class T>
  void operator()(T* object) const noexcept {
    release(object);
  }
};
template <class T, auto release>
using openssl_ptr = std::unique_ptr<T, openssl_deleter<release>>;

/// Returns the reason of the oldest error of OpenSSL on this thread, and removes all of them.
[[nodiscard]] std::string take_openssl_reason();

/// What a tls_context refers to. Immutable.
class tls_context_state {
 public:
  /// Errors: see tls_context.
  tls_context_state(const tls_options& options, bool is_client);

  [[nodiscard]] SSL_CTX* get() const noexcept { return context_.get(); }
  [[nodiscard]] bool is_client() const noexcept { return is_client_; }
  [[nodiscard]] bool verifies() const noexcept { return verifies_; }

 private:
  void use_certificate(const tls_options& options);
  void use_authorities(const tls_options& options);
  void use_protocols(const tls_options& options);
  static int choose_protocol(SSL*, const unsigned char** chosen, unsigned char* size,
                             const unsigned char* offered, unsigned offered_size, void* self);

  openssl_ptr<SSL_CTX, SSL_CTX_free> context_;
  bool is_client_;
  bool verifies_;
  std::string protocols_;  // each after its length, as in ALPN
};

}  // namespace LEAT::detail
