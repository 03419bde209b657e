#pragma once

#include <memory>
#include <string>

#include "leat/tls.hpp"

namespace leat_test {

/// A certificate and its private key, in PEM.
struct certificate {
  std::string chain;
  std::string key;
};

/// How to issue a certificate.
struct certificate_options {
  /// The names and addresses, as OpenSSL writes them.
  leat::option_string names = "DNS:server.test,DNS:localhost,IP:127.0.0.1";
  int days = 1;  // negative: it has expired
};

/// An authority with a key of its own. All keys are Ed25519, of which each signature has the same
/// size.
class authority {
 public:
  explicit authority(const std::string& name = "leat test authority");
  ~authority();
  authority(const authority&) = delete;
  authority& operator=(const authority&) = delete;

  [[nodiscard]] const std::string& pem() const { return pem_; }
  [[nodiscard]] certificate issue(const certificate_options& options = {}) const;

 private:
  struct state;
  std::unique_ptr<state> state_;
  std::string pem_;
};

/// One for all tests, with a certificate for server.test, localhost and 127.0.0.1.
[[nodiscard]] const authority& test_authority();
[[nodiscard]] const certificate& server_certificate();
[[nodiscard]] leat::tls_options server_options();
[[nodiscard]] leat::tls_options client_options();

}  // namespace leat_test
