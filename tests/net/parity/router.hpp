#pragma once

// Two hosts and a router on Linux: network namespaces in a child process. The router drops packets
// by blackhole routes and rules, so neither netfilter nor tc is needed.

#include <arpa/inet.h>
#include <fcntl.h>
#include <sched.h>

#include <cstring>
#include <fstream>
#include <sstream>

#include "net/parity/comparison.hpp"

namespace leat_test::parity {

/// A client, a router and a server. Each pair of a program and a run has a server address of its
/// own, so partitions do not affect each other.
class router {
 public:
  /// Moves this process, which has one thread, to new namespaces. Errors: std::runtime_error, if
  /// the system refuses them.
  explicit router(int addresses) {
    enter_new_namespace();
    client_ = current();
    if (::unshare(CLONE_NEWNET) != 0) fail("unshare");
    router_ = current();
    if (::unshare(CLONE_NEWNET) != 0) fail("unshare");
    server_ = current();
    std::ostringstream batch;
    batch << "link add vc type veth peer name eth0 netns " << path_of(client_) << '\n'
          << "link add vs type veth peer name eth0 netns " << path_of(server_) << '\n'
          << "addr add 10.1.0.254/24 dev vc\naddr add 10.2.0.254/24 dev vs\n"
          << "link set lo up\nlink set vc up\nlink set vs up\n";
    ip(router_, batch.str());
    store("/proc/sys/net/ipv4/ip_forward", "1", router_);
    store("/proc/sys/net/ipv4/icmp_ratelimit", "0", router_);
    ip(client_,
       "link set lo up\naddr add 10.1.0.1/24 dev eth0\nlink set eth0 up\n"
       "route add default via 10.1.0.254\n");
    batch.str("link set lo up\nlink set eth0 up\n");
    batch.seekp(0, std::ios::end);
    for (int i = 0; i < addresses; ++i) batch << "addr add " << address(i) << "/24 dev eth0\n";
    batch << "route add default via 10.2.0.254\n";
    ip(server_, batch.str());
    for (const int space : {client_, server_}) {  // gives up after 3 and after 6.2 seconds
      store("/proc/sys/net/ipv4/tcp_syn_retries", "2", space);
      store("/proc/sys/net/ipv4/tcp_retries2", "4", space);
    }
    enter(client_);
  }

  /// Moves this process, which has one thread, to a machine without a network that has one port for
  /// connects. Errors: as above.
  static void enter_machine_with_one_port() {
    enter_new_namespace();
    ip(current(), "link set lo up\n");
    const std::string port = std::to_string(only_port);
    store("/proc/sys/net/ipv4/ip_local_port_range", port + ' ' + port);
  }

  [[nodiscard]] static std::string address(int i) { return "10.2.0." + std::to_string(10 + i); }
  /// Returns true if the server knows a client that is not connected there yet.
  [[nodiscard]] bool has_half_open(const std::string& address) const {
    enter(server_);
    std::ifstream table("/proc/thread-self/net/tcp");
    enter(client_);
    in_addr local{};
    ::inet_pton(AF_INET, address.c_str(), &local);
    char number[16];
    std::snprintf(number, sizeof number, " %08X:", local.s_addr);
    for (std::string line; std::getline(table, line);) {
      if (line.find(number) < 10 && line.find(" 03 ") < 40) return true;  // SYN_RECV
    }
    return false;
  }
  void enter_server() const { enter(server_); }
  void leave_server() const { enter(client_); }
  /// Changes a route or a rule of the router.
  void change(const std::string& command) const {
    ip(router_, command + '\n');
    enter(client_);
  }

 private:
  static void enter_new_namespace() {
    const std::string user = std::to_string(::getuid());
    if (::unshare(CLONE_NEWUSER | CLONE_NEWNET) != 0) fail("unshare");
    store("/proc/self/setgroups", "deny");
    store("/proc/self/uid_map", "0 " + user + " 1");
  }
  [[noreturn]] static void fail(const std::string& what) {
    throw std::runtime_error(what + ": " + std::strerror(errno));
  }
  static int current() {
    const int space = ::open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC);
    if (space < 0) fail("/proc/self/ns/net");
    return space;
  }
  static std::string path_of(int space) {
    return "/proc/" + std::to_string(::getpid()) + "/fd/" + std::to_string(space);
  }
  static void enter(int space) {
    if (::setns(space, CLONE_NEWNET) != 0) fail("setns");
  }
  static void store(const std::string& path, const std::string& text, int space = -1) {
    if (space >= 0) enter(space);
    std::ofstream file(path);
    if (!(file << text << std::flush)) fail(path);
  }
  static void ip(int space, const std::string& batch) {
    enter(space);
    std::FILE* const to = ::popen("ip -batch - 2>/dev/null >&2", "w");
    if (!to) fail("ip");
    std::fputs(batch.c_str(), to);
    if (::pclose(to) != 0) throw std::runtime_error("ip -batch fails");
  }

  int client_ = -1;
  int router_ = -1;
  int server_ = -1;
};

