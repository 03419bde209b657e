#pragma once

#include <memory>
#include <string_view>
#include <vector>

#include "leat/async/scheduler/scheduler.hpp"
#include "leat/net/network_backend.hpp"
#include "sim/network/network_core.hpp"

namespace LEAT::sim {

/// The network of one simulated thread.
class simulated_backend final : public network_backend {
 public:
  simulated_backend(network_core& c, network_host& h, scheduler& s) noexcept
      : core_(c), host_(h), scheduler_(s) {}

  [[nodiscard]] network_host& host() const noexcept { return host_; }

  [[nodiscard]] std::string_view name() const noexcept override { return "simulated"; }
  [[nodiscard]] task<std::unique_ptr<network_stream>> connect(endpoint to,
                                                              connection_options options) override;
  [[nodiscard]] task<std::vector<endpoint>> resolve(endpoint name) override;
  [[nodiscard]] std::unique_ptr<network_acceptor> listen(const endpoint& at,
                                                         const listen_options& options) override;

 private:
  network_core& core_;
  network_host& host_;
  scheduler& scheduler_;
};

}  // namespace LEAT::sim
