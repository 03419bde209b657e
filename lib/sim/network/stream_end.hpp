#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <string>
#include <string_view>

#include "leat/async/scheduler/scheduler.hpp"
#include "leat/net/connection_options.hpp"
#include "leat/net/connection_status.hpp"
#include "leat/net/endpoint.hpp"
#include "leat/net/network_backend.hpp"
#include "sim/network/agenda.hpp"
#include "sim/network/network_core.hpp"

namespace LEAT::sim {

class simulated_acceptor;
class simulated_stream;

/// The kernel's side of one end of a connection. It exists until the program has closed it and its
/// last bytes have arrived, or are given up.
///
/// Bytes that the program writes go through `unsent_`, segments on the way (`flights_`) and the
/// `received_` of the peer. A segment that has arrived stays in `flights_`, without its bytes,
/// until its acknowledgement has come back, because it occupies the send buffer until then. Nothing
/// happens for an acknowledgement unless an operation waits for it.
class stream_end final : public agenda::event {
 public:
  stream_end(network_core& c, network_host& here, network_host& there, endpoint local,
             endpoint peer, std::uint64_t number, bool reuses_port);
  ~stream_end() override;

  /// Connects two ends.
  static void join(stream_end& a, stream_end& b) noexcept;

  [[nodiscard]] network_host& host() const noexcept { return here_; }
  [[nodiscard]] network_host& peer_host() const noexcept { return there_; }
  [[nodiscard]] const endpoint& local() const noexcept { return local_; }
  [[nodiscard]] const endpoint& peer() const noexcept { return peer_address_; }
  /// Returns a text such as "connection 3 (client:32768 -> server:80)".
  [[nodiscard]] std::string text() const;
  [[nodiscard]] std::string table_line() const;
  [[nodiscard]] std::uint64_t serial() const noexcept { return serial_; }
  void set_serial(std::uint64_t n) noexcept { serial_ = n; }

  // ---- The program.

  void set_program(simulated_stream* s) noexcept { program_ = s; }
  [[nodiscard]] bool is_held() const noexcept { return program_ != nullptr; }
  [[nodiscard]] bool has_peer() const noexcept { return peer_ != nullptr; }
  [[nodiscard]] bool is_connected_to(const network_host& h) const noexcept { return &there_ == &h; }
  void start(network_transfer& t) noexcept;
  [[nodiscard]] bool try_transfer(network_transfer& t) noexcept;
  void cancel(network_transfer& t) noexcept;
  void cancel_all() noexcept;
  [[nodiscard]] asio_error_code shutdown_send() noexcept;
  /// The program has closed it. It may destroy this object.
  void close(bool resets) noexcept;
  /// The process has ended without closing it.
  void abandon() noexcept;
  /// The machine has stopped: nothing is sent.
  void lose_power() noexcept;
  [[nodiscard]] connection_status status() const noexcept;
  [[nodiscard]] asio_error_code set_option(int level, int name, const void* value,
                                           std::size_t size) noexcept;
  [[nodiscard]] asio_error_code get_option(int level, int name, void* value,
                                           std::size_t& size) const noexcept;
  void apply(const connection_options& o) noexcept;

  // ---- The network.

  /// What is sent arrives at this time or later: the peer does not know the connection before.
  void arrives_from(time_point t) noexcept { last_arrival_ = t; }
  void fail(const asio_error_code& ec) noexcept;
  /// The state of a path or of a host has changed.
  void path_changed(bool healed);
  std::string happen() override;
  /// It is about to be destroyed: nothing happens to it any more.
  void set_buried() noexcept;
  /// Returns what an operation waits for although it is there, or an empty string.
  [[nodiscard]] std::string find_stuck_operation() const;

  /// Where it waits to be accepted, and whether the kernel has it in its list there.
  simulated_acceptor* waits_in = nullptr;
  bool is_listed = false;

 private:
  struct segment {
    std::string bytes;
    std::size_t size = 0;  // of the bytes, which leave when they arrive
    bool is_end = false;
    bool is_reset = false;
    bool is_resetting = false;  // a fault: it resets both ends
    bool is_held = false;       // lost only until the path is up again
    bool has_arrived = false;
    time_point arrives = no_deadline;       // no_deadline: it is lost
    time_point acknowledged = no_deadline;  // no_deadline: it is not, or the answer is lost