/// The client and a server of a router.
class routed_place final : public place {
 public:
  routed_place(const router& r, int number) : router_(r), address_(router::address(number)) {}

  [[nodiscard]] bool is_simulated() const noexcept override { return false; }
  // Nothing else runs before listen() has made its socket: of an address, it does not wait.
  task<listener*> listen(leat::listen_options o = {}, endpoint = {}) override {
    router_.enter_server();
    task<listener> making = leat::listen(endpoint(address_, 0), o);
    listener l = co_await std::move(making);
    router_.leave_server();
    co_return keep(std::move(l));
  }
  endpoint closed_address() override { return {address_, 1}; }

  // The server answers, and answers again while nothing reaches it.
  task<connection> connect_unknown(listener& l) override {
    cut(way::to_client);
    connection c;
    co_await leat::with_task_group([&](task_group& both) -> task<> {
      both.spawn([](endpoint to, connection& into) -> task<> { into = co_await leat::connect(to); }(
                                                       address_of(l), c));
      while (!router_.has_half_open(address_)) co_await leat::sleep_for(5ms);
      const std::vector<std::string> first = std::exchange(undo_, {});
      cut(way::to_server);
      for (const std::string& command : first) router_.change(command);
    });
    co_return c;
  }

  void cut(way w) override {
    if (w != way::to_client) change("route add blackhole " + address_ + "/32", "route del");
    if (w != way::to_server) change("rule add from " + address_ + " blackhole", "rule del");
  }
  void reject() override { change("route add unreachable " + address_ + "/32", "route del"); }
  void heal() override {
    for (const std::string& command : undo_) router_.change(command);
    undo_.clear();
  }

 private:
  void change(const std::string& command, const std::string& inverse) {
    router_.change(command);
    undo_.push_back(inverse + command.substr(command.find(" add") + 4));
  }

  const router& router_;
  const std::string address_;
  std::vector<std::string> undo_;
};

/// Runs a program in a child process, after `prepare` there. Returns its outcome, or "skipped: "
/// and a reason.
template <class Prepare>
std::string run_alone(program f, Prepare prepare) {
  return run_in_child([f, &prepare]() -> std::string {
    try {
      prepare();
    } catch (const std::runtime_error& error) {
      return std::string("skipped: ") + error.what();
    }
    std::string outcome;
    leat::block_on([](program g, std::string& text) -> task<> {
      local_place p(false);
      text = co_await outcome_in(p, g);
    }(f, outcome));
    return outcome;
  });
}

/// Compares a program that must run alone on Linux.
template <class Prepare>
void compare_alone(program f, const expectation& e, Prepare prepare) {
  const std::string real = run_alone(f, prepare);
  const outcomes simulated = check_worlds(f, e);
  print("alone", {{real, 1}});
  if (real.starts_with("skipped: ")) {
    WARN("The half on Linux is " << real);
  } else {
    check_linux({{real, 1}}, simulated);
  }
}

inline constexpr int routed_runs = 5;

/// Runs programs in a child process, all at once. Returns lines with the index of a program and its
/// outcome, or one line that begins with "skipped: ".
inline std::string run_routed(const std::vector<program>& all) {
  return run_in_child([&all]() -> std::string {
    std::string lines;
    try {
      const router r(static_cast<int>(all.size()) * routed_runs);
      const auto run = [](const router& with, int number, program f, std::string index,
                          std::string& text) -> task<> {
        routed_place p(with, number);
        text += index + '\t' + co_await outcome_in(p, f) + '\n';
      };
      leat::block_on(leat::with_task_group([&](task_group& runs) -> task<> {
        int number = 0;
        for (std::size_t i = 0; i < all.size(); ++i) {
          for (int k = 0; k < routed_runs; ++k) {
            runs.spawn(run(r, number++, all[i], std::to_string(i), lines));
          }
        }
        co_return;
      }));
    } catch (const std::runtime_error& error) {
      return std::string("skipped: ") + error.what();
    }
    return lines;
  });
}

/// Compares a program with a router on Linux, where all programs run when the first one is
/// compared. If Linux refuses the namespaces, only the worlds are checked.
inline void compare_routed(const std::vector<program>& all, program f, expectation e) {
  static const std::string lines = run_routed(all);
  e.where = hosts::two;
  const outcomes simulated = check_worlds(f, e);
  if (lines.starts_with("skipped: ")) {
    WARN("The half on Linux is skipped: this system has no network namespaces for it ("
         << lines.substr(9) << ")");
    return;
  }
  const auto index = static_cast<std::size_t>(std::ranges::find(all, f) - all.begin());
  outcomes real;
  std::istringstream in(lines);
  for (std::string line; std::getline(in, line);) {
    const auto tab = line.find('\t');
    if (line.substr(0, tab) == std::to_string(index)) ++real[line.substr(tab + 1)];
  }
  print("router", real);
  CHECK_FALSE(real.empty());
  check_linux(real, simulated);
}

}  // namespace leat_test::parity
