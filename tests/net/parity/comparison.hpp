#pragma once

// Compares what a program shows on Linux with what it shows in simulated worlds.
//
// - Every outcome of Linux occurs in some world: the simulation is not kinder.
// - Every outcome of a world is expected, with a reason: the simulation is not absurd. Those that
//   need a fault do not occur without one.
// - Every outcome that is expected occurs.
//
// LEAT_PARITY=1 prints how often each outcome occurs.

#include <fcntl.h>

#include <cstdio>
#include <map>

#include "leat/sim.hpp"
#include "net/parity/place.hpp"
#include "support/effort.hpp"

namespace leat_test::parity {

using leat::sim::network_fault;
using leat::sim::network_faults;
using leat::sim::planned_network_fault;
using leat::sim::world;

/// An outcome, and why Linux or a fault leads to it.
struct expected {
  std::string outcome;
  const char* reason;
};

/// The hosts of a simulated run.
enum class hosts { one, two, one_or_two };

/// What is expected of a program, and how it is run.
struct expectation {
  std::vector<expected> always;       ///< on Linux and without faults
  std::vector<expected> faulty = {};  ///< only with faults
  network_faults faults = {.loss = 0.2, .delay = 0.1};
  std::optional<planned_network_fault> plan = {};
  hosts where = hosts::one_or_two;
  bool is_unix = false;
  std::uint64_t seeds = 2000;  ///< with faults, and half of it without
  int runs = 20;               ///< on Linux, at the same time
};

/// How often each outcome occurred.
using outcomes = std::map<std::string, std::uint64_t>;

/// The only port for connects, where a test has limited them to one.
inline constexpr std::uint16_t only_port = 40'000;

/// Sockets of the kernel, on this machine.
class local_place final : public place {
 public:
  explicit local_place(bool is_unix) : is_unix_(is_unix) {}

  [[nodiscard]] bool is_simulated() const noexcept override { return false; }
  [[nodiscard]] bool is_unix() const noexcept override { return is_unix_; }
  task<listener*> listen(leat::listen_options o = {}, endpoint at = {}) override {
    if (!at) at = is_unix_ ? unused_path() : endpoint("127.0.0.1:0");
    co_return keep(co_await leat::listen(std::move(at), o));
  }
  task<endpoint> next_own_address() override { co_return endpoint("127.0.0.1", only_port); }
  void take_descriptors() override {
    for (int d; (d = ::dup(0)) >= 0;) taken_.push_back(d);
  }
  void return_descriptors() override {
    for (const int d : std::exchange(taken_, {})) ::close(d);
  }
  endpoint closed_address() override {
    return is_unix_ ? unused_path() : endpoint("127.0.0.1:1");  // tcpmux, which nobody serves
  }

 private:
  static endpoint unused_path() {
    static int count = 0;
    return "unix:@leat-parity-" + std::to_string(::getpid()) + "-" + std::to_string(++count);
  }

  const bool is_unix_;
  std::vector<int> taken_;
};

/// Two hosts of a world, or one.
class simulated_place final : public place {
 public:
  simulated_place(world& w, leat::sim::host& server, bool is_unix)
      : world_(w), server_(server), is_unix_(is_unix) {}

  [[nodiscard]] bool is_simulated() const noexcept override { return true; }
  [[nodiscard]] bool is_unix() const noexcept override { return is_unix_; }
  task<listener*> listen(leat::listen_options o = {}, endpoint at = {}) override {
    if (!at) at = is_unix_ ? endpoint("unix:/run/parity.sock") : endpoint("*:0");
    co_return keep(co_await run_on(server_.thread(), listen_here(std::move(at), o)));
  }
  endpoint closed_address() override {
    if (is_unix_) return "unix:/run/nobody.sock";
    return endpoint(server_.address(), 1);
  }
  [[nodiscard]] endpoint address_of(const listener& l) const override {
    return is_unix_ ? l.local() : endpoint(server_.address(), l.local().port());
  }

  // Ports are taken in their order.
  task<endpoint> next_own_address() override {
    listener l = co_await leat::listen("127.0.0.1:0");
    const connection c = co_await leat::connect(l.local());
    const std::uint16_t last = c.local().port();
    co_return endpoint("127.0.0.1", static_cast<std::uint16_t>(last == 60'999 ? 32'768 : last + 1));
  }

  void cut(way w) override {
    leat::sim::network& n = world_.network();
    if (w != way::to_client) n.partition_one_way({"local"}, {"server"});
    if (w != way::to_server) n.partition_one_way({"server"}, {"local"});
  }
  void reject() override { world_.network().reject({"local"}, {"server"}); }
  void heal() override { world_.network().heal(); }

