#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "leat/base/clock.hpp"
#include "leat/base/flavour.hpp"

namespace LEAT::sim {

/// A fault of the network.
enum class network_fault : std::uint8_t {
  none,
  loss,           ///< a segment is lost, and sent again after 0.2 s or more
  delay,          ///< a segment takes 30 s longer
  reset,          ///< a device on the path resets the connection of a segment, for both ends
  refused,        ///< a connect fails with ECONNREFUSED
  unreachable,    ///< a connect fails with EHOSTUNREACH
  timed_out,      ///< a connect fails with ETIMEDOUT, after about two minutes
  lost_backlog,   ///< a client is connected, but the server does not know it yet
  no_descriptor,  ///< an accept fails with EMFILE
  no_memory,      ///< an accept fails with ENOBUFS
};

/// The probabilities of faults. One that is 0 makes no decision.
struct network_faults {
  /// Probability that a read or write moves fewer bytes than it could, but at least one.
  double short_transfer = 0;
  /// Probability that what a write has accepted travels as two segments.
  double split = 0;
  /// Probability that a segment, or a step of a connect, is lost. It is sent again after 0.2 s, and
  /// then after twice the time: see the class `network`.
  double loss = 0;
  /// Probability that a segment resets its connection, for both ends.
  double reset = 0;
  /// Probability that a segment takes 30 s longer.
  double delay = 0;
  /// Probability that a connect fails with ECONNREFUSED.
  double refused = 0;
  /// Probability that the server does not know a new connection until its client has written, or
  /// until it has answered again, after 1 s or more.
  double lost_backlog = 0;
  /// Probability that an accept fails with EMFILE.
  double no_descriptor = 0;
  /// Probability, for each segment, that a partition begins: of one host, between two groups, or in
  /// one direction, for 0.3 s to 30 minutes.
  double partition = 0;
  /// Probability that the lookup of a name fails, because no name server answers.
  double no_name_server = 0;
  /// Probability that the lookup of a name takes 5 s.
  double slow_name = 0;
};

/// One fault, at the n-th segment, connect or accept of the world, counted from 1. The kind decides
/// what is counted: `refused`, `unreachable`, `timed_out` and `lost_backlog` are faults of a
/// connect, `no_descriptor` and `no_memory` of an accept, and the others of a segment.
struct planned_network_fault {
  std::uint64_t number = 0;                  ///< counted from 1
  network_fault what = network_fault::none;  ///< the fault
};

/// Options of the network of a world.
struct network_options {
  /// The time of a segment from one host to another. Within a host, it is 10 us.
  time_span latency = std::chrono::milliseconds(1);
  /// Whether each segment may take up to 100 ms longer: one decision for each.
  bool varied_latency = true;
  /// Bytes per second from one host to another; 0: unlimited.
  std::uint64_t bandwidth = 0;
  /// The default size of the buffers of a connection, in bytes. Smaller than on Linux, so that
  /// writers wait sooner.
  std::size_t send_buffer = 65'536;
  std::size_t receive_buffer = 65'536;             ///< as `send_buffer`
  network_faults faults = {};                      ///< probabilities of random faults
  std::optional<planned_network_fault> plan = {};  ///< one fault in addition
  /// Whether the world first decides for each kind of fault whether it is off, or occurs at a tenth
  /// of its probability, at its probability, or at ten times that. A world in which everything
  /// fails hides defects that need one kind of fault often.
  bool swarm = false;
};

}  // namespace LEAT::sim
