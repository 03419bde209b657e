#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "leat/base/clock.hpp"

namespace LEAT {

/// The state of a connection, as the kernel reports it: see connection::status().
struct connection_status {
  /// The state of TCP, as `ss` prints it: "established", "close-wait" after the end of the peer,
  /// "fin-wait-1" or "fin-wait-2" after shutdown_send(), "last-ack", "closing", "time-wait",
  /// "syn-sent", and "closed" after a reset or close(). A Unix socket is "established" until
  /// close().
  std::string_view state = "closed";
  std::size_t unread = 0;  ///< bytes that have arrived, but were not read yet
  std::size_t unsent = 0;  ///< bytes that were written, but not acknowledged by the peer yet
  duration round_trip{};   ///< smoothed; 0 if unknown
  std::uint64_t retransmissions = 0;  ///< total number of retransmitted segments
  duration last_received{};           ///< time since data last arrived; 0 if unknown
  std::string_view protocol;          ///< of TLS, such as "TLSv1.3"; empty without TLS
  std::string_view cipher;            ///< of TLS, such as "TLS_AES_256_GCM_SHA384"
};

}  // namespace LEAT
