#pragma once

#include <cstddef>
#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "leat/async/scheduler/scheduler.hpp"
#include "leat/net/connection_options.hpp"
#include "leat/net/endpoint.hpp"
#include "leat/net/network_backend.hpp"
#include "sim/network/network_core.hpp"

namespace LEAT::sim {

/// A listening socket: the connections that wait to be accepted.
class simulated_acceptor final : public network_acceptor {
 public:
  /// Errors: EADDRINUSE.
  simulated_acceptor(network_core& c, network_host& h, scheduler& s, const endpoint& at,
                     const listen_options& o);
  ~simulated_acceptor() override;

  [[nodiscard]] const endpoint& address() const noexcept { return local_; }
  [[nodiscard]] const listen_options& options() const noexcept { return options_; }
  [[nodiscard]] std::string table_line() const;

  /// Returns true if it holds one connection more than its limit, as Linux does.
  [[nodiscard]] bool is_full() const noexcept { return listed_.size() > limit_; }
  /// Adds a connection whose client may know it before this listener does.
  void expect(stream_end& e);
  /// Lists an expected connection for accept(). Returns false if there is no room.
  bool list(stream_end& e);
  void remove(stream_end& e) noexcept;
  /// Returns true if accept() is waited for although it could succeed.
  [[nodiscard]] bool is_stuck() const noexcept { return waiting_ && !listed_.empty(); }

  // ---- network_acceptor
  [[nodiscard]] std::unique_ptr<network_stream> accept(asio_error_code& error) override;
  void wait(work_item& ready) override;
  void stop_waiting() noexcept override;
  void close() noexcept override;
  [[nodiscard]] std::size_t backlog() const noexcept override {
    return local_.is_unix() ? 0 : listed_.size();
  }
  [[nodiscard]] endpoint local() const override { return local_; }

  /// The process has ended: like close(), but the path of a Unix socket stays.
  void end_process() noexcept { end(true); }
  /// Its machine has stopped: nothing is sent.
  void lose_power() noexcept;
  /// The network is gone.
  void forget() noexcept { core_ = nullptr; }

 private:
  void end(bool keeps_path) noexcept;
  /// Returns the connections that were not accepted, which do not wait here any more.
  [[nodiscard]] std::vector<stream_end*> take_all() noexcept;
  void notify() noexcept;

  network_core* core_;
  network_host* host_;
  scheduler& scheduler_;
  endpoint local_;
  const listen_options options_;
  const std::size_t limit_;
  std::deque<stream_end*> listed_;
  std::vector<stream_end*> expected_;
  work_item* waiting_ = nullptr;
  bool closed_ = false;
};

}  // namespace LEAT::sim
