// Each kind of fault must matter: there is a program whose outcomes it changes. An injector that
// nothing uses would leave them as they are.

#include "net/parity/comparison.hpp"

namespace fault_parity_test {

using namespace leat_test::parity;

// A request and its reply, in steps with limits that are long enough without faults.
task<std::string> ask_by_name(place& p) {
  listener& l = *co_await p.listen();
  connection client;
  const endpoint to("server", l.local().port());
  std::string seen = co_await p.try_connect(to, client, 3s);
  if (!client.is_open()) co_return seen;
  connection server;
  add(seen, co_await p.try_accept(l, server, 5ms));
  if (!server.is_open()) co_return seen;
  co_await p.write(client, "request");
  add(seen, co_await p.read_for(server, 100ms));
  co_await p.write(server, "reply");
  add(seen, co_await p.read_for(client, 100ms));
  co_return seen;
}

// Sets of outcomes, without their numbers.
std::vector<std::string> outcomes_with(const leat::sim::network_options& network) {
  const outcomes seen = run_in_worlds(ask_by_name, {.always = {}, .where = hosts::two}, 200,
                                      network, [](const std::string&) {});
  std::vector<std::string> texts;
  for (const auto& [text, count] : seen) texts.push_back(text);
  return texts;
}

leat::sim::network_options with(const network_faults& f) {
  return {.varied_latency = false, .faults = f};
}

const std::vector<std::string> without_faults{"connected, accepted, 7 bytes, 5 bytes"};

TEST_CASE("parity: without faults, a request is answered") {
  CHECK(outcomes_with(with({})) == without_faults);
}

TEST_CASE("parity: each random fault changes what a program sees") {
  const std::pair<network_faults, const char*> faults[] = {
      {{.short_transfer = 0.5}, "connected, accepted, 1 byte, 5 bytes"},
      {{.split = 0.5}, "connected, accepted, 1 byte, 5 bytes"},
      {{.loss = 0.2}, "connected, accepted, waits, 5 bytes"},
      {{.reset = 0.2}, "connected, accepted, ECONNRESET, ECONNRESET"},
      {{.delay = 0.2}, "connected, accepted, waits, 5 bytes"},
      {{.refused = 0.2}, "ECONNREFUSED"},
      {{.lost_backlog = 0.2}, "connected, waits"},
      {{.no_descriptor = 0.2}, "connected, waits"},
      {{.partition = 0.2}, "connected, accepted, waits, waits"},
      {{.no_name_server = 0.2}, "unavailable"},
      {{.slow_name = 0.2}, "waits"},
  };
  const silent_stderr quiet;  // a listener reports that it is out of descriptors
  for (const auto& [fault, outcome] : faults) {
    INFO(outcome);
    const std::vector<std::string> seen = outcomes_with(with(fault));
    CHECK(seen != without_faults);
    CHECK(std::ranges::find(seen, outcome) != seen.end());
  }
}

TEST_CASE("parity: each planned fault changes what a program sees") {
  const std::pair<network_fault, const char*> faults[] = {
      {network_fault::loss, "connected, accepted, waits, 5 bytes"},
      {network_fault::delay, "connected, accepted, waits, 5 bytes"},
      {network_fault::reset, "connected, accepted, ECONNRESET, ECONNRESET"},
      {network_fault::refused, "ECONNREFUSED"},
      {network_fault::unreachable, "EHOSTUNREACH"},
      {network_fault::timed_out, "waits"},
      {network_fault::lost_backlog, "connected, waits"},
      {network_fault::no_descriptor, "connected, waits"},
      {network_fault::no_memory, "connected, waits"},
  };
  const silent_stderr quiet;
  for (const auto& [fault, outcome] : faults) {
    INFO(outcome);
    leat::sim::network_options network = with({});
    network.plan = planned_network_fault{1, fault};
    CHECK(outcomes_with(network) == std::vector<std::string>{outcome});
  }
}

}  // namespace fault_parity_test
