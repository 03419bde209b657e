#pragma once

#include <string>

#include "leat/net/endpoint.hpp"
#include "leat/net/network_backend.hpp"
#include "leat/sync/event.hpp"
#include "sim/network/agenda.hpp"
#include "sim/network/network_core.hpp"

namespace LEAT::sim {

/// The handshake of a connection, as the client's kernel sees it: it asks again until the peer has
/// answered, or until it gives up.
class connect_attempt final : public agenda::event {
 public:
  connect_attempt(network_core& c, network_host& from, const endpoint& to);
  /// Resets a connection that take() has not returned.
  ~connect_attempt() override;

  void begin();
  /// Set when the attempt has ended.
  leat::event ended;
  /// Returns the new end. Errors: those of the attempt.
  [[nodiscard]] stream_end& take();

 private:
  enum class stage : unsigned char { asking, pausing, answered, failed };

  std::string happen() override;
  void ask();
  void pause();
  std::string arrive();
  void fail_later(const asio_error_code& ec, time_point when);
  [[nodiscard]] time_point travel(const network_host& from, const network_host& to);
  [[nodiscard]] std::string text() const;

  network_core& core_;
  network_host& from_;
  const endpoint to_;
  endpoint local_;
  network_host* there_ = nullptr;
  stage stage_ = stage::pausing;
  int asked_ = 0;
  network_fault fault_ = network_fault::none;
  asio_error_code error_;
  stream_end* mine_ = nullptr;  // null: not connected, or taken
};

}  // namespace LEAT::sim
