#include <algorithm>
#include <cerrno>
#include <string>
#include <utility>

#include "leat/base/asio.hpp"
#include "leat/base/error.hpp"
#include "sim/network/network_core.hpp"
#include "sim/network/simulated_acceptor.hpp"
#include "sim/network/simulated_backend.hpp"
#include "sim/network/times.hpp"

#include LEAT_ASIO(error.hpp)

namespace LEAT::sim {
namespace {

constexpr std::uint16_t first_port = 32'768;  // net.ipv4.ip_local_port_range
constexpr std::uint16_t last_port = 60'999;

bool is_loopback(std::string_view address) noexcept {
  return address.starts_with("127.") || address == "::1";
}
bool is_any(const endpoint& e) noexcept {
  return e.is_any() || e.host() == "0.0.0.0" || e.host() == "::";
}

}  // namespace

network_host::network_host(network_core& c, std::string name, std::string address)
    : core_(c), name_(std::move(name)), address_(std::move(address)) {}

network_host::~network_host() {
  for (const auto& [port, listener] : listening_) listener->forget();
  for (const auto& [path, listener] : paths_) {
    if (listener) listener->forget();
  }
}

bool network_host::has_address(const endpoint& e) const noexcept {
  return is_any(e) || is_loopback(e.host()) || e.host() == address_;
}

std::uint16_t network_host::free_port() {
  constexpr std::size_t ports = last_port - first_port + 1;
  if (next_port_ == 0) {
    next_port_ =
        static_cast<std::uint16_t>(first_port + core_.decisions.choose(ports, "first port"));
  }
  const auto is_waiting = [&](std::uint16_t port) {
    const auto [first, last] = waiting_.equal_range(port);
    return std::any_of(first, last, [&](const auto& w) { return w.second.until > core_.now; });
  };
  for (std::size_t i = 0; i < ports; ++i) {
    const std::uint16_t port = next_port_;
    next_port_ = port == last_port ? first_port : static_cast<std::uint16_t>(port + 1);
    if (!used_.contains(port) && !is_waiting(port) && !listening_.contains(port)) return port;
  }
  return 0;
}

endpoint network_host::take_local(const endpoint& to) {
  const std::uint16_t port = free_port();
  if (port == 0) {
    throw failure(asio_error_code(EADDRNOTAVAIL, asio::error::get_system_category()),
                  "connect to " + to.text() + ": no port is free");
  }
  return {is_loopback(to.host()) ? to.host() : std::string_view(address_), port};
}

void network_host::check_port(const endpoint& at, bool reuse_address, bool reuse_port) const {
  const auto in_use = [&] {
    throw failure(asio::error::make_error_code(asio::error::address_in_use),
                  "listen at " + at.text());
  };
  const auto [begin, end] = listening_.equal_range(at.port());
  for (auto i = begin; i != end; ++i) {
    const endpoint& other = i->second->address();
    const bool overlaps = is_any(at) || is_any(other) || at.host() == other.host();
    if (overlaps && !(reuse_port && i->second->options().reuse_port)) in_use();
  }
  // Of a connection, both must have set SO_REUSEADDR.
  const auto used = used_.find(at.port());
  if (used != used_.end() && (!reuse_address || used->second.exclusive > 0)) in_use();
  const auto [first, last] = waiting_.equal_range(at.port());
  const auto conflicts = [&](const auto& w) {
    return w.second.until > core_.now && !(reuse_address && w.second.reuses);
  };
  if (std::any_of(first, last, conflicts)) in_use();
}

simulated_acceptor* network_host::find_listener(const endpoint& to) {
  if (to.is_unix()) {
    const auto found = paths_.find(std::string(to.path()));
    return found == paths_.end() ? nullptr : found->second;
  }
  std::vector<simulated_acceptor*> all;  // of this address, or else of any
  const auto [begin, end] = listening_.equal_range(to.port());
  for (const bool of_any : {false, true}) {
    if (!all.empty()) break;
    for (auto i = begin; i != end; ++i) {
      const endpoint& at = i->second->address();
      if (of_any ? is_any(at) : at.host() == to.host()) all.push_back(i->second);
    }
  }
  if (all.empty()) return nullptr;
  return all[core_.decisions.choose(all.size(), "which listener of the port")];
}

std::vector<simulated_acceptor*> network_host::listeners() const {
  std::vector<simulated_acceptor*> all;
  for (const auto& [port, a] : listening_) all.push_back(a);
  for (const auto& [path, a] : paths_) {
    if (a) all.push_back(a);
  }
  return all;
}

void network_host::add(simulated_acceptor& a) {
  if (a.address().is_unix()) {
    paths_[std::string(a.address().path())] = &a;
  } else {
    listening_.emplace(a.address().port(), &a);
  }
}

void network_host::remove(simulated_acceptor& a, bool keeps_path) noexcept {
  if (!a.address().is_unix()) {
    std::erase_if(listening_, [&](const auto& l) { return l.second == &a; });
    return;
  }
  const auto found = paths_.find(std::string(a.address().path()));
  if (found == paths_.end() || found->second != &a) return;
  if (keeps_path && !a.address().path().starts_with('@')) {
    found->second = nullptr;
  } else {
    paths_.erase(found);
  }
}

bool network_host::remove_stale_path(const std::string& path) {
  const auto found = paths_.find(path);
  if (found == paths_.end() || found->second) return false;
  paths_.erase(found);
  return true;
}

void network_host::port_used(const endpoint& local, bool reuses) {
  port_use& use = used_[local.port()];
  ++use.connections;
  if (!reuses) ++use.exclusive;
}

void network_host::port_released(const endpoint& local, bool reuses, bool waits) {
  if (const auto used = used_.find(local.port()); used != used_.end()) {
    if (!reuses) --used->second.exclusive;
    if (--used->second.connections == 0) used_.erase(used);
  }
  if (!waits) return;
  waiting_.emplace(local.port(), waiting_port{core_.now + time_wait, reuses});
  if (waiting_.size() < clean_at_) return;
  std::erase_if(waiting_, [&](const auto& w) { return w.second.until <= core_.now; });
  clean_at_ = 2 * waiting_.size() + 64;
}

}  // namespace LEAT::sim
