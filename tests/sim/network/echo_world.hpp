#pragma once

// An echo service on one host and its clients on another one, in a world whose network may fail in
// every way and whose server may be killed.

#include <csignal>

#include <asio.hpp>

#include "leat/leat.hpp"
#include "leat/net.hpp"
#include "leat/sim.hpp"
#include "leat/sync.hpp"

namespace leat_test {

/// The service, its clients, and what they have got.
class echo_world {
 public:
  explicit echo_world(leat::sim::world& w)
      : w_(w), server_(w.add_host("server", {.threads = 2})), others_(w.add_host("others", {2})) {}

  static constexpr int clients = 4;
  /// The clients whose whole text came back.
  [[nodiscard]] int whole() const noexcept { return whole_; }

  /// Runs the clients to their end. If `kills`, the server is also terminated, stopped, paused or
  /// without power, and started again.
  leat::task<> run(bool kills) {
    server_.start(serve);
    co_await leat::sleep_for(std::chrono::milliseconds(1));
    co_await leat::with_task_group([&](leat::task_group& all) -> leat::task<> {
      for (int i = 0; i < clients; ++i) {
        all.spawn_on(others_.thread(static_cast<std::size_t>(i) % 2), ask_all(i));
      }
      if (kills) all.spawn(disturb());
      co_return;
    });
    w_.network().heal();
    if (!server_.is_running()) server_.start(serve);
    co_await leat::sleep_for(std::chrono::milliseconds(1));
    server_.raise(SIGTERM);
    co_await server_.join();
  }

 private:
  static leat::task<> echo(leat::connection c) {
    std::array<char, 700> bytes;
    for (;;) {
      // A client that has given up is silent, if its reset is lost.
      const auto read = co_await leat::as_tuple(
          leat::with_timeout(c.async_read_some(asio::buffer(bytes)), std::chrono::hours(2)));
      if (read.error) break;
      const auto sent = co_await leat::as_tuple(
          asio::async_write(c, asio::buffer(bytes.data(), read.value), leat::use_task));
      if (sent.error) break;
    }
    co_await leat::close_gracefully(std::move(c));
  }

  static leat::task<> serve(leat::sim::host& h) {
    leat::listener l = co_await leat::listen("*:7", {.backlog = 1});
    co_await leat::with_task_group([&](leat::task_group& connections) -> leat::task<> {
      for (std::size_t i = 0;; ++i) {
        leat::scheduler& on = h.thread(i % 2);
        connections.spawn_on(on, echo(co_await l.accept(on)));
      }
    });
  }

  // Returns true if the whole text came back. Otherwise what came back was a part of it.
  static leat::task<bool> ask(std::string text) {
    using std::chrono_literals::operator""h;
    auto made = co_await leat::as_tuple(leat::with_timeout(leat::connect("server:7"), 1h));
    if (made.error) co_return false;
    leat::connection c = std::move(made.value);
    std::string back;
    co_await leat::with_task_group([&](leat::task_group& both) -> leat::task<> {
      both.spawn([](leat::connection& to, const std::string& all) -> leat::task<> {
        static_cast<void>(co_await leat::as_tuple(
            leat::with_timeout(asio::async_write(to, asio::buffer(all), leat::use_task), 1h)));
        to.shutdown_send();
      }(c, text));
      std::array<char, 500> bytes;
      for (;;) {
        const auto n =
            co_await leat::as_tuple(leat::with_timeout(c.async_read_some(asio::buffer(bytes)), 1h));
        if (n.error) break;
        back.append(bytes.data(), n.value);
      }
    });
    if (text.compare(0, back.size(), back) != 0) throw std::logic_error("other bytes came back");
    co_return back == text;
  }

  leat::task<> ask_all(int n) {
    std::string text;
    leat::random_engine random(static_cast<std::uint64_t>(n));
    for (int i = 0; i < 1 + 999 * n; ++i) {
      text += static_cast<char>('a' + random.uniform_below(26));
    }
    const bool ok = co_await ask(text);
    if (ok) ++whole_;
  }

  leat::task<> disturb() {
    for (int i = 0; i < 3; ++i) {
      co_await leat::sleep_for(std::chrono::milliseconds(w_.random().uniform_below(20)));
      switch (w_.decisions().choose(5, "what happens to the server")) {
        case 0: break;
        case 1: server_.terminate(); break;
        case 2: server_.stop_power(); break;
        case 3: server_.raise(SIGTERM); break;
        default: server_.pause(std::chrono::seconds(1)); break;
      }
      co_await leat::sleep_for(std::chrono::milliseconds(w_.random().uniform_below(5000)));
      if (server_.exit_status()) server_.start(serve);
    }
  }

  leat::sim::world& w_;
  leat::sim::host& server_;
  leat::sim::host& others_;
  int whole_ = 0;
};

/// All faults of the network, each in some worlds and rarely in others.
inline leat::sim::network_options all_network_faults() {
  leat::sim::network_options o;
  o.faults = {.short_transfer = 0.1,
              .split = 0.1,
              .loss = 0.05,
              .reset = 0.005,
              .delay = 0.01,
              .refused = 0.05,
              .lost_backlog = 0.1,
              .no_descriptor = 0.1,
              .partition = 0.01,
              .no_name_server = 0.05,
              .slow_name = 0.05};
  o.swarm = true;
  return o;
}

}  // namespace leat_test
