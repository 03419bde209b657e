#pragma once

#include <chrono>
#include <cstddef>

#include "leat/base/clock.hpp"

// Constants of Linux that programs can observe: see tcp(7) and Documentation/networking/ip-sysctl.

namespace LEAT::sim {

inline constexpr std::size_t largest_segment =
    65'483;  // of a write, as segmentation offload sends it
inline constexpr std::size_t packet_size = 1'460;
/// A writer that waits continues when this part of its buffer is free.
inline constexpr std::size_t writable_share = 3;

/// From one socket to another one of the same host.
inline constexpr duration loopback_latency = std::chrono::microseconds(10);
/// Transfers of Unix sockets take no time themselves, but this many take `loopback_latency`.
inline constexpr unsigned most_transfers_at_once = 32;
/// net.core.wmem_max and the smallest buffer of the kernel, in bytes.
inline constexpr std::size_t largest_buffer = std::size_t{4} << 20U;
inline constexpr std::size_t smallest_buffer = 2'304;

inline constexpr duration first_retry = std::chrono::milliseconds(200);
inline constexpr duration longest_retry = std::chrono::seconds(120);
inline constexpr int most_retries = 15;        // tcp_retries2
inline constexpr int most_orphan_retries = 8;  // tcp_orphan_retries, of a closed connection
inline constexpr duration end_timeout = std::chrono::seconds(60);  // tcp_fin_timeout
inline constexpr duration time_wait = std::chrono::seconds(60);
inline constexpr int most_answers = 5;  // tcp_synack_retries: a server forgets a client after 63 s
inline constexpr int linear_connect_retries = 4;  // tcp_syn_linear_timeouts
inline constexpr int most_connect_retries = 10;   // and tcp_syn_retries

}  // namespace LEAT::sim
