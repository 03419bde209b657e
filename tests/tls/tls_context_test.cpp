#include "leat/tls/tls_context.hpp"

#include <openssl/ssl.h>

#include "support/leat_test.hpp"
#include "support/temp_dir.hpp"
#include "tls/certificates.hpp"

namespace tls_context_test {

using leat::tls_context;
using leat::tls_options;
using leat_test::server_certificate;
using leat_test::server_options;

std::string client_error(const tls_options& o) {
  return error_of([&] { static_cast<void>(tls_context::client(o)); });
}
std::string server_error(const tls_options& o) {
  return error_of([&] { static_cast<void>(tls_context::server(o)); });
}

TEST_CASE("tls_context: reads certificates from files and from text") {
  const temp_dir dir;
  const auto& own = server_certificate();
  tls_options o{.certificate_chain_file =
                    dir.write("chain.pem", own.chain + leat_test::test_authority().pem()),
                .private_key_file = dir.write("key.pem", own.key),
                .authorities_file = dir.write("ca.pem", leat_test::test_authority().pem())};
  const tls_context from_files = tls_context::server(o);
  const tls_context copy = from_files;
  CHECK(copy.native_handle() == from_files.native_handle());
  CHECK(SSL_CTX_get0_certificate(copy.native_handle()) != nullptr);
  CHECK(tls_context::server(server_options()).native_handle() != nullptr);
  CHECK(tls_context::client().native_handle() != nullptr);
}

TEST_CASE("tls_context: errors name the file and say what is wrong") {
  const temp_dir dir;
  const auto& own = server_certificate();
  tls_options o = server_options();

  CHECK(server_error({}) ==
        "tls_context: a server needs a certificate chain and its private key: invalid argument");
  o.private_key.clear();
  CHECK(contains(server_error(o), "certificate chain is given without its private key"));
  o.private_key_file = dir / "missing.pem";
  CHECK(server_error(o) == "tls_context: private key " + (dir / "missing.pem") +
                               " cannot be read: No such file or directory");
  o.private_key_file = dir.write("chain.pem", own.chain);
  CHECK(contains(server_error(o), "private key " + (dir / "chain.pem") + " cannot be used"));
  CHECK(contains(server_error(o), "it must be in PEM and not encrypted"));
  o.private_key_file = dir.write("other.pem", leat_test::test_authority().issue().key);
  CHECK(contains(server_error(o), "private key " + (dir / "other.pem") +
                                      " does not belong to the first certificate of certificate "
                                      "chain"));
  o.private_key = own.key;
  CHECK(contains(server_error(o), "and as text: set one of them"));

  o = server_options();
  o.certificate_chain = "nonsense";
  CHECK(contains(server_error(o), "certificate chain has no certificate in PEM"));
  o.certificate_chain = own.chain + own.chain.substr(0, 200);
  CHECK(contains(server_error(o), "certificate chain: certificate 2 is malformed: "));
  CHECK(contains(server_error({.private_key = own.key}),
                 "private key is given without its certificate chain"));

  CHECK(contains(client_error({.authorities_file = dir.write("empty.pem", "")}),
                 "authorities " + (dir / "empty.pem") + " has no certificate in PEM"));
  CHECK(contains(client_error({.authorities_file = dir.path()}), "cannot be read: Is a directory"));
  CHECK(contains(client_error({.application_protocols = {"h2", ""}}),
                 "application protocol \"\" must have 1 to 255 bytes"));
  CHECK(contains(client_error({.verification = leat::tls_verification::optional}),
                 "a server always sends a certificate"));
}

TEST_CASE("tls_context: a file that is missing has the code not_found") {
  const auto code = code_of(
      [] { static_cast<void>(tls_context::client({.authorities_file = "/nowhere/ca.pem"})); });
  CHECK(code == errc::not_found);
}

TEST_CASE("tls_context: asks for no password of an encrypted key") {
  const char* const encrypted =
      "-----BEGIN ENCRYPTED PRIVATE KEY-----\n"
      "MIGbMFcGCSqGSIb3DQEFDTBKMCkGCSqGSIb3DQEFDDAcBAjY6vKLwLWSfQICCAAw\n"
      "DAYIKoZIhvcNAgkFADAdBglghkgBZQMEASoEEOzg9kqNTcxLvJwwN9yMDhQEQN8c\n"
      "-----END ENCRYPTED PRIVATE KEY-----\n";
  tls_options o = server_options();
  o.private_key = encrypted;
  CHECK(contains(server_error(o), "it must be in PEM and not encrypted"));
}

TEST_CASE("tls_context: the minimum version") {
  const auto minimum_of = [](leat::tls_version v) {
    return SSL_CTX_get_min_proto_version(
        tls_context::client({.minimum_version = v}).native_handle());
  };
  CHECK(minimum_of(leat::tls_version::tls_1_2) == TLS1_2_VERSION);
  CHECK(minimum_of(leat::tls_version::tls_1_3) == TLS1_3_VERSION);
}

}  // namespace tls_context_test
