#pragma once

#include <cstddef>
#include <memory>

#include "leat/net/connection.hpp"
#include "leat/net/network_backend.hpp"
#include "tls/tls_core.hpp"
#include "tls/tls_engine.hpp"

namespace LEAT::detail {

/// The program's hold on a TLS connection.
class tls_stream final : public network_stream {
 public:
  /// `below` is attached, and `engine` has shaken hands. Errors: std::bad_alloc.
  tls_stream(connection below, std::unique_ptr<tls_engine> engine);
  ~tls_stream() override;

  [[nodiscard]] const tls_engine& engine() const noexcept { return core_->engine(); }

  void attach(scheduler& on) override;
  void start(network_transfer& t) noexcept override { core_->start(t); }
  void cancel(network_transfer& t) noexcept override { core_->cancel(t); }
  void cancel_all() noexcept override { core_->cancel_all(); }
  asio_error_code shutdown_send() noexcept override { return core_->shutdown_send(); }
  void close(bool resets) noexcept override { core_->close(resets); }
  [[nodiscard]] bool is_open() const noexcept override { return core_->is_open(); }
  [[nodiscard]] endpoint peer() const override { return core_->below().peer(); }
  [[nodiscard]] endpoint local() const override;
  [[nodiscard]] connection_status status() const noexcept override { return core_->status(); }
  asio_error_code set_option(int level, int name, const void* value,
                             std::size_t size) noexcept override;
  asio_error_code get_option(int level, int name, void* value,
                             std::size_t& size) const noexcept override;
  [[nodiscard]] bool try_transfer(network_transfer& t) noexcept override {
    return core_->try_transfer(t);
  }

 private:
  std::shared_ptr<tls_core> core_;
};

}  // namespace LEAT::detail
