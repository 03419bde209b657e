#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "leat/async/scheduler/scheduler.hpp"
#include "leat/async/task.hpp"
#include "leat/base/asio.hpp"
#include "leat/net/connection.hpp"
#include "leat/net/network_backend.hpp"
#include "leat/sync/event.hpp"
#include "tls/tls_engine.hpp"

#include LEAT_ASIO(cancellation_signal.hpp)

namespace LEAT::detail {

/// A TLS connection: moves bytes between the transfers of the program, a tls_engine and the
/// connection below.
///
/// Below, at most one read, one write and one wait are in progress, whose handlers keep this object
/// alive. A limit ends the read below, which then has no effect, or has given its bytes to the
/// engine. It does not end a write below: a record that was sent in part must be completed.
class tls_core final : public std::enable_shared_from_this<tls_core> {
 public:
  tls_core(connection below, std::unique_ptr<tls_engine> engine);
  tls_core(const tls_core&) = delete;
  tls_core& operator=(const tls_core&) = delete;

  void start(network_transfer& t) noexcept;
  [[nodiscard]] bool try_transfer(network_transfer& t) noexcept;
  void cancel(network_transfer& t) noexcept;
  void cancel_all() noexcept;
  asio_error_code shutdown_send() noexcept;
  void close(bool resets) noexcept;
  void attach(scheduler& on);

  [[nodiscard]] bool is_open() const noexcept { return !closed_ && below_.is_open(); }
  [[nodiscard]] connection_status status() const noexcept;
  [[nodiscard]] const tls_engine& engine() const noexcept { return *engine_; }
  [[nodiscard]] connection& below() noexcept { return below_; }
  [[nodiscard]] const connection& below() const noexcept { return below_; }

 private:
  using kind = network_transfer::kind;
  using outcome = tls_engine::outcome;
  /// The operations below.
  enum class step : std::uint8_t { read, write, wait };
  class handler;

  [[nodiscard]] network_transfer*& slot_of(kind k) noexcept { return pending_[std::size_t(k)]; }
  [[nodiscard]] bool& is_cancelled(kind k) noexcept { return cancelled_[std::size_t(k)]; }
  [[nodiscard]] bool& is_running(step s) noexcept { return running_[std::size_t(s)]; }
  void post(network_transfer& t, const asio_error_code& ec, std::size_t bytes) noexcept;
  void finish(kind k, const asio_error_code& ec, std::size_t bytes) noexcept;
  void finish_if_cancelled(kind k) noexcept;

  [[nodiscard]] bool read_into(network_transfer& t) noexcept;
  [[nodiscard]] bool is_readable() noexcept;
  [[nodiscard]] bool write_from(network_transfer& t) noexcept;
  void serve() noexcept;
  void serve_reads() noexcept;
  void serve_writes() noexcept;
  [[nodiscard]] bool encrypt_next() noexcept;
  void begin(step s) noexcept;
  void ended(step s, const asio_error_code& ec, std::size_t bytes) noexcept;
  void write_has_failed(const asio_error_code& ec) noexcept;
  void abandon(step s) noexcept;

  [[nodiscard]] bool take_arrived() noexcept;
  void send_at_once() noexcept;
  void send_rest() noexcept;
  static task<> close_later(std::shared_ptr<tls_core> self);

  connection below_;
  std::unique_ptr<tls_engine> engine_;
  std::array<network_transfer*, 4> pending_{};  // of each kind
  std::array<bool, 4> cancelled_{};             // while a read below ends
  std::array<bool, 3> running_{};               // each step
  bool beginning_ = false;                      // a step
  asio::cancellation_signal read_signal_;
  asio::cancellation_signal wait_signal_;
  asio_error_code read_error_;   // of the connection below, for the next read
  asio_error_code write_error_;  // the next write fails with it
  std::string sending_;          // by the write below
  std::size_t encrypted_ = 0;    // bytes of the pending write, of which the record is being sent
  bool end_requested_ = false;   // by shutdown_send()
  bool end_encrypted_ = false;   // a close_notify
  bool end_sent_ = false;
  bool closed_ = false;
  event sent_;  // after close()
};

}  // namespace LEAT::detail
