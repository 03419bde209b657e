#include "tls/certificates.hpp"

#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>
#include <stdexcept>

namespace leat_test {
namespace {

struct frees {
  void operator()(EVP_PKEY* p) const { EVP_PKEY_free(p); }
  void operator()(X509* p) const { X509_free(p); }
  void operator()(BIO* p) const { BIO_free(p); }
  void operator()(X509_EXTENSION* p) const { X509_EXTENSION_free(p); }
};
template <class T>
using ptr = std::unique_ptr<T, frees>;

template <class T>
ptr<T> checked(T* p) {
  if (!p) throw std::runtime_error("OpenSSL cannot make a certificate");
  return ptr<T>(p);
}

std::string text_of(BIO* bio) {
  char* text = nullptr;
  const long size = BIO_get_mem_data(bio, &text);
  return {text, static_cast<std::size_t>(size)};
}

std::string pem_of(X509* c) {
  const auto bio = checked(BIO_new(BIO_s_mem()));
  PEM_write_bio_X509(bio.get(), c);
  return text_of(bio.get());
}

void add(X509* to, X509* issuer, int what, const std::string& value) {
  X509V3_CTX context;
  X509V3_set_ctx_nodb(&context);
  X509V3_set_ctx(&context, issuer, to, nullptr, nullptr, 0);
  const auto e = checked(X509V3_EXT_conf_nid(nullptr, &context, what, value.c_str()));
  X509_add_ext(to, e.get(), -1);
}

// Not signed yet.
ptr<X509> make(const std::string& name, EVP_PKEY* key, int days) {
  static long serial = 0;
  auto c = checked(X509_new());
  X509_set_version(c.get(), X509_VERSION_3);
  ASN1_INTEGER_set(X509_get_serialNumber(c.get()), ++serial);
  constexpr long day = 24 * 60 * 60;
  X509_gmtime_adj(X509_getm_notBefore(c.get()), -2 * day);
  X509_gmtime_adj(X509_getm_notAfter(c.get()), days * day);
  X509_set_pubkey(c.get(), key);
  X509_NAME_add_entry_by_txt(X509_get_subject_name(c.get()), "CN", MBSTRING_UTF8,
                             reinterpret_cast<const unsigned char*>(name.c_str()), -1, -1, 0);
  return c;
}

ptr<EVP_PKEY> make_key() { return checked(EVP_PKEY_Q_keygen(nullptr, nullptr, "ED25519")); }

}  // namespace

struct authority::state {
  ptr<EVP_PKEY> key = make_key();
  ptr<X509> own;
};

authority::authority(const std::string& name) : state_(std::make_unique<state>()) {
  state_->own = make(name, state_->key.get(), 1);
  X509* const c = state_->own.get();
  X509_set_issuer_name(c, X509_get_subject_name(c));
  add(c, c, NID_basic_constraints, "critical,CA:TRUE");
  add(c, c, NID_key_usage, "critical,keyCertSign,cRLSign");
  add(c, c, NID_subject_key_identifier, "hash");
  X509_sign(c, state_->key.get(), nullptr);
  pem_ = pem_of(c);
}

authority::~authority() = default;

certificate authority::issue(const certificate_options& in_braces) const {
  const certificate_options options = in_braces;
  const auto key = make_key();
  const auto c = make("leat test", key.get(), options.days);
  X509_set_issuer_name(c.get(), X509_get_subject_name(state_->own.get()));
  add(c.get(), state_->own.get(), NID_subject_alt_name, options.names);
  add(c.get(), state_->own.get(), NID_authority_key_identifier, "keyid");
  X509_sign(c.get(), state_->key.get(), nullptr);
  const auto bio = checked(BIO_new(BIO_s_mem()));
  PEM_write_bio_PrivateKey(bio.get(), key.get(), nullptr, nullptr, 0, nullptr, nullptr);
  return {pem_of(c.get()), text_of(bio.get())};
}

const authority& test_authority() {
  static const authority instance;
  return instance;
}

const certificate& server_certificate() {
  static const certificate instance = test_authority().issue();
  return instance;
}

leat::tls_options server_options() {
  return {.certificate_chain = server_certificate().chain, .private_key = server_certificate().key};
}

leat::tls_options client_options() { return {.authorities = test_authority().pem()}; }

}  // namespace leat_test
