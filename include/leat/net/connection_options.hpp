#pragma once

#include <cstddef>
#include <optional>

#include "leat/base/clock.hpp"

namespace LEAT {

/// Probes with which the kernel finds a peer that has vanished without a word.
struct keep_alive {
  time_span idle = std::chrono::minutes(1);       ///< silence before the first probe
  time_span interval = std::chrono::seconds(10);  ///< between two probes
  int probes = 6;                                 ///< without an answer, until the connection fails
};

/// Options of a TCP connection. Connections of Unix sockets use only the sizes of the buffers.
struct connection_options {
  /// Sends small writes at once, unlike a new socket of the kernel, which collects them (Nagle).
  bool no_delay = true;
  /// Empty: a peer that vanished is noticed only when something is written, or never.
  std::optional<keep_alive> keep_alive_probes = {};
  /// The time for which sent bytes may stay without an acknowledgement, until the connection fails
  /// with ETIMEDOUT. 0: that of the kernel, about 15 minutes.
  time_span user_timeout = {};
  std::size_t send_buffer = 0;     ///< bytes that the kernel stores; 0: its default
  std::size_t receive_buffer = 0;  ///< bytes that the kernel stores; 0: its default
};

/// Options of listen().
struct listen_options {
  /// The number of connections that the kernel completes before accept() takes them. A client above
  /// it waits and tries again. The kernel's own limit is net.core.somaxconn.
  int backlog = 4096;
  /// Listens although connections of an earlier process still occupy the port.
  bool reuse_address = true;
  /// Several listeners, also of other processes of the same user, share the port. The kernel
  /// distributes the connections.
  bool reuse_port = false;
  /// Removes the file of a Unix socket if no process listens there any more.
  bool replace_stale_path = true;
  connection_options accepted = {};  ///< of the connections that are accepted
};

}  // namespace LEAT
