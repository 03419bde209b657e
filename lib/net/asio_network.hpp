#pragma once

#include <memory>
#include <string_view>
#include <vector>

#include "leat/net/network_backend.hpp"

namespace LEAT::detail {

/// The network of the kernel, on sockets of Asio.
class asio_network final : public network_backend {
 public:
  explicit asio_network(scheduler& s) noexcept : scheduler_(s) {}

  [[nodiscard]] std::string_view name() const noexcept override { return "asio"; }
  [[nodiscard]] task<std::unique_ptr<network_stream>> connect(endpoint to,
                                                              connection_options options) override;
  [[nodiscard]] task<std::vector<endpoint>> resolve(endpoint name) override;
  [[nodiscard]] std::unique_ptr<network_acceptor> listen(const endpoint& at,
                                                         const listen_options& options) override;

 private:
  scheduler& scheduler_;
};

}  // namespace LEAT::detail
