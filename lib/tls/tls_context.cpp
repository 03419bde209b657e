#include "leat/tls/tls_context.hpp"

#include <cerrno>
#include <cstdio>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/x509.h>
#include <string_view>
#include <system_error>

#include "leat/base/error.hpp"
#include "tls/tls_context_state.hpp"

namespace LEAT::detail {
namespace {

using certificate_ptr = openssl_ptr<X509, X509_free>;

[[noreturn]] void refuse(const std::string& why) {
  ERR_clear_error();
  throw failure(errc::invalid_argument, "tls_context: " + why);
}

std::string read_file(const std::string& path, const char* what) {
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::fopen(path.c_str(), "re"),
                                                             &std::fclose);
  std::string text;
  if (file) {
    char block[4096];
    for (std::size_t n = 0; (n = std::fread(block, 1, sizeof block, file.get())) > 0;) {
      text.append(block, n);
    }
    if (std::ferror(file.get()) == 0) return text;
  }
  throw failure(std::error_code(errno, std::system_category()),
                std::string("tls_context: ") + what + ' ' + path + " cannot be read");
}

// Text in PEM, and how messages name it.
struct pem_text {
  pem_text(const std::string& file, const std::string& text, const char* what) : name(what) {
    if (!file.empty() && !text.empty()) {
      refuse(name + " is given as a file, " + file + ", and as text: set one of them");
    }
    if (!file.empty()) {
      content = read_file(file, what);
      name += ' ' + file;
    } else {
      content = text;
    }
    is_set = !file.empty() || !text.empty();
  }
  [[nodiscard]] openssl_ptr<BIO, BIO_free> open() const {
    openssl_ptr<BIO, BIO_free> bio(
        BIO_new_mem_buf(content.data(), static_cast<int>(content.size())));
    if (!bio) throw std::bad_alloc();
    return bio;
  }

  std::string name;
  std::string content;
  bool is_set = false;
};

// OpenSSL would ask for a password on the terminal.
int no_password(char*, int, int, void*) { return -1; }

certificate_ptr next_certificate(BIO* from) {
  return certificate_ptr(PEM_read_bio_X509(from, nullptr, &no_password, nullptr));
}

// After the last certificate, OpenSSL reports that no other line begins one.
void check_end(const pem_text& text, std::size_t count) {
  const unsigned long error = ERR_peek_last_error();
  if (count == 0) refuse(text.name + " has no certificate in PEM");
  if (ERR_GET_LIB(error) != ERR_LIB_PEM || ERR_GET_REASON(error) != PEM_R_NO_START_LINE) {
    refuse(text.name + ": certificate " + std::to_string(count + 1) +
           " is malformed: " + take_openssl_reason());
  }
  ERR_clear_error();
}

}  // namespace

std::string take_openssl_reason() {
  const unsigned long error = ERR_get_error();
  const char* const reason = ERR_reason_error_string(error);
  ERR_clear_error();
  return reason ? reason : "error " + std::to_string(error) + " of OpenSSL";
}

tls_context_state::tls_context_state(const tls_options& options, bool is_client)
    : context_(SSL_CTX_new(is_client ? TLS_client_method() : TLS_server_method())),
      is_client_(is_client) {
  if (!context_) throw std::bad_alloc();
  SSL_CTX* const c = context_.get();
  SSL_CTX_set_options(c, SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION | SSL_OP_NO_TICKET);
  // A write of a part of the buffer is a success, and the buffer may move before it is repeated.
  SSL_CTX_set_mode(c, SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER |
                          SSL_MODE_RELEASE_BUFFERS);
  // Nothing resumes a session. Tickets that a client does not read would reset its connection when
  // it closes it.
  SSL_CTX_set_session_cache_mode(c, SSL_SESS_CACHE_OFF);
  SSL_CTX_set_num_tickets(c, 0);
  SSL_CTX_set_min_proto_version(
      c, options.minimum_version == tls_version::tls_1_3 ? TLS1_3_VERSION : TLS1_2_VERSION);

  auto verification = options.verification;
  if (verification == tls_verification::by_role) {
    verification = is_client ? tls_verification::required : tls_verification::none;
  }
  if (is_client && verification == tls_verification::optional) {
    refuse("verification::optional is for servers: a server always sends a certificate");
  }
  verifies_ = verification != tls_verification::none;
  int mode = verifies_ ? SSL_VERIFY_PEER : SSL_VERIFY_NONE;
  if (verification == tls_verification::required) mode |= SSL_VERIFY_FAIL_IF_NO_PEER_CERT;
  SSL_CTX_set_verify(c, mode, nullptr);

  use_certificate(options);
  use_authorities(options);
  use_protocols(options);
}

