#pragma once

#include <cstddef>

#include "leat/net/network_backend.hpp"
#include "sim/network/stream_end.hpp"

namespace LEAT::sim {

/// The program's hold on an end of a simulated connection.
class simulated_stream final : public network_stream {
 public:
  explicit simulated_stream(stream_end& e);
  ~simulated_stream() override;

  /// The end is gone, with its network or its process.
  void forget() noexcept { end_ = nullptr; }

  void attach(scheduler& on) override;
  void start(network_transfer& t) noexcept override;
  void cancel(network_transfer& t) noexcept override;
  void cancel_all() noexcept override;
  asio_error_code shutdown_send() noexcept override;
  void close(bool resets) noexcept override;
  [[nodiscard]] bool is_open() const noexcept override { return end_ != nullptr; }
  [[nodiscard]] endpoint peer() const override { return peer_; }
  [[nodiscard]] endpoint local() const override { return end_ ? end_->local() : endpoint(); }
  [[nodiscard]] connection_status status() const noexcept override;
  asio_error_code set_option(int level, int name, const void* value,
                             std::size_t size) noexcept override;
  asio_error_code get_option(int level, int name, void* value,
                             std::size_t& size) const noexcept override;
  [[nodiscard]] bool try_transfer(network_transfer& t) noexcept override;

 private:
  stream_end* end_;  // null: closed
  endpoint peer_;
};

}  // namespace LEAT::sim
