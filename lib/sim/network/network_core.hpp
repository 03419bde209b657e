#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "leat/base/clock.hpp"
#include "leat/net/endpoint.hpp"
#include "leat/sim/decision_source.hpp"
#include "leat/sim/network/network_options.hpp"
#include "sim/network/agenda.hpp"

namespace LEAT::sim {

class simulated_acceptor;
class network_core;
class simulated_backend;
class stream_end;
class virtual_scheduler;

/// The kernel of a host, as far as it concerns the network.
class network_host {
 public:
  network_host(network_core& c, std::string name, std::string address);
  network_host(const network_host&) = delete;
  network_host& operator=(const network_host&) = delete;
  ~network_host();

  [[nodiscard]] const std::string& name() const noexcept { return name_; }
  [[nodiscard]] const std::string& address() const noexcept { return address_; }
  [[nodiscard]] bool is_up() const noexcept { return up_; }
  void set_up(bool up) noexcept { up_ = up; }

  /// Returns the address of a connection to `to`, with a free port. Errors: EADDRNOTAVAIL.
  [[nodiscard]] endpoint take_local(const endpoint& to);
  /// Returns true if `address` is one of this host: also 127.0.0.1 and `*`.
  [[nodiscard]] bool has_address(const endpoint& address) const noexcept;

  /// Returns where a connection to this endpoint goes, or null.
  [[nodiscard]] simulated_acceptor* find_listener(const endpoint& to);
  [[nodiscard]] bool has_path(const std::string& path) const { return paths_.contains(path); }
  [[nodiscard]] std::vector<simulated_acceptor*> listeners() const;
  void add(simulated_acceptor& b);
  void remove(simulated_acceptor& b, bool keeps_path) noexcept;
  /// Removes a path without a listener. Returns false if it has one, or does not exist.
  bool remove_stale_path(const std::string& path);
  /// Checks that a listener may use this port. Errors: EADDRINUSE.
  void check_port(const endpoint& at, bool reuse_address, bool reuse_port) const;
  [[nodiscard]] std::uint16_t free_port();
  void forget_ports() noexcept { waiting_.clear(); }

  /// A connection has this port. `reuses`: with SO_REUSEADDR, as those of such a listener.
  void port_used(const endpoint& local, bool reuses);
  /// The port of a connection is free again, after TIME_WAIT if `waits`.
  void port_released(const endpoint& local, bool reuses, bool waits);

  std::vector<std::pair<virtual_scheduler*, std::unique_ptr<simulated_backend>>>
      backends;  // of its threads

 private:
  struct port_use {
    std::size_t connections = 0;
    std::size_t exclusive = 0;  // of these, without SO_REUSEADDR
  };
  struct waiting_port {  // in TIME_WAIT
    time_point until;
    bool reuses;
  };

  network_core& core_;
  const std::string name_;
  const std::string address_;
  bool up_ = true;
  std::multimap<std::uint16_t, simulated_acceptor*> listening_;
  std::map<std::string, simulated_acceptor*> paths_;  // of Unix sockets; null: no listener
  std::map<std::uint16_t, port_use> used_;
  std::multimap<std::uint16_t, waiting_port> waiting_;
  std::size_t clean_at_ = 64;  // the size of waiting_ at which old entries are removed
  std::uint16_t next_port_ = 0;
};

/// The state that the parts of a simulated network share.
class network_core {
 public:
  network_core(decision_source& c, const network_options& o,
               std::function<void(std::string)> violation);
  network_core(const network_core&) = delete;
  network_core& operator=(const network_core&) = delete;
  ~network_core();

  // ---- Time and decisions.

  time_point now{};
  void set_time(time_point t) noexcept;
  /// Counts a transfer of a Unix socket. Returns true if it must take time, because a program that
  /// transfers in a loop would otherwise stop the time.
  [[nodiscard]] bool takes_time() noexcept;
  agenda events;
  decision_source& decisions;
  network_options options;

