#include "leat/sim/world/host.hpp"

#include <csignal>

#include <asio.hpp>

#include "leat/io/file/file.hpp"
#include "leat/net.hpp"
#include "leat/sim.hpp"
#include "leat/sync.hpp"
#include "support/leat_test.hpp"

namespace host_test {

using leat::as_tuple;
using leat::connection;
using leat::with_timeout;
using leat::sim::host;
using leat::sim::world;
using leat::sim::world_options;
using namespace std::chrono_literals;

leat::time_point time_now() { return leat::this_task::get_scheduler().now(); }

// A server that answers each line, on both threads of its host.
task<> answer(connection c) {
  std::string line;
  for (;;) {
    const auto n = co_await as_tuple(
        asio::async_read_until(c, asio::dynamic_buffer(line), '\n', leat::use_task));
    if (n.error) break;
    co_await asio::async_write(c, asio::buffer(line.data(), n.value), leat::use_task);
    line.erase(0, n.value);
  }
  co_await leat::close_gracefully(std::move(c));
}

task<> serve(host& h) {
  leat::listener l = co_await leat::listen("*:80");
  co_await leat::with_task_group([&](task_group& connections) -> task<> {
    for (std::size_t i = 0;; ++i) {
      connection c = co_await l.accept(h.thread(i % h.threads()));
      connections.spawn_on(h.thread(i % h.threads()), answer(std::move(c)));
    }
  });
}

task<std::string> ask(connection& c, std::string line) {
  co_await asio::async_write(c, asio::buffer(line), leat::use_task);
  std::string answered;
  co_await asio::async_read_until(c, asio::dynamic_buffer(answered), '\n', leat::use_task);
  co_return answered;
}

TEST_CASE("host: a process ends with the status of leat::run()") {
  world w({}, 1);
  auto& h = w.add_host("server");
  w.run([&](world&) -> task<> {
    CHECK_FALSE(h.is_running());
    CHECK_FALSE(h.exit_status());
    h.start([](host& here) -> task<> {
      CHECK(here.name() == "server");
      CHECK(leat::this_task::get_scheduler().identity().host == "server");
      co_await leat::sleep_for(1s);
    });
    CHECK(h.is_running());
    CHECK(co_await h.join() == 0);
    CHECK(h.exit_status() == 0);
    h.start([](host&) -> task<> { co_await leat::sleep_for(1h); });
    co_await leat::sleep_for(1s);
    h.raise(SIGTERM);
    CHECK(co_await h.join() == 128 + SIGTERM);
    h.start([](host&) -> task<> {
      const auto slept = co_await as_tuple(leat::sleep_for(1h));
      CHECK(slept.error);  // it drains, and returns
    });
    co_await leat::sleep_for(1s);
    h.raise(SIGINT);
    CHECK(co_await h.join() == 0);
    h.start([](host&) -> task<> { co_await leat::sleep_for(1h); });
    co_await leat::sleep_for(1s);
    h.raise(SIGUSR1);  // no guard
    CHECK(co_await h.join() == 128 + SIGUSR1);
    h.start([](host&) -> task<> {
      throw leat::failure(errc::not_found, "the file");
      co_return;
    });
    CHECK(co_await h.join() == 1);
  });
}

TEST_CASE("host: a process that fails fails the world, unless its status was asked for") {
  world w({}, 1);
  auto& h = w.add_host("server");
  CHECK_THROWS_WITH(w.run([&](world&) -> task<> {
    h.start([](host&) -> task<> {
      throw leat::failure(errc::not_found, "the file");
      co_return;
    });
    co_await leat::sleep_for(1s);
  }),
                    Catch::Matchers::Contains("the file"));
}

TEST_CASE("host: what the main task leaves behind is stopped and joined") {
  world w({}, 1);
  auto& h = w.add_host("server");
  bool ended = false;
  w.run([&](world&) -> task<> {
    auto left = std::make_shared<task_group>(leat::shielded);
    h.start([&, left](host&) -> task<> {
      left->spawn([](bool& is_over) -> task<> {
        const auto slept = co_await as_tuple(leat::sleep_for(1h));
        CHECK(slept.error);
        co_await as_tuple(leat::sleep_for(0s));
        is_over = true;
      }(ended));
      co_await leat::sleep_for(1s);
    });
    CHECK(co_await h.join() == 0);
    CHECK(ended);
    co_await left->join();
  });
}

TEST_CASE(
    "host: a terminated process closes its connections, on all threads, and can start again") {
  leat::sim::sweep(
      [](world& w) -> task<> {
        auto& h = w.add_host("server", {.threads = 2});
        h.start(serve);
        co_await leat::sleep_for(1ms);
        connection first = co_await leat::connect("server:80");
        connection second = co_await leat::connect("server:80");
        CHECK(co_await ask(first, "one\n") == "one\n");
        CHECK(co_await ask(second, "two\n") == "two\n");
        h.terminate();
        std::array<char, 8> bytes;
        CHECK_FALSE(co_await first.async_read_some_or_end(asio::buffer(bytes)));
        CHECK_FALSE(co_await second.async_read_some_or_end(asio::buffer(bytes)));
        CHECK(h.exit_status() == 137);
        CHECK((co_await as_tuple(leat::connect("server:80"))).error ==
              asio::error::connection_refused);
        h.start(serve);
        co_await leat::sleep_for(1ms);
        first = co_await leat::connect("server:80");
        CHECK(co_await ask(first, "again\n") == "again\n");
        h.raise(SIGTERM);
        CHECK(co_await h.join() == 128 + SIGTERM);
      },
      {.count = 300, .check_repeatable = true});
}

TEST_CASE("host: a machine without power is silent, and resets after its start") {
  world w({}, 1);
  auto& h = w.add_host("server");
  w.run([&](world&) -> task<> {
    h.start(serve);
    co_await leat::sleep_for(1ms);
    connection c = co_await leat::connect("server:80");
    CHECK(co_await ask(c, "one\n") == "one\n");
    h.stop_power();
    std::array<char, 8> bytes;
    const auto silent = co_await as_tuple(with_timeout(c.async_read_some(asio::buffer(bytes)), 1h));
    CHECK(silent.error == make_error_code(errc::deadline_exceeded));
    CHECK(h.exit_status() == 137);
    const auto start = time_now();
    CHECK((co_await as_tuple(leat::connect("server:80"))).error == asio::error::timed_out);
    CHECK(time_now() - start == 131s);
    h.start(serve);
    co_await leat::sleep_for(1ms);
    CHECK(co_await c.async_write_some(asio::buffer("x\n", 2)) == 2);
    CHECK((co_await as_tuple(c.async_read_some(asio::buffer(bytes)))).error ==
          asio::error::connection_reset);
    c = co_await leat::connect("server:80");
    CHECK(co_await ask(c, "two\n") == "two\n");
  });
}

task<> write_file(std::string path, bool syncs) {
  auto file = co_await leat::file::open(path, leat::open_mode::write);
  const std::string text = "content";
  co_await file.write_at(0, std::as_bytes(std::span(text)));
  if (syncs) co_await file.sync();
  co_await leat::sleep_for(1h);
}

TEST_CASE(
    "host: files keep what was written if a process is terminated, synced data without power") {
  leat::sim::sweep(
      [](world& w) -> task<> {
        auto& h = w.add_host("server");
        for (const bool has_power : {true, false}) {
          const std::string path = has_power ? "/a" : "/b";
          h.start([path](host&) { return write_file(path, false); });
          co_await leat::sleep_for(10min);
          if (has_power) {
            h.terminate();
          } else {
            h.stop_power();
          }
          co_await h.join();
          CHECK(h.files().open_files() == 0);
          if (has_power) CHECK(h.files().read_file(path) == "content");
        }
        CHECK(w.files().files().empty());  // of another machine
        co_await leat::sleep_for(1s);
        h.start([](host& here) -> task<> {
          CHECK(here.files().read_file("/a").value_or("") != "other");
          co_return;
        });
        CHECK(co_await h.join() == 0);
      },
      {.count = 200});
}

TEST_CASE("host: a process can be terminated at each step") {
  std::uint64_t last = 0;
  for (std::uint64_t n = 1; n < 500; ++n) {
    world w({}, n, {.files = {}});
    w.check_frames();
    auto& h = w.add_host("server", {.threads = 2});
    std::uint64_t steps = 0;
    w.always("terminates it", [&] {
      if (++steps == n && h.is_running()) {
        h.terminate();
        last = n;
      }
      return true;
    });
    w.run([&](world&) -> task<> {
      h.start([](host& here) -> task<> {
        co_await leat::with_task_group([&](task_group& both) -> task<> {
          both.spawn(serve(here));
          both.spawn(write_file("/file", true));
          both.spawn(
              []() -> task<> { static_cast<void>(co_await leat::run_blocking([] { return 1; })); });
          co_return;
        });
      });
      co_await leat::sleep_for(1ms);
      const auto made = co_await as_tuple(with_timeout(leat::connect("server:80"), 5min));
      if (made.error) co_return;
      connection c = std::move(const_cast<connection&>(made.value));
      const auto answered = co_await as_tuple(with_timeout(ask(c, "one\n"), 5min));
      if (!answered.error) CHECK(answered.value == "one\n");
    });
    CHECK_FALSE(h.is_running());
    if (last != n) break;
  }
  CHECK(last > 20);
}

TEST_CASE("host: a paused process continues") {
  leat::sim::sweep(
      [](world& w) -> task<> {
        auto& h = w.add_host("server", {.threads = 2});
        h.start(serve);
        co_await leat::sleep_for(1ms);
        connection c = co_await leat::connect("server:80");
        CHECK(co_await ask(c, "one\n") == "one\n");
        h.pause(10s);
        co_await leat::sleep_for(1ms);
        const auto start = time_now();
        CHECK(co_await ask(c, "two\n") == "two\n");
        CHECK(time_now() - start >= 9s);
      },
      {.count = 100});
}

TEST_CASE("host: its clocks differ from those of the world") {
  world w({}, 1);
  auto& h = w.add_host("server");
  w.run([&](world& all) -> task<> {
    h.set_clock(1h, 1000);  // one second in 1,000 s
    CHECK(h.wall_clock() - all.wall_clock() == 1h);
    const auto start = time_now();
    h.start([](host&) -> task<> { co_await leat::sleep_for(1001s); });
    co_await h.join();
    CHECK(time_now() - start >= 999'999ms);
    CHECK(time_now() - start <= 1000'001ms);
  });
}

TEST_CASE("host: connections that a process leaves open are a violation") {
  world w({}, 1);
  w.check_connections();
  auto& h = w.add_host("server");
  std::optional<leat::listener> kept;
  CHECK_THROWS_WITH(w.run([&](world&) -> task<> {
    h.start([&](host&) -> task<> { kept.emplace(co_await leat::listen("*:80")); });
    co_await h.join();
  }),
                    Catch::Matchers::Contains("open although its process has ended"));
  kept.reset();
}

}  // namespace host_test
