#include "tls/tls_engine.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <new>
#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>
#include <utility>

#include "leat/base/asio.hpp"
#include "leat/base/error.hpp"

#include LEAT_ASIO(error.hpp)
#include LEAT_ASIO(ip/address.hpp)
#include LEAT_ASIO(ssl/error.hpp)

namespace LEAT::detail {

// ------------------------------------------------------------------------- the buffers of OpenSSL

int tls_engine::take_input(BIO* bio, char* to, std::size_t size, std::size_t* taken) noexcept {
  auto& self = *static_cast<tls_engine*>(BIO_get_data(bio));
  BIO_clear_retry_flags(bio);
  *taken = std::min(size, self.input_end_ - self.input_begin_);
  if (*taken == 0) {
    BIO_set_retry_read(bio);
    return 0;
  }
  std::memcpy(to, self.input_.get() + self.input_begin_, *taken);
  self.input_begin_ += *taken;
  return 1;
}

int tls_engine::add_output(BIO* bio, const char* from, std::size_t size,
                           std::size_t* added) noexcept {
  auto& self = *static_cast<tls_engine*>(BIO_get_data(bio));
  BIO_clear_retry_flags(bio);
  *added = 0;
  if (self.output_.size() >= output_limit) {
    BIO_set_retry_write(bio);
    return 0;
  }
  try {
    self.output_.append(from, size);
  } catch (const std::bad_alloc&) {
    self.error_ = asio::error::no_memory;
    return 0;
  }
  *added = size;
  return 1;
}

BIO_METHOD* tls_engine::methods() noexcept {
  static BIO_METHOD* const table = [] {
    BIO_METHOD* const t = BIO_meth_new(BIO_get_new_index() | BIO_TYPE_SOURCE_SINK, "leat");
    if (!t) return t;
    BIO_meth_set_read_ex(t, &take_input);
    BIO_meth_set_write_ex(t, &add_output);
    BIO_meth_set_ctrl(t,
                      [](BIO*, int what, long, void*) -> long { return what == BIO_CTRL_FLUSH; });
    BIO_meth_set_create(t, [](BIO* bio) {
      BIO_set_init(bio, 1);
      return 1;
    });
    return t;
  }();
  return table;
}

// ----------------------------------------------------------------------------------------- states

tls_engine::tls_engine(std::shared_ptr<const tls_context_state> context,
                       std::string_view server_name)
    : context_(std::move(context)),
      input_(std::make_unique_for_overwrite<char[]>(input_capacity)),
      ssl_(SSL_new(context_->get())) {
  BIO* const bio = ssl_ && methods() ? BIO_new(methods()) : nullptr;
  if (!bio) throw std::bad_alloc();
  BIO_set_data(bio, this);
  SSL_set_bio(ssl_.get(), bio, bio);
  if (context_->is_client()) {
    set_server_name(server_name);
    SSL_set_connect_state(ssl_.get());
  } else {
    SSL_set_accept_state(ssl_.get());
  }
}

void tls_engine::set_server_name(std::string_view name) {
  if (name.ends_with('.')) name.remove_suffix(1);  // an absolute name
  if (name.empty()) {
    if (!context_->verifies()) return;
    throw failure(errc::invalid_argument,
                  "tls_connect needs the server name that the certificate must be for");
  }
  const std::string text(name);
  asio_error_code ec;
  static_cast<void>(asio::ip::make_address(text, ec));
  ERR_clear_error();
  X509_VERIFY_PARAM* const wanted = SSL_get0_param(ssl_.get());
  if (!ec) {
    if (X509_VERIFY_PARAM_set1_ip_asc(wanted, text.c_str()) == 1) return;
  } else {
    X509_VERIFY_PARAM_set_hostflags(wanted, X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS);
    if (text.find('\0') == std::string::npos && SSL_set1_host(ssl_.get(), text.c_str()) == 1 &&
        SSL_set_tlsext_host_name(ssl_.get(), text.c_str()) == 1) {
      return;
    }
  }
  throw failure(errc::invalid_argument,
                "tls_connect: the server name must be a name or an address, not \"" + text + '"');
}

tls_engine::outcome tls_engine::outcome_of(int result) noexcept {
  if (result > 0) return outcome::done;
  switch (SSL_get_error(ssl_.get(), result)) {
    case SSL_ERROR_WANT_READ: return outcome::wants_input;
    case SSL_ERROR_WANT_WRITE: return outcome::wants_output;
    case SSL_ERROR_ZERO_RETURN: return outcome::ended;
    default: break;
  }
  const auto code = ERR_get_error();
  ERR_clear_error();
  if (error_) return outcome::failed;  // a lack of memory
  error_ = code != 0 ? asio_error_code(static_cast<int>(code), asio::error::get_ssl_category())
                     : asio_error_code(asio::ssl::error::unexpected_result);
  return outcome::failed;
}

tls_engine::outcome tls_engine::shake_hands() noexcept {
  ERR_clear_error();
  return outcome_of(SSL_do_handshake(ssl_.get()));
}

tls_engine::outcome tls_engine::read(const transfer_buffer* buffers, std::size_t count,
                                     std::size_t& bytes) noexcept {
  if (error_) return outcome::failed;
  const std::size_t before = bytes;
  outcome last = outcome::done;
  for (std::size_t i = 0; i < count && last == outcome::done; ++i) {
    for (std::size_t filled = 0; filled < buffers[i].size && last == outcome::done;) {
      std::size_t n = 0;
      ERR_clear_error();
      last = outcome_of(SSL_read_ex(ssl_.get(), static_cast<char*>(buffers[i].data) + filled,
                                    buffers[i].size - filled, &n));
      filled += n;
      bytes += n;
    }
  }
  return bytes > before ? outcome::done : last;
}

tls_engine::outcome tls_engine::peek() noexcept {
  if (error_) return outcome::failed;
  char byte = 0;
  std::size_t n = 0;
  ERR_clear_error();
  return outcome_of(SSL_peek_ex(ssl_.get(), &byte, 1, &n));
}

tls_engine::outcome tls_engine::write(const transfer_buffer* buffers, std::size_t count,
                                      std::size_t& bytes) noexcept {
  if (error_) return outcome::failed;
  transfer_buffer from = buffers[0];
  std::array<char, SSL3_RT_MAX_PLAIN_LENGTH> together;  // small buffers in one record
  if (count > 1 && from.size < together.size()) {
    std::size_t size = 0;
    for (std::size_t i = 0; i < count; ++i) {
      const std::size_t part = std::min(buffers[i].size, together.size() - size);
      std::memcpy(together.data() + size, buffers[i].data, part);
      size += part;
    }
    from = {together.data(), size};
  }
  std::size_t n = 0;
  ERR_clear_error();
  const outcome result = outcome_of(SSL_write_ex(ssl_.get(), from.data, from.size, &n));
  bytes += n;
  return result;
}

void tls_engine::end() noexcept {
  if (error_ || SSL_in_init(ssl_.get())) return;
  ERR_clear_error();
  SSL_shutdown(ssl_.get());
  ERR_clear_error();
}

// -------------------------------------------------------------------------------------- questions

std::string_view tls_engine::certificate_problem() const noexcept {
  if (!context_->verifies()) return {};
  if (error_.category() == asio::error::get_ssl_category() &&
      ERR_GET_REASON(static_cast<unsigned long>(error_.value())) ==
          SSL_R_PEER_DID_NOT_RETURN_A_CERTIFICATE) {
    return "the peer has sent none";
  }
  const long result = SSL_get_verify_result(ssl_.get());
  return result == X509_V_OK ? std::string_view() : X509_verify_cert_error_string(result);
}

std::size_t tls_engine::unread() const noexcept {
  const int decrypted = SSL_pending(ssl_.get());
  return static_cast<std::size_t>(std::max(decrypted, 0)) + (input_end_ - input_begin_);
}

tls_session tls_engine::session() const {
  tls_session s;
  s.protocol = protocol();
  s.cipher = cipher();
  const unsigned char* name = nullptr;
  unsigned size = 0;
  SSL_get0_alpn_selected(ssl_.get(), &name, &size);
  if (name) s.application_protocol.assign(reinterpret_cast<const char*>(name), size);
  if (const char* const host = SSL_get_servername(ssl_.get(), TLSEXT_NAMETYPE_host_name)) {
    s.server_name = host;
  }
  if (X509* const peer = SSL_get0_peer_certificate(ssl_.get())) {
    const openssl_ptr<BIO, BIO_free> pem(BIO_new(BIO_s_mem()));
    if (!pem || PEM_write_bio_X509(pem.get(), peer) != 1) throw std::bad_alloc();
    const char* text = nullptr;
    const long length = BIO_get_mem_data(pem.get(), &text);
    s.peer_certificate.assign(text, static_cast<std::size_t>(length));
  }
  return s;
}

}  // namespace LEAT::detail
