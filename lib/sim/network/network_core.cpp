#include "sim/network/network_core.hpp"

#include <algorithm>
#include <chrono>
#include <iterator>
#include <stdexcept>

#include "leat/base/asio.hpp"
#include "sim/network/simulated_acceptor.hpp"
#include "sim/network/simulated_backend.hpp"
#include "sim/network/stream_end.hpp"
#include "sim/network/times.hpp"

#include LEAT_ASIO(error.hpp)

namespace LEAT::sim {

using namespace std::chrono_literals;

// Something that happens once and belongs to the network itself.
class network_core::deferred final : public agenda::event {
 public:
  deferred(network_core& c, std::function<std::string()> f)
      : event(c.events), core_(c), f_(std::move(f)) {}

 private:
  std::string happen() override {
    const auto self = core_.deferred_.extract(this);  // until the return
    return f_();
  }

  network_core& core_;
  const std::function<std::string()> f_;
};

network_core::network_core(decision_source& c, const network_options& o,
                           std::function<void(std::string)> violation)
    : decisions(c), options(o), violation_(std::move(violation)) {
  if (options.swarm) choose_rates();
}

network_core::~network_core() = default;

void network_core::set_time(time_point t) noexcept {
  if (t == now) return;
  now = t;
  transfers_ = 0;
}

bool network_core::takes_time() noexcept { return ++transfers_ > most_transfers_at_once; }

void network_core::at(time_point t, std::function<std::string()> f) {
  auto event = std::make_unique<deferred>(*this, std::move(f));
  event->set(t);
  deferred* const key = event.get();
  deferred_.emplace(key, std::move(event));
}

// ----------------------------------------------------------------------------------------- faults

void network_core::choose_rates() {
  network_faults& f = options.faults;
  for (double* const rate :
       {&f.short_transfer, &f.split, &f.loss, &f.reset, &f.delay, &f.refused, &f.lost_backlog,
        &f.no_descriptor, &f.partition, &f.no_name_server, &f.slow_name}) {
    if (*rate <= 0) continue;
    constexpr double factors[] = {0, 0.1, 1, 10};
    *rate = std::min(1.0, *rate * factors[decisions.choose(std::size(factors), "rate of a fault")]);
  }
}

network_fault network_core::fault_of_segment(bool within_host) {
  ++segments;
  if (within_host) return network_fault::none;
  for (const network_fault f : {network_fault::loss, network_fault::delay, network_fault::reset}) {
    if (is_planned(segments, f)) return f;
  }
  const network_faults& f = options.faults;
  if (chance(f.loss, "segment lost?")) return network_fault::loss;
  if (chance(f.reset, "connection reset?")) return network_fault::reset;
  if (chance(f.delay, "segment delayed?")) return network_fault::delay;
  return network_fault::none;
}

network_fault network_core::fault_of_connect() {
  ++connects;
  for (const network_fault f : {network_fault::refused, network_fault::unreachable,
                                network_fault::timed_out, network_fault::lost_backlog}) {
    if (is_planned(connects, f)) return f;
  }
  if (chance(options.faults.refused, "connect refused?")) return network_fault::refused;
  if (chance(options.faults.lost_backlog, "does the server not know it?")) {
    return network_fault::lost_backlog;
  }
  return network_fault::none;
}

network_fault network_core::fault_of_accept() {
  ++accepts;
  for (const network_fault f : {network_fault::no_descriptor, network_fault::no_memory}) {
    if (is_planned(accepts, f)) return f;
  }
  return chance(options.faults.no_descriptor, "out of descriptors?") ? network_fault::no_descriptor
                                                                     : network_fault::none;
}

// ------------------------------------------------------------------------------------------ paths

network_core::path_state network_core::path(const network_host& from,
                                            const network_host& to) const noexcept {
  if (&from == &to) return path_state::up;
  if (cuts_.contains({&from, &to})) return path_state::dropping;
  const auto found = paths_.find({&from, &to});
  return found == paths_.end() ? path_state::up : found->second;
}

bool network_core::is_up(const network_host& from, const network_host& to) const noexcept {
  return from.is_up() && to.is_up() && path(from, to) == path_state::up;
}

duration network_core::base_latency(const network_host& from, const network_host& to) const {
  return &from == &to ? loopback_latency : duration(options.latency);
}

time_point network_core::travel(const network_host& from, const network_host& to, std::size_t bytes,
                                network_fault fault) {
  if (!from.is_up()) return no_deadline;
  if (&from == &to) return now + loopback_latency;
  if (options.faults.partition > 0 && cuts_.empty() && hosts_.size() > 1 &&
      chance(options.faults.partition, "partition?")) {
    begin_partition();
  }
  if (path(from, to) != path_state::up || fault == network_fault::loss) return no_deadline;
  time_point begin = now;
  if (options.bandwidth > 0) {
    time_point& busy = busy_until_[{&from, &to}];
    begin = std::max(begin, busy);
    busy = begin + std::chrono::duration_cast<duration>(std::chrono::duration<double>(
                       static_cast<double>(bytes) / static_cast<double>(options.bandwidth)));
    begin = busy;
  }
  begin += options.latency;
  if (options.varied_latency) {
    constexpr duration times[] = {0us, 100us, 1ms, 10ms, 100ms};
    begin += times[decisions.choose(std::size(times), "network latency")];
  }
  return fault == network_fault::delay ? begin + 30s : begin;
}

void network_core::paths_changed(bool healed) {
  std::vector<stream_end*> all;  // some of which may be buried meanwhile
  for (const auto& [serial, e] : ends_) all.push_back(e.get());
  for (stream_end* const e : all) e->path_changed(healed);
}

void network_core::set_paths(const std::vector<std::string>& from,
                             const std::vector<std::string>& to, path_state s) {
  for (const std::string& a : from) {
    for (const std::string& b : to) {
      const network_host& first = host_named(a);
      const network_host& second = host_named(b);
      if (&first != &second) paths_[{&first, &second}] = s;
    }
  }
  paths_changed(false);
}

void network_core::heal() {
  paths_.clear();
  cuts_.clear();
  paths_changed(true);
}

void network_core::begin_partition() {
  const std::size_t count = hosts_.size();
  std::string line = "FAULT: partition: ";
  const auto cut = [&](std::size_t a, std::size_t b) {
    cuts_.insert({hosts_[a].get(), hosts_[b].get()});
  };
  switch (decisions.choose(3, "shape of the partition")) {
    case 0: {  // one host
      const std::size_t alone = decisions.choose(count, "the host that is cut off");
      for (std::size_t i = 0; i < count; ++i) {
        if (i == alone) continue;
        cut(alone, i);
        cut(i, alone);
      }
      line += hosts_[alone]->name() + " is cut off";
      break;
    }
    case 1: {  // two groups
      std::vector<bool> group;
      for (std::size_t i = 0; i < count; ++i) group.push_back(decisions.choose(2, "group") == 1);
      for (std::size_t i = 0; i < count; ++i) {
        for (std::size_t k = 0; k < count; ++k) {
          if (group[i] != group[k]) cut(i, k);
        }
      }
      line += "two groups";
      break;
    }
    default: {  // one direction
      const std::size_t from = decisions.choose(count, "from host");
      std::size_t to = decisions.choose(count - 1, "to host");
      if (to >= from) ++to;
      cut(from, to);
      line += hosts_[from]->name() + " -> " + hosts_[to]->name();
      break;
    }
  }
  constexpr duration times[] = {300ms, 3s, 30s, 300s, 1800s};
  const duration lasts = times[decisions.choose(std::size(times), "length of the partition")];
  note(line);
  at(now + lasts, [this, number = ++partitions_]() -> std::string {
    if (number == partitions_) {
      cuts_.clear();
      paths_changed(true);
    }
    return "the partition heals";
  });
  at(now, [this]() -> std::string {  // not within the transmission that has met it
    paths_changed(false);
    return "the partition begins";
  });
}

// ------------------------------------------------------------------------------- hosts and names

network_host& network_core::add_host(const std::string& name) {
  const bool is_taken =
      std::ranges::any_of(hosts_, [&](const auto& h) { return h->name() == name; });
  if (is_taken || name.empty() || endpoint(name, 0).is_address()) {
    throw std::invalid_argument("sim::network: host '" + name +
                                "': a name must be unique, and not an address");
  }
  const std::string number = std::to_string(hosts_.size() + 1);
  hosts_.push_back(std::make_unique<network_host>(*this, name, "10.0.0." + number));
  return *hosts_.back();
}

network_host& network_core::host_named(const std::string& name) const {
  const auto found = std::ranges::find_if(hosts_, [&](const auto& h) { return h->name() == name; });
  if (found == hosts_.end()) {
    throw std::invalid_argument("sim::network: there is no host '" + name + "'");
  }
  return **found;
}

network_host* network_core::find_host(const network_host& from, const endpoint& to) const {
  for (const auto& h : hosts_) {
    const bool is_it = h->address() == to.host() || (h.get() == &from && h->has_address(to));
    if (is_it) return h.get();
  }
  return nullptr;
}

std::vector<std::string> network_core::addresses_of(const network_host& from,
                                                    const std::string& name) const {
  if (name == "localhost") return {"127.0.0.1"};
  std::vector<std::string> addresses;
  if (const auto found = names_.find(name); found != names_.end()) {
    for (const std::string& host : found->second) addresses.push_back(host_named(host).address());
    return addresses;
  }
  for (const auto& h : hosts_) {
    if (h->name() == name) addresses.push_back(h.get() == &from ? "127.0.0.1" : h->address());
  }
  return addresses;
}

void network_core::set_name(const std::string& name, const std::vector<std::string>& hosts) {
  for (const std::string& host : hosts) static_cast<void>(host_named(host));
  names_[name] = hosts;
}

std::string network_core::text_of(const network_host& of, const endpoint& e) const {
  if (e.is_unix() || !e) return e.text();
  const network_host* const owner = find_host(of, e);
  return (owner ? owner->name() : std::string(e.host())) + ":" + std::to_string(e.port());
}

void network_core::set_power(network_host& h, bool on) {
  h.set_up(on);
  paths_changed(on);
}

// ------------------------------------------------------------------------------------ connections

stream_end& network_core::add_end(std::unique_ptr<stream_end> e) {
  e->set_serial(++serial_);
  return *ends_.emplace(serial_, std::move(e)).first->second;
}

std::vector<stream_end*> network_core::ends_of(const network_host& h) const {
  std::vector<stream_end*> all;
  for (const auto& [serial, e] : ends_) {
    if (&e->host() == &h) all.push_back(e.get());
  }
  return all;
}

void network_core::bury(stream_end& e) noexcept {
  auto node = ends_.extract(e.serial());
  if (node.empty()) return;
  e.set_buried();
  graveyard_.push_back(std::move(node.mapped()));
}

void network_core::empty_graveyard() noexcept { graveyard_.clear(); }

void network_core::send_reset(const network_host& from, stream_end& to) {
  const bool within_host = &from == &to.host();
  const time_point arrives =
      travel(from, to.host(), 0, within_host ? network_fault::none : fault_of_handshake());
  if (arrives == no_deadline) return note("the reset is lost");
  at(arrives, [this, serial = to.serial()]() -> std::string {
    const auto found = ends_.find(serial);
    if (found == ends_.end()) return "a reset arrives for a connection that is gone";
    stream_end& e = *found->second;
    if (!e.host().is_up()) return "a reset does not arrive: " + e.host().name() + " is off";
    std::string line = "reset of " + e.text() + " arrives at " + e.host().name();
    e.fail(asio::error::connection_reset);
    return line;
  });
}

}  // namespace LEAT::sim