void tls_context_state::use_certificate(const tls_options& options) {
  const pem_text chain(options.certificate_chain_file, options.certificate_chain,
                       "certificate chain");
  const pem_text key(options.private_key_file, options.private_key, "private key");
  if (!chain.is_set && !key.is_set) {
    if (!is_client_) refuse("a server needs a certificate chain and its private key");
    return;
  }
  if (!chain.is_set) refuse(key.name + " is given without its certificate chain");
  if (!key.is_set) refuse(chain.name + " is given without its private key");

  ERR_clear_error();
  const auto certificates = chain.open();
  std::size_t count = 0;
  while (certificate_ptr one = next_certificate(certificates.get())) {
    const bool is_used = count == 0 ? SSL_CTX_use_certificate(context_.get(), one.get()) == 1
                                    : SSL_CTX_add1_chain_cert(context_.get(), one.get()) == 1;
    if (!is_used) {
      refuse(chain.name + ": certificate " + std::to_string(count + 1) +
             " cannot be used: " + take_openssl_reason());
    }
    ++count;
  }
  check_end(chain, count);

  const openssl_ptr<EVP_PKEY, EVP_PKEY_free> private_key(
      PEM_read_bio_PrivateKey(key.open().get(), nullptr, &no_password, nullptr));
  if (!private_key) {
    refuse(key.name + " cannot be used (" + take_openssl_reason() +
           "): it must be in PEM and not encrypted");
  }
  if (X509_check_private_key(SSL_CTX_get0_certificate(context_.get()), private_key.get()) != 1) {
    refuse(key.name + " does not belong to the first certificate of " + chain.name);
  }
  if (SSL_CTX_use_PrivateKey(context_.get(), private_key.get()) != 1) {
    refuse(key.name + " cannot be used: " + take_openssl_reason());
  }
}

void tls_context_state::use_authorities(const tls_options& options) {
  const pem_text text(options.authorities_file, options.authorities, "authorities");
  if (!text.is_set) {
    if (verifies_) SSL_CTX_set_default_verify_paths(context_.get());
    ERR_clear_error();
    return;
  }
  ERR_clear_error();
  const auto certificates = text.open();
  std::size_t count = 0;
  while (certificate_ptr one = next_certificate(certificates.get())) {
    if (X509_STORE_add_cert(SSL_CTX_get_cert_store(context_.get()), one.get()) != 1) {
      refuse(text.name + ": certificate " + std::to_string(count + 1) +
             " cannot be used: " + take_openssl_reason());
    }
    // Clients with several certificates choose one of these authorities.
    if (!is_client_) SSL_CTX_add_client_CA(context_.get(), one.get());
    ++count;
  }
  check_end(text, count);
}

void tls_context_state::use_protocols(const tls_options& options) {
  for (const std::string& p : options.application_protocols) {
    if (p.empty() || p.size() > 255) {
      refuse("application protocol \"" + p + "\" must have 1 to 255 bytes");
    }
    protocols_ += static_cast<char>(p.size());
    protocols_ += p;
  }
  if (protocols_.empty()) return;
  if (!is_client_) {
    SSL_CTX_set_alpn_select_cb(context_.get(), &choose_protocol, this);
  } else if (SSL_CTX_set_alpn_protos(context_.get(),
                                     reinterpret_cast<const unsigned char*>(protocols_.data()),
                                     static_cast<unsigned>(protocols_.size())) != 0) {
    throw std::bad_alloc();
  }
}

int tls_context_state::choose_protocol(SSL*, const unsigned char** chosen, unsigned char* size,
                                       const unsigned char* offered, unsigned offered_size,
                                       void* self) {
  const std::string& own = static_cast<const tls_context_state*>(self)->protocols_;
  unsigned char* found = nullptr;  // in one of the two lists, which both outlive the handshake
  const int result =
      SSL_select_next_proto(&found, size, reinterpret_cast<const unsigned char*>(own.data()),
                            static_cast<unsigned>(own.size()), offered, offered_size);
  *chosen = found;
  return result == OPENSSL_NPN_NEGOTIATED ? SSL_TLSEXT_ERR_OK : SSL_TLSEXT_ERR_ALERT_FATAL;
}

}  // namespace LEAT::detail

namespace LEAT {

// The options may be in braces inside of `co_await`: see braced.

tls_context tls_context::client(const tls_options& options) {
  const tls_options own = options;
  return tls_context(std::make_shared<const detail::tls_context_state>(own, true));
}

tls_context tls_context::server(const tls_options& options) {
  const tls_options own = options;
  return tls_context(std::make_shared<const detail::tls_context_state>(own, false));
}

ssl_ctx_st* tls_context::native_handle() const noexcept { return state_->get(); }

}  // namespace LEAT
