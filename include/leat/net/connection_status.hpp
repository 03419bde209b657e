#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "leat/base/clock.hpp"

namespace LEAT {

/// What the kernel, or the simulated network, knows of a connection: see connection::status().
struct connection_status {
  /// The state of TCP in lower-case words, such as "established" or "close wait"; "closed" after
  /// close(). A Unix socket is "established" until then.
  std::string_view state = "closed";
  std::size_t unread = 0;  ///< bytes that have arrived and were not read
  std::size_t unsent = 0;  ///< bytes that were written and not acknowledged by the peer
  duration round_trip{};   ///< smoothed; 0 if unknown
  /// Segments that were sent again, ever.
  std::uint64_t retransmissions = 0;
  /// The time since the last data of the peer have arrived; 0 if unknown.
  duration last_received{};
};

}  // namespace LEAT
