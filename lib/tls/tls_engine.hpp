#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <openssl/ssl.h>
#include <string>
#include <string_view>

#include "leat/base/asio.hpp"
#include "leat/net/network_backend.hpp"
#include "leat/tls/tls_session.hpp"
#include "tls/tls_context_state.hpp"

#include LEAT_ASIO(buffer.hpp)

namespace LEAT::detail {

/// One end of a TLS connection without the network: OpenSSL and two buffers of encrypted bytes.
///
/// asio::ssl::stream is not used, because a limit that ends one of its writes in the middle of a
/// record leaves it unusable: the rest of the record is lost. Here it stays in output().
class tls_engine {
 public:
  enum class outcome : std::uint8_t {
    done,
    wants_input,   ///< call it again after received()
    wants_output,  ///< call it again when output() is empty
    ended,         ///< the peer has sent its close_notify
    failed,        ///< see error(); so will every later call
  };

  /// `server_name`: of a client; may be empty. Errors: std::bad_alloc; invalid_argument, if it is
  /// malformed.
  tls_engine(std::shared_ptr<const tls_context_state> context, std::string_view server_name);
  tls_engine(const tls_engine&) = delete;
  tls_engine& operator=(const tls_engine&) = delete;

  [[nodiscard]] outcome shake_hands() noexcept;
  /// Decrypts into the buffers. Adds the number of bytes, at least 1 if done, to `bytes`.
  [[nodiscard]] outcome read(const transfer_buffer* buffers, std::size_t count,
                             std::size_t& bytes) noexcept;
  /// Returns done if read() has bytes to return, and otherwise what it would return.
  [[nodiscard]] outcome peek() noexcept;
  /// Encrypts some of the bytes, at most one record. Adds their number to `bytes`.
  [[nodiscard]] outcome write(const transfer_buffer* buffers, std::size_t count,
                              std::size_t& bytes) noexcept;
  /// Adds a close_notify to the output, if the state permits it.
  void end() noexcept;

  /// Where to put encrypted bytes from the peer. Precondition: none are left.
  [[nodiscard]] asio::mutable_buffer input_space() noexcept {
    return {input_.get(), input_capacity};
  }
  void received(std::size_t bytes) noexcept { input_begin_ = 0, input_end_ = bytes; }
  /// The encrypted bytes for the peer. The caller removes those that it has sent.
  [[nodiscard]] std::string& output() noexcept { return output_; }
  /// Returns true if there are so many that read() may have to wait.
  [[nodiscard]] bool is_output_full() const noexcept { return output_.size() >= output_limit; }

  /// The reason of a failure.
  [[nodiscard]] asio_error_code error() const noexcept { return error_; }
  /// Returns what is wrong with the certificate of the peer; empty if it is valid or not verified.
  [[nodiscard]] std::string_view certificate_problem() const noexcept;
  /// The number of bytes that have arrived and were not read.
  [[nodiscard]] std::size_t unread() const noexcept;
  [[nodiscard]] std::string_view protocol() const noexcept { return SSL_get_version(ssl_.get()); }
  [[nodiscard]] std::string_view cipher() const noexcept { return SSL_get_cipher_name(ssl_.get()); }
  /// Errors: std::bad_alloc.
  [[nodiscard]] tls_session session() const;

 private:
  // The largest record of TLS 1.2, with its header.
  static constexpr std::size_t input_capacity = 16384 + 2048 + 5;
  // A peer that asks for new keys and does not read the answers must not occupy more memory.
  static constexpr std::size_t output_limit = 65536;

  static BIO_METHOD* methods() noexcept;
  static int take_input(BIO* bio, char* to, std::size_t size, std::size_t* taken) noexcept;
  static int add_output(BIO* bio, const char* from, std::size_t size, std::size_t* added) noexcept;

  void set_server_name(std::string_view name);
  outcome outcome_of(int result) noexcept;

  std::shared_ptr<const tls_context_state> context_;
  std::unique_ptr<char[]> input_;
  std::size_t input_begin_ = 0;
  std::size_t input_end_ = 0;
  std::string output_;
  asio_error_code error_;
  openssl_ptr<SSL, SSL_free> ssl_;
};

}  // namespace LEAT::detail