    /// It was lost, or its acknowledgement was.
    [[nodiscard]] bool is_missing() const noexcept {
      return (has_arrived ? acknowledged : arrives) == no_deadline;
    }
  };
  using kind = network_transfer::kind;

  [[nodiscard]] bool is_unix() const noexcept {
    return local_.is_unix() || peer_address_.is_unix();
  }
  [[nodiscard]] time_point now() const noexcept { return core_.now; }
  [[nodiscard]] network_transfer*& slot_of(kind k) noexcept { return pending_[std::size_t(k)]; }
  void finish(network_transfer*& t, const asio_error_code& ec, std::size_t bytes) noexcept;
  [[nodiscard]] bool read_into(network_transfer& t);
  [[nodiscard]] bool write_from(network_transfer& t);
  void tell_window();
  void serve_reads();
  void serve_writes();
  /// The free bytes at which a writer that waits continues.
  [[nodiscard]] std::size_t least_to_continue() const noexcept;
  [[nodiscard]] bool is_readable() const noexcept;
  [[nodiscard]] bool is_writable() const noexcept;

  [[nodiscard]] std::size_t unacknowledged() const noexcept;
  [[nodiscard]] std::size_t free_space() const noexcept;
  [[nodiscard]] std::size_t window() const noexcept;
  void send(duration delay);
  void send_segment(segment s, duration delay);
  void transmit(segment& s, duration delay);
  void collect_acknowledgements();
  void acknowledge(segment& s, duration delay);
  std::string deliver(segment& s);
  std::string retry();
  std::string give_up();
  void receive(segment& s);
  void close_unix(bool has_unread) noexcept;
  std::string reset_peer();
  [[nodiscard]] bool has_path() const noexcept;
  /// The kernel of the peer does not know the connection any more.
  [[nodiscard]] bool is_alone() const noexcept { return !peer_ || peer_->dead_; }
  /// The next segment to arrive, or the end of `flights_`.
  [[nodiscard]] std::deque<segment>::iterator next_to_arrive() noexcept;
  void plan();
  void plan_retry();
  [[nodiscard]] time_point next_acknowledgement() const noexcept;
  void end_if_complete();
  [[nodiscard]] bool is_sent() const noexcept;
  [[nodiscard]] bool is_over() const noexcept;

  network_core& core_;
  network_host& here_;
  network_host& there_;
  const endpoint local_;
  const endpoint peer_address_;
  const std::uint64_t number_;
  const bool reuses_port_;  // SO_REUSEADDR
  std::uint64_t serial_ = 0;
  stream_end* peer_ = nullptr;  // null: no kernel knows it any more
  simulated_stream* program_ = nullptr;

  network_transfer* pending_[4] = {};  // of each kind
  bool write_waits_ = false;           // until a third of the send buffer is free

  std::string unsent_;
  std::deque<segment> flights_;
  std::string received_;
  std::string expected_;  // what the peer has written and this end has not read: for a law
  std::size_t read_ = 0;  // of `received_`
  std::size_t send_buffer_;
  std::size_t receive_buffer_;
  std::uint64_t bytes_read_ = 0;

  bool end_requested_ = false;  // by shutdown_send() or close()
  bool end_sent_ = false;
  bool end_received_ = false;
  bool sent_end_first_ = false;
  bool closed_ = false;  // by the program
  bool dead_ = false;    // after a reset or a timeout
  bool buried_ = false;
  asio_error_code error_;

  time_point last_arrival_{};
  time_point last_received_{};
  time_point unacknowledged_since_{};
  time_point retry_at_ = no_deadline;
  duration retry_interval_;
  int retries_ = 0;
  std::uint64_t retransmissions_ = 0;
  time_point forgotten_at_ = no_deadline;
  time_point silent_until_ = no_deadline;  // then the probes have found that the peer is gone
  bool no_delay_ = true;
  bool keeps_alive_ = false;
  keep_alive probes_{std::chrono::hours(2), std::chrono::seconds(75), 9};
  duration user_timeout_{};
  bool resets_on_close_ = false;  // SO_LINGER with 0
};

}  // namespace LEAT::sim