  [[nodiscard]] bool chance(double probability, const char* about) {
    return decisions.chance(probability, about);
  }
  /// Returns the fault of the next segment, connect or accept.
  [[nodiscard]] network_fault fault_of_segment(bool within_host);
  [[nodiscard]] network_fault fault_of_handshake() {
    return chance(options.faults.loss, "segment lost?") ? network_fault::loss : network_fault::none;
  }
  [[nodiscard]] network_fault fault_of_connect();
  [[nodiscard]] network_fault fault_of_accept();
  std::uint64_t segments = 0;
  std::uint64_t connects = 0;
  std::uint64_t accepts = 0;
  std::uint64_t backlog_resets = 0;

  /// Adds to the line of the step, for what happens within a step of the program.
  void note(const std::string& text) { notes_ += ", network: " + text; }
  [[nodiscard]] std::string take_notes() noexcept { return std::exchange(notes_, {}); }
  void report(const std::string& violation) const { violation_(violation); }

  // ---- Paths.

  /// The state of the path from one host to another.
  enum class path_state : unsigned char { up, dropping, holding, rejecting };
  [[nodiscard]] path_state path(const network_host& from, const network_host& to) const noexcept;
  [[nodiscard]] bool is_up(const network_host& from, const network_host& to) const noexcept;
  /// The time from one host to another, without decisions.
  [[nodiscard]] duration base_latency(const network_host& from, const network_host& to) const;
  /// Returns when something that leaves now arrives: no_deadline if it is lost.
  [[nodiscard]] time_point travel(const network_host& from, const network_host& to,
                                  std::size_t bytes, network_fault fault);
  void set_paths(const std::vector<std::string>& from, const std::vector<std::string>& to,
                 path_state s);
  void heal();
  /// A fault may begin a partition.
  void begin_partition();
  /// Nothing reaches or leaves a host that is off.
  void set_power(network_host& h, bool on);

  // ---- Hosts and names.

  network_host& add_host(const std::string& name);
  /// Errors: std::invalid_argument.
  [[nodiscard]] network_host& host_named(const std::string& name) const;
  [[nodiscard]] network_host* find_host(const network_host& from, const endpoint& to) const;
  /// Returns the addresses of a name; none if it is unknown.
  [[nodiscard]] std::vector<std::string> addresses_of(const network_host& from,
                                                      const std::string& name) const;
  void set_name(const std::string& name, const std::vector<std::string>& hosts);
  /// Returns an endpoint with the name of the host in place of its address.
  [[nodiscard]] std::string text_of(const network_host& of, const endpoint& e) const;
  [[nodiscard]] const auto& hosts() const noexcept { return hosts_; }

  // ---- Connections.

  [[nodiscard]] stream_end& add_end(std::unique_ptr<stream_end> e);
  /// Destroys an end before the next step.
  void bury(stream_end& e) noexcept;
  void empty_graveyard() noexcept;
  [[nodiscard]] const auto& ends() const noexcept { return ends_; }
  [[nodiscard]] std::vector<stream_end*> ends_of(const network_host& h) const;
  [[nodiscard]] std::uint64_t next_number() noexcept { return ++connections_; }
  /// Sends a reset to `to` from the host `from`; it may be lost.
  void send_reset(const network_host& from, stream_end& to);
  /// Executes `f` at a time.
  void at(time_point t, std::function<std::string()> f);

 private:
  class deferred;

  [[nodiscard]] bool is_planned(std::uint64_t number, network_fault f) const noexcept {
    return options.plan && options.plan->number == number && options.plan->what == f;
  }
  void choose_rates();
  void paths_changed(bool healed);

  const std::function<void(std::string)> violation_;
  std::string notes_;
  unsigned transfers_ = 0;  // since time has moved
  std::vector<std::unique_ptr<network_host>> hosts_;
  std::map<std::string, std::vector<std::string>> names_;
  std::map<std::pair<const network_host*, const network_host*>, path_state> paths_;
  std::map<std::pair<const network_host*, const network_host*>, time_point> busy_until_;
  std::set<std::pair<const network_host*, const network_host*>> cuts_;  // by a fault
  std::uint64_t partitions_ = 0;                                        // by faults, ever
  std::map<std::uint64_t, std::unique_ptr<stream_end>> ends_;  // in the order of their creation
  std::vector<std::unique_ptr<stream_end>> graveyard_;
  std::uint64_t connections_ = 0;
  std::uint64_t serial_ = 0;
  std::unordered_map<deferred*, std::unique_ptr<deferred>> deferred_;
};

}  // namespace LEAT::sim
