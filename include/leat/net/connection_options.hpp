#pragma once

#include <cstddef>
#include <optional>

#include "leat/base/clock.hpp"

namespace LEAT {

/// Probes with which the kernel finds a peer that disappeared without closing the connection.
struct keep_alive {
  time_span idle = std::chrono::minutes(1);       ///< silence before the first probe
  time_span interval = std::chrono::seconds(10);  ///< time between two probes
  int probes = 6;  ///< unanswered probes after which the connection fails with ETIMEDOUT
};

/// Options of a TCP connection. Unix sockets use only the buffer sizes.
struct connection_options {
  /// Disables Nagle's algorithm, which delays small writes and is on by default in the kernel.
  bool no_delay = true;
  /// If not set, a vanished peer is noticed on a write at the earliest, and never by a program that
  /// only reads.
  std::optional<keep_alive> keep_alive_probes = {};
  /// How long sent data may remain unacknowledged before the connection fails with ETIMEDOUT; 0
  /// for the kernel's default, about 15 minutes.
  time_span user_timeout = {};
  std::size_t send_buffer = 0;     ///< size of the kernel's buffer in bytes; 0: its default
  std::size_t receive_buffer = 0;  ///< size of the kernel's buffer in bytes; 0: its default
};

/// Options of listen().
struct listen_options {
  /// The number of established connections that may wait for accept(), of which net.core.somaxconn
  /// is the limit. Further clients wait and retry.
  int backlog = 4096;
  /// Listens even if connections of an earlier process still occupy the port.
  bool reuse_address = true;
  /// Shares the port with other listeners that set it, even of other processes of the same user.
  /// The kernel distributes the connections.
  bool reuse_port = false;
  /// Replaces the file of a Unix socket if no process listens there any more.
  bool replace_stale_path = true;
  connection_options accepted = {};  ///< options of accepted connections
};

}  // namespace LEAT