  static task<listener> listen_here(endpoint at, leat::listen_options o) {
    co_return co_await leat::listen(std::move(at), o);
  }

 private:
  world& world_;
  leat::sim::host& server_;
  const bool is_unix_;
};

/// Discards what is written to standard error.
class silent_stderr {
 public:
  silent_stderr() : saved_(::dup(2)) {
    const int null = ::open("/dev/null", O_WRONLY | O_CLOEXEC);
    ::dup2(null, 2);
    ::close(null);
  }
  silent_stderr(const silent_stderr&) = delete;
  silent_stderr& operator=(const silent_stderr&) = delete;
  ~silent_stderr() {
    ::dup2(saved_, 2);
    ::close(saved_);
  }

 private:
  const int saved_;
};

inline void print(const char* where, const outcomes& seen) {
  if (!std::getenv("LEAT_PARITY")) return;
  for (const auto& [text, count] : seen) {
    std::fprintf(stderr, "%8s %5llu x %s\n", where, static_cast<unsigned long long>(count),
                 text.c_str());
  }
}

/// Runs a program on Linux, several times at once.
inline outcomes run_locally(program f, const expectation& e) {
  outcomes seen;
  const auto run = [](program g, bool is_unix, outcomes& all) -> task<> {
    local_place p(is_unix);
    ++all[co_await outcome_in(p, g)];
  };
  leat::block_on(leat::with_task_group([&](task_group& runs) -> task<> {
    for (int i = 0; i < e.runs; ++i) runs.spawn(run(f, e.is_unix, seen));
    co_return;
  }));
  print("Linux", seen);
  return seen;
}

/// Runs a program in many worlds. `check`: throws if an outcome is not expected.
template <class Check>
outcomes run_in_worlds(program f, const expectation& e, std::uint64_t seeds,
                       const leat::sim::network_options& network, Check check) {
  outcomes seen;
  const auto body = [&](world& w) -> task<> {
    leat::sim::host& server = w.add_host("server");
    const bool is_one =
        e.is_unix || e.where == hosts::one || (e.where == hosts::one_or_two && w.seed() % 4 == 0);
    simulated_place p(w, is_one ? w.local() : server, e.is_unix);
    const std::string outcome = co_await outcome_in(p, f);
    ++seen[outcome];
    check(outcome);
  };
  leat::sim::sweep(body, {.count = scaled_count(seeds), .world = {.network = network}});
  return seen;
}

inline bool contains_outcome(const std::vector<expected>& all, const std::string& outcome) {
  return std::ranges::any_of(all, [&](const expected& e) { return e.outcome == outcome; });
}

/// Runs a program in worlds, without faults and with them, and checks that each outcome is
/// expected, and that each one that is expected occurs.
inline outcomes check_worlds(program f, const expectation& e) {
  outcomes seen;
  outcomes perfect;
  CHECK_NOTHROW(perfect = run_in_worlds(f, e, e.seeds / 2, {}, [&](const std::string& outcome) {
                  if (contains_outcome(e.always, outcome)) return;
                  throw std::logic_error("without faults, a world shows '" + outcome + "'");
                }));
  print("perfect", perfect);
  const leat::sim::network_options network{.faults = e.faults, .plan = e.plan};
  CHECK_NOTHROW(seen = run_in_worlds(f, e, e.seeds, network, [&](const std::string& outcome) {
                  if (contains_outcome(e.always, outcome)) return;
                  if (contains_outcome(e.faulty, outcome)) return;
                  if (outcome.starts_with("no connection: ")) return;
                  throw std::logic_error("a world with faults shows '" + outcome + "'");
                }));
  print("faults", seen);
  for (const auto& [text, count] : perfect) seen[text] += count;
  for (const auto* const list : {&e.always, &e.faulty}) {
    for (const expected& x : *list) {
      if (slow_build) ++seen[x.outcome];  // it runs too few seeds
      if (seen.contains(x.outcome)) continue;
      FAIL_CHECK("no world shows '" << x.outcome << "': " << x.reason);
    }
  }
  return seen;
}

/// Checks that outcomes of Linux occur in worlds.
inline void check_linux(const outcomes& real, const outcomes& simulated) {
  for (const auto& [text, count] : real) {
    if (simulated.contains(text)) continue;
    FAIL_CHECK("Linux shows '" << text << "', and no world does");
  }
}

/// Compares a program on Linux and in worlds.
inline void compare(program f, const expectation& e) {
  const outcomes real = run_locally(f, e);
  check_linux(real, check_worlds(f, e));
}

}  // namespace leat_test::parity
