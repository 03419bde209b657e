#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "leat/base/clock.hpp"
#include "leat/sim/decision_source.hpp"
#include "leat/sim/network/network_options.hpp"
#include "leat/sim/world_part.hpp"

namespace LEAT::sim {

class network_core;
class network_host;
class virtual_scheduler;

/// The network of a simulated world, for `connection`, `listener`, `connect()` and `listen()`.
///
/// A connection behaves as Linux does. It is two streams of bytes, each with a send buffer,
/// segments on the way and a receive buffer:
///
/// - A write accepts what fits into the send buffer. Once that is full, it waits until a third is
///   free. A read returns between one byte and all bytes that have arrived.
/// - A lost segment is sent again after 0.2 s, 0.4 s and so on, up to 120 s. The sender gives up
///   with ETIMEDOUT after 15 attempts, about 15 minutes, and the peer does not learn of it. When a
///   partition heals, bytes arrive at the next attempt, not at that moment.
/// - The end of a stream travels behind its bytes, and is sent again like them. A reset travels
///   once. It destroys what the receiver has not sent yet, but not the bytes that have arrived
///   there: these are read first, then one operation fails with ECONNRESET, and then reads find the
///   end and writes fail with EPIPE.
/// - A close with unread bytes resets the connection.
/// - A connect is retried after 1, 1, 1, 1, 1, 2, 4 seconds and so on, and fails with ETIMEDOUT
///   after 131 s. A full backlog does not answer.
/// - The port of a connection is in use until 60 s after its end, for the side that has closed
///   first. A listener may use it if it and the connection's listener have set reuse_address.
///
/// A host is reached by its name, its address, and the names of add_name(). Connections within a
/// host, to 127.0.0.1 or by a Unix socket, are not subject to faults of the network.
///
/// Not simulated: congestion, Nagle's algorithm, urgent data and options of Linux that are not
/// listed in docs/simulation.md. An option that has no effect here fails with EOPNOTSUPP.
///
/// Thread safety: thread-bound to the thread that runs the world.
class network final : public world_part {
 public:
  /// Creates a network without hosts, which calls `violation` with a message when a program misuses
  /// it or when one of its own laws does not hold.
  network(decision_source& c, const network_options& options,
          std::function<void(std::string)> violation);
  ~network();

  // ---- Paths. Each of these takes the names of hosts.

  /// Drops everything between the hosts `a` and the hosts `b`, until heal().
  void partition(const std::vector<std::string>& a, const std::vector<std::string>& b);
  /// Drops everything from the hosts `from` to the hosts `to`, until heal(). The other direction
  /// works.
  void partition_one_way(const std::vector<std::string>& from, const std::vector<std::string>& to);
  /// Delays everything between the hosts `a` and the hosts `b` until heal(), and then delivers it.
  void hold(const std::vector<std::string>& a, const std::vector<std::string>& b);
  /// Like partition(), but a connect fails with EHOSTUNREACH.
  void reject(const std::vector<std::string>& a, const std::vector<std::string>& b);
  /// Ends all partitions, and those that a fault has begun.
  void heal();
  /// Resets all connections of a host, for both ends, as a device on the path may do.
  void reset_all(const std::string& host);

  // ---- Names.

  /// Sets the hosts of a name, such as "api". An earlier list is replaced.
  void set_name(const std::string& name, const std::vector<std::string>& hosts);

  // ---- What has happened.

  /// Returns the number of segments so far, which planned_network_fault counts.
  [[nodiscard]] std::uint64_t segments() const noexcept;
  /// Returns the number of connects so far.
  [[nodiscard]] std::uint64_t connects() const noexcept;
  /// Returns the number of accepts so far that have found a connection.
  [[nodiscard]] std::uint64_t accepts() const noexcept;
  /// Returns the number of connections that a listener has reset because it was closed before they
  /// were accepted.
  [[nodiscard]] std::uint64_t backlog_resets() const noexcept;
  /// Returns the number of open connections, counting each end that a program holds.
  [[nodiscard]] std::size_t open_ends() const noexcept;
  /// Returns a line for each end of a connection and each listener, like `ss`.
  [[nodiscard]] std::string table() const;

  // ---- For the world.

  /// Adds a host. Errors: std::invalid_argument, if the name is empty, an address or taken.
  network_host& add_host(const std::string& name);
  /// Returns the address of a host.
  [[nodiscard]] static std::string address_of(const network_host& h);
  /// Gives a thread of a host its network.
  void install(virtual_scheduler& thread, network_host& h);
  /// A process is about to start: nothing of an earlier one remains.
  void renew(network_host& h);
  /// A process has ended: closes its connections and listeners.
  void end_process(network_host& h);
  /// A machine stops: its connections are gone, without a segment.
  void stop_power(network_host& h);
  /// Nothing reaches or leaves a host that is off.
  void set_power(network_host& h, bool on);
  /// Reports connections and listeners that a process holds.
  void check_closed(const network_host& h) const;
  /// Executes `f` at a time, in a step of its own, whose line it returns.
  void at(time_point when, std::function<std::string()> f);
  /// Reports operations that wait although they could complete.
  void check_quiet() const;

  [[nodiscard]] std::string_view part_name() const noexcept override { return "network"; }
  void install(virtual_scheduler&) override {}
  void set_time(time_point now, wall_time_point wall) noexcept override;
  [[nodiscard]] time_point next_completion() const noexcept override;
  [[nodiscard]] std::size_t due(time_point now) const noexcept override;
  std::string complete(std::size_t index) override;
  [[nodiscard]] std::string take_fault_text() noexcept override;

 private:
  const std::unique_ptr<network_core> core_;
};

}  // namespace LEAT::sim
