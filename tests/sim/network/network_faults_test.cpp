// Every single fault of the network, and what a test can do to paths, names and hosts.

#include <csignal>

#include "leat/leat.hpp"
#include "sim/network/echo_world.hpp"
#include "support/leat_test.hpp"

namespace network_faults_test {

using leat::as_tuple;
using leat::connection;
using leat::with_timeout;
using leat::sim::host;
using leat::sim::network_fault;
using leat::sim::planned_network_fault;
using leat::sim::world;
using leat::sim::world_options;
using namespace std::chrono_literals;

leat::time_point time_now() { return leat::this_task::get_scheduler().now(); }

task<> upper(connection c) {
  std::array<char, 16> bytes;
  for (;;) {
    const auto read = co_await as_tuple(c.async_read_some(asio::buffer(bytes)));
    if (read.error) break;
    for (char& b : std::span(bytes).first(read.value)) b = static_cast<char>(b - 'a' + 'A');
    const auto sent = co_await as_tuple(
        asio::async_write(c, asio::buffer(bytes.data(), read.value), leat::use_task));
    if (sent.error) break;
  }
  co_await leat::close_gracefully(std::move(c));
}

task<> serve(std::string at) {
  leat::listener l = co_await leat::listen(at);
  co_await leat::with_task_group([&](task_group& connections) -> task<> {
    for (;;) connections.spawn(upper(co_await l.accept()));
  });
}

task<std::string> ask(std::string to, std::string text) {
  connection c = co_await leat::connect(to);
  co_await asio::async_write(c, asio::buffer(text), leat::use_task);
  std::string back(text.size(), ' ');
  co_await asio::async_read(c, asio::buffer(back), leat::use_task);
  co_return back;
}

// ---- Every single fault.

// A client that tries again until it has an answer.
task<> retrying(world& w) {
  w.add_host("server").start([](host&) { return serve("*:80"); });
  co_await leat::sleep_for(1ms);
  const auto attempt = []() -> task<std::string> {
    co_return co_await with_timeout(ask("server:80", "hello"), 10s);
  };
  for (int i = 0; i < 3; ++i) {
    const std::string answered = co_await leat::retry(
        attempt,
        {.retried = {leat::errc::unavailable, leat::errc::deadline_exceeded}, .seed = w.seed()});
    CHECK(answered == "HELLO");
  }
}

// Several clients with a half-close, of a server on two threads.
task<> echoing(world& w) {
  leat_test::echo_world echo(w);
  co_await echo.run(false);
  CHECK(echo.whole() >= leat_test::echo_world::clients - 1);
}

// A long stream, of which a prefix arrives.
task<> streaming(world& w) {
  std::string received;
  std::string sent;
  for (int i = 0; i < 3000; ++i) sent += std::to_string(i);
  auto& server = w.add_host("server");
  server.start([&](host&) -> task<> {
    leat::listener l = co_await leat::listen("*:80");
    const auto accepted = co_await as_tuple(with_timeout(l.accept(), 10min));
    if (accepted.error) co_return;
    auto& c = const_cast<connection&>(accepted.value);
    std::array<char, 900> bytes;
    for (;;) {
      const auto n = co_await as_tuple(with_timeout(c.async_read_some(asio::buffer(bytes)), 1h));
      if (n.error) break;
      received.append(bytes.data(), n.value);
    }
  });
  co_await leat::sleep_for(1ms);
  auto made = co_await as_tuple(leat::connect("server:80", {.send_buffer = 2304}));
  if (made.error) co_return;
  static_cast<void>(
      co_await as_tuple(asio::async_write(made.value, asio::buffer(sent), leat::use_task)));
  made.value.close();
  CHECK(co_await server.join() == 0);
  CHECK(sent.starts_with(received));
}

// Runs a program with the fault at each place, and returns the number of places.
std::uint64_t run_with_each(task<> (*program)(world&), network_fault f,
                            std::uint64_t (leat::sim::network::*counter)() const noexcept) {
  for (std::uint64_t n = 1;; ++n) {
    world w({}, 1, {.network = {.plan = planned_network_fault{n, f}}});
    INFO("fault " << static_cast<int>(f) << " at " << n);
    w.run(program);
    if ((w.network().*counter)() < n) return n - 1;
  }
}

TEST_CASE("network: each single fault at each place") {
  using net = leat::sim::network;
  for (const auto program : {&retrying, &echoing, &streaming}) {
    for (const network_fault f :
         {network_fault::loss, network_fault::delay, network_fault::reset}) {
      CHECK(run_with_each(program, f, &net::segments) >= 4);
    }
    for (const network_fault f : {network_fault::refused, network_fault::unreachable,
                                  network_fault::timed_out, network_fault::lost_backlog}) {
      CHECK(run_with_each(program, f, &net::connects) >= 1);
    }
    for (const network_fault f : {network_fault::no_descriptor, network_fault::no_memory}) {
      CHECK(run_with_each(program, f, &net::accepts) >= 1);
    }
  }
}

// ---- Every single allocation.

// A server whose connections may fail, and clients that report what failed.
task<> ask_without_memory(world& w, int& answered) {
  auto& server = w.add_host("server");
  server.start([](host&) -> task<> {
    leat::listener l = co_await leat::listen("*:80");
    for (;;) {
      try {
        co_await upper(co_await l.accept());
      } catch (const std::bad_alloc&) {  // the next one may have it
      }
    }
  });
  co_await leat::sleep_for(1ms);
  for (int i = 0; i < 2; ++i) {
    const auto asked = co_await as_tuple(with_timeout(ask("server:80", "x"), 1h));
    if (!asked.error) ++answered;
  }
  server.raise(SIGTERM);
  if (co_await server.join() == 1) answered = 2;  // it could not listen
}

TEST_CASE("network: at most one request fails if the n-th allocation fails, for every n") {
  std::uint64_t last = 0;
  for (std::uint64_t n = 1; last == 0; ++n) {
    world w({}, 1, {.memory = {.plan = n}});
    w.check_frames();
    INFO("allocation " << n);
    int answered = 0;
    bool has_failed = false;
    try {
      w.run([&](world& all) { return ask_without_memory(all, answered); });
    } catch (const std::exception& error) {
      has_failed = leat::to_error_code(std::current_exception()) == errc::resource_exhausted;
      if (!has_failed) FAIL_CHECK(error.what());
    }
    if (!has_failed) CHECK(answered >= 1);
    if (w.memory().count() < n) last = n;
  }
  CHECK(last > 50);
}

// ---- Paths and names.

TEST_CASE("network: what is held arrives when the path is up again") {
  world w({}, 1);
  w.add_host("server").start([](host&) { return serve("*:80"); });
  w.run([](world& all) -> task<> {
    co_await leat::sleep_for(1ms);
    connection c = co_await leat::connect("server:80");
    all.network().hold({"local"}, {"server"});
    co_await c.async_write_some(asio::buffer("x", 1));
    co_await leat::sleep_for(10s);
    const auto start = time_now();
    all.network().heal();
    std::array<char, 4> bytes;
    CHECK(co_await c.async_read_some(asio::buffer(bytes)) == 1);
    CHECK(time_now() - start < 10ms);
  });
}

TEST_CASE("network: all connections of a host are reset") {
  world w({}, 1);
  w.add_host("server").start([](host&) { return serve("*:80"); });
  w.run([](world& all) -> task<> {
    co_await leat::sleep_for(1ms);
    connection c = co_await leat::connect("server:80");
    all.network().reset_all("server");
    std::array<char, 4> bytes;
    CHECK((co_await as_tuple(c.async_read_some(asio::buffer(bytes)))).error ==
          asio::error::connection_reset);
  });
}

TEST_CASE("network: a name with two addresses, of which one does not answer") {
  world w({}, 1);
  w.add_host("off");
  w.add_host("on").start([](host&) { return serve("*:80"); });
  w.network().set_name("api", {"off", "on"});
  w.run([](world& all) -> task<> {
    all.network().partition({"local"}, {"off"});
    co_await leat::sleep_for(1ms);
    CHECK((co_await leat::resolve("api:80")).size() == 2);
    const auto start = time_now();
    CHECK(co_await ask("api:80", "x") == "X");
    CHECK(time_now() - start > 250ms);  // the first address has a head start
    CHECK(time_now() - start < 300ms);
    CHECK((co_await as_tuple(leat::resolve("nobody:80"))).error ==
          make_error_code(errc::not_found));
  });
}

TEST_CASE("network: bytes take time on a path with a bandwidth") {
  world w({}, 1, {.network = {.bandwidth = 1000}});
  w.add_host("server").start([](host&) { return serve("*:80"); });
  w.run([](world&) -> task<> {
    co_await leat::sleep_for(1ms);
    const auto start = time_now();
    co_await ask("server:80", std::string(2000, 'x'));
    CHECK(time_now() - start > 4s);
    CHECK(time_now() - start < 5s);
  });
}

TEST_CASE("network: listeners that share a port share its connections") {
  leat::sim::sweep(
      [](world& w) -> task<> {
        auto& server = w.add_host("server", {.threads = 2});
        int accepted[2] = {};
        server.start([&](host& h) -> task<> {
          co_await leat::with_task_group([&](task_group& both) -> task<> {
            for (std::size_t i = 0; i < 2; ++i) {
              both.spawn_on(h.thread(i), [](int& count) -> task<> {
                leat::listener l = co_await leat::listen("*:80", {.reuse_port = true});
                for (;;) {
                  connection c = co_await l.accept();
                  ++count;
                }
              }(accepted[i]));
            }
            co_return;
          });
        });
        co_await leat::sleep_for(1ms);
        for (int i = 0; i < 20; ++i) static_cast<void>(co_await leat::connect("server:80"));
        co_await leat::sleep_for(1s);
        if (accepted[0] + accepted[1] != 20) throw std::logic_error("a connection is missing");
      },
      {.count = 50});
}

TEST_CASE("network: the path of a Unix socket stays after a kill, and is replaced") {
  world w({}, 1);
  auto& server = w.add_host("server");
  w.run([&](world&) -> task<> {
    server.start([](host&) { return serve("unix:/socket"); });
    co_await leat::sleep_for(1ms);
    server.terminate();
    co_await server.join();
    server.start([](host&) -> task<> {
      CHECK((co_await as_tuple(leat::connect("unix:/socket"))).error ==
            asio::error::connection_refused);
      CHECK(
          (co_await as_tuple(leat::listen("unix:/socket", {.replace_stale_path = false}))).error ==
          asio::error::address_in_use);
      {
        leat::listener l = co_await leat::listen("unix:/socket");
        connection c = co_await leat::connect("unix:/socket");
      }
      const auto gone = co_await as_tuple(leat::connect("unix:/socket"));
      CHECK(gone.error == errc::not_found);
    });
    CHECK(co_await server.join() == 0);
  });
}

TEST_CASE("network: a swarm of worlds has some in which a fault never occurs") {
  int without = 0;
  int with = 0;
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    world w(seed, {.network = {.faults = {.refused = 0.5}, .swarm = true}});
    w.add_host("server").start([](host&) { return serve("*:80"); });
    int refused = 0;
    w.run([&](world&) -> task<> {
      co_await leat::sleep_for(10ms);
      for (int i = 0; i < 50; ++i) {
        if ((co_await as_tuple(ask("server:80", "x"))).error) ++refused;
      }
    });
    ++(refused == 0 ? without : with);
  }
  CHECK(without > 3);
  CHECK(with > 3);
}

}  // namespace network_faults_test
