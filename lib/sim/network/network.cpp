#include "leat/sim/network/network.hpp"

#include <algorithm>
#include <utility>

#include "leat/base/asio.hpp"
#include "leat/sim/allocation_faults.hpp"
#include "leat/sim/virtual_scheduler.hpp"
#include "sim/network/network_core.hpp"
#include "sim/network/simulated_acceptor.hpp"
#include "sim/network/simulated_backend.hpp"
#include "sim/network/stream_end.hpp"

#include LEAT_ASIO(error.hpp)

namespace LEAT::sim {

using state = network_core::path_state;

network::network(decision_source& c, const network_options& options,
                 std::function<void(std::string)> violation)
    : core_(std::make_unique<network_core>(c, options, std::move(violation))) {}

network::~network() = default;

void network::partition(const std::vector<std::string>& a, const std::vector<std::string>& b) {
  const allocation_faults::without_faults own;
  core_->set_paths(a, b, state::dropping);
  core_->set_paths(b, a, state::dropping);
}

void network::partition_one_way(const std::vector<std::string>& from,
                                const std::vector<std::string>& to) {
  const allocation_faults::without_faults own;
  core_->set_paths(from, to, state::dropping);
}

void network::hold(const std::vector<std::string>& a, const std::vector<std::string>& b) {
  const allocation_faults::without_faults own;
  core_->set_paths(a, b, state::holding);
  core_->set_paths(b, a, state::holding);
}

void network::reject(const std::vector<std::string>& a, const std::vector<std::string>& b) {
  const allocation_faults::without_faults own;
  core_->set_paths(a, b, state::rejecting);
  core_->set_paths(b, a, state::rejecting);
}

void network::heal() {
  const allocation_faults::without_faults own;
  core_->heal();
}

void network::reset_all(const std::string& host) {
  const allocation_faults::without_faults own;
  const network_host& h = core_->host_named(host);
  std::vector<stream_end*> all;
  for (const auto& [serial, e] : core_->ends()) {
    const bool is_of_host = &e->host() == &h || e->is_connected_to(h);
    const bool is_within_host = e->is_connected_to(e->host());
    if (is_of_host && !is_within_host) all.push_back(e.get());
  }
  for (stream_end* const e : all) e->fail(asio::error::connection_reset);
}

void network::set_name(const std::string& name, const std::vector<std::string>& hosts) {
  const allocation_faults::without_faults own;
  core_->set_name(name, hosts);
}

std::uint64_t network::segments() const noexcept { return core_->segments; }
std::uint64_t network::connects() const noexcept { return core_->connects; }
std::uint64_t network::accepts() const noexcept { return core_->accepts; }
std::uint64_t network::backlog_resets() const noexcept { return core_->backlog_resets; }

std::size_t network::open_ends() const noexcept {
  const auto is_held = [](const auto& e) { return e.second->is_held(); };
  return static_cast<std::size_t>(std::ranges::count_if(core_->ends(), is_held));
}

std::string network::table() const {
  const allocation_faults::without_faults own;
  std::string text;
  for (const auto& [serial, e] : core_->ends()) text += e->table_line() + '\n';
  for (const auto& h : core_->hosts()) {
    for (const simulated_acceptor* const a : h->listeners()) text += a->table_line() + '\n';
  }
  return text;
}

network_host& network::add_host(const std::string& name) { return core_->add_host(name); }

std::string network::address_of(const network_host& h) { return h.address(); }

void network::install(virtual_scheduler& thread, network_host& h) {
  h.backends.emplace_back(&thread, std::make_unique<simulated_backend>(*core_, h, thread));
  thread.set_service<network_backend>(h.backends.back().second.get());
}

void network::end_process(network_host& h) {
  for (simulated_acceptor* const a : h.listeners()) a->end_process();
  for (stream_end* const e : core_->ends_of(h)) e->abandon();
}

void network::stop_power(network_host& h) {
  core_->set_power(h, false);
  for (simulated_acceptor* const a : h.listeners()) a->lose_power();
  for (stream_end* const e : core_->ends_of(h)) e->lose_power();
  h.forget_ports();
}

void network::renew(network_host& h) {
  for (auto& [thread, backend] : h.backends) {
    backend = std::make_unique<simulated_backend>(*core_, h, *thread);
    thread->set_service<network_backend>(backend.get());
  }
}

void network::set_power(network_host& h, bool on) { core_->set_power(h, on); }

void network::check_closed(const network_host& h) const {
  for (const stream_end* const e : core_->ends_of(h)) {
    if (e->is_held()) core_->report(e->text() + " is open although its process has ended");
  }
  for (const simulated_acceptor* const a : h.listeners()) {
    core_->report(a->table_line() + ": open although its process has ended");
  }
}

void network::at(time_point when, std::function<std::string()> f) { core_->at(when, std::move(f)); }

void network::check_quiet() const {
  for (const auto& [serial, e] : core_->ends()) {
    if (const std::string stuck = e->find_stuck_operation(); !stuck.empty()) core_->report(stuck);
  }
  for (const auto& h : core_->hosts()) {
    for (const simulated_acceptor* const a : h->listeners()) {
      if (a->is_stuck()) {
        core_->report(a->table_line() + ": an accept waits although a connection is there");
      }
    }
  }
}

void network::set_time(time_point now, wall_time_point) noexcept { core_->set_time(now); }

time_point network::next_completion() const noexcept { return core_->events.earliest(); }

std::size_t network::due(time_point now) const noexcept { return core_->events.due(now); }

std::string network::complete(std::size_t index) {
  core_->empty_graveyard();
  std::string line = core_->events.happen(index);
  return line + core_->take_notes();
}

std::string network::take_fault_text() noexcept {
  core_->empty_graveyard();
  return core_->take_notes();
}

}  // namespace LEAT::sim
