// The samples of docs/simulation.md: a service on a host, its test, and the schedule of a failure.

#include <csignal>
#include <regex>

#include <asio.hpp>

#include "leat/leat.hpp"
#include "leat/net.hpp"
#include "leat/sim.hpp"
#include "support/leat_test.hpp"

namespace network_sample_test {

using leat::connection;
using namespace std::chrono_literals;

//! [service]
// Answers each line with its length.
task<> answer(connection c) {
  std::string line;
  for (;;) {
    const auto n = co_await leat::as_tuple(
        asio::async_read_until(c, asio::dynamic_buffer(line), '\n', leat::use_task));
    if (n.error) break;
    const std::string length = std::to_string(n.value - 1) + '\n';
    co_await asio::async_write(c, asio::buffer(length), leat::use_task);
    line.erase(0, n.value);
  }
  co_await leat::close_gracefully(std::move(c));
}

task<> serve(leat::endpoint at) {
  leat::listener l = co_await leat::listen(at);
  co_await leat::with_task_group([&](leat::task_group& connections) -> task<> {
    for (;;) connections.spawn(answer(co_await l.accept()));
  });
}

task<std::size_t> ask(leat::endpoint server, std::string line) {
  connection c = co_await leat::connect(server);
  co_await asio::async_write(c, asio::buffer(line + '\n'), leat::use_task);
  std::string answered;
  co_await asio::async_read_until(c, asio::dynamic_buffer(answered), '\n', leat::use_task);
  co_return std::stoul(answered);
}
//! [/service]

//! [test]
task<> test(leat::sim::world& w) {
  auto& server = w.add_host("server");
  server.start([](leat::sim::host&) { return serve("*:80"); });
  co_await leat::sleep_for(1ms);
  const std::size_t length = co_await ask("server:80", "hello");
  if (length != 5) throw std::logic_error("the answer is " + std::to_string(length));
}
//! [/test]

//! [faults]
task<> disturb(leat::sim::world& w, leat::sim::host& server) {
  co_await leat::sleep_for(2ms);
  w.network().partition({"local"}, {"server"});
  co_await leat::sleep_for(1min);
  w.network().heal();
  server.terminate();
  co_await server.join();
  server.start([](leat::sim::host&) { return serve("*:80"); });
}

task<> test_with_faults(leat::sim::world& w) {
  auto& server = w.add_host("server");
  server.start([](leat::sim::host&) { return serve("*:80"); });
  co_await leat::with_task_group([&](leat::task_group& all) -> task<> {
    all.spawn(disturb(w, server));
    // Each attempt has a limit, because a silent peer is never noticed without one.
    const auto attempt = []() -> task<std::size_t> {
      co_return co_await leat::with_timeout(ask("server:80", "hello"), 5s);
    };
    for (int i = 0; i < 10; ++i) {
      const std::size_t length = co_await leat::retry(
          attempt, {.attempts = 100,
                    .retried = {leat::errc::unavailable, leat::errc::deadline_exceeded},
                    .seed = w.seed()});
      if (length != 5) throw std::logic_error("the answer is " + std::to_string(length));
    }
  });
}

void find_bugs() {
  leat::sim::network_options o;
  o.faults = {.short_transfer = 0.1, .loss = 0.05, .reset = 0.01};
  leat::sim::sweep(test_with_faults, {.world = {.network = o}});
}
//! [/faults]

constexpr std::string_view schedule_sample = R"sample(
//! [schedule]
step 11, 2 ms, network: local: connect to server:80: answered
step 12, 3 ms, network: local: connect to server:80: connected
step 21, 3.999 ms, network: connection 1 (server:80 -> local:32768) can be accepted
step 23, 4 ms, network: 6 bytes of connection 1 (local:32768 -> server:80) arrive
step 32, 204 ms, network: server sends again a segment of connection 1 (server:80 -> local:32768)
step 33, 205 ms, network: 2 bytes of connection 1 (server:80 -> local:32768) arrive
//! [/schedule]
)sample";

TEST_CASE("network: the sample of the documents") { leat::sim::sweep(test, {.count = 100}); }

TEST_CASE("network: the sample of the documents with faults") { find_bugs(); }

// Without the numbers of the steps, which any change of the library may change.
std::string lines_of_network(const std::string& all) {
  std::istringstream in(all);
  std::string lines;
  for (std::string line; std::getline(in, line);) {
    if (line.find(", network: ") == line.npos) continue;
    lines += std::regex_replace(line, std::regex("^ *step \\d+"), "step") + '\n';
  }
  return lines;
}

TEST_CASE("network: the schedule of the sample, in which the answer is lost once") {
  leat::sim::network_options o;
  o.plan = leat::sim::planned_network_fault{2, leat::sim::network_fault::loss};
  leat::sim::world w({}, 1, {.network = o});
  w.trace();
  w.run(test);
  std::string all;
  for (const std::string& line : w.schedule()) all += line + '\n';
  INFO(all);
  CHECK(lines_of_network(all) == lines_of_network(std::string(schedule_sample)));
}

}  // namespace network_sample_test
