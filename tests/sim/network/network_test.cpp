#include "leat/sim/network/network.hpp"

#include <asio.hpp>

#include "leat/net.hpp"
#include "leat/sim.hpp"
#include "leat/sync.hpp"
#include "support/leat_test.hpp"

namespace network_test {

using leat::as_tuple;
using leat::connection;
using leat::with_timeout;
using leat::sim::world;
using leat::sim::world_options;
using namespace std::chrono_literals;

// Runs a server and a client on two hosts with a plain schedule.
void run_two(const std::function<task<>(world&, connection)>& serve,
             const std::function<task<>(world&)>& ask, const world_options& options = {}) {
  world w({}, 1, options);
  auto& server = w.add_host("server");
  w.run([&](world&) -> task<> {
    co_await leat::with_task_group([&](task_group& group) -> task<> {
      group.spawn_on(server.thread(), [](world& all, const auto& use) -> task<> {
        leat::listener l = co_await leat::listen("*:80");
        connection c = co_await l.accept();
        co_await use(all, std::move(c));
      }(w, serve));
      co_await leat::sleep_for(1ms);
      co_await ask(w);
    });
  });
}

leat::time_point time_now() { return leat::this_task::get_scheduler().now(); }

// Reads numbers under limits that expire when they arrive.
task<> count_under_limits(world& w) {
  auto& server = w.add_host("server");
  server.start([](leat::sim::host&) -> task<> {
    leat::listener l = co_await leat::listen("*:80");
    connection c = co_await l.accept();
    for (char i = 0; i < 20; ++i) {
      co_await c.async_write_some(asio::buffer(&i, 1));
      co_await leat::sleep_for(1ms);
    }
    co_await leat::close_gracefully(std::move(c));
  });
  co_await leat::sleep_for(1ms);
  connection c = co_await leat::connect("server:80");
  char next = 0;
  for (;;) {
    char byte = 0;
    const auto read =
        co_await as_tuple(with_timeout(c.async_read_some(asio::buffer(&byte, 1)), 1ms));
    if (read.error == asio::error::eof) break;
    if (read.error) continue;
    if (byte != next++) throw std::logic_error("a byte was lost or repeated");
  }
  if (next != 20) throw std::logic_error("bytes are missing at the end");
}

TEST_CASE("network: a limit that expires when bytes arrive loses none") {
  leat::sim::sweep(count_under_limits, {.count = 300});
}

TEST_CASE("network: two hosts, by name and by address") {
  run_two(
      [](world&, connection c) -> task<> {
        CHECK(c.local().text() == "10.0.0.2:80");
        CHECK(c.peer().host() == "10.0.0.1");
        std::string line;
        co_await asio::async_read_until(c, asio::dynamic_buffer(line), '\n', leat::use_task);
        co_await asio::async_write(c, asio::buffer("you wrote " + line), leat::use_task);
        co_await leat::close_gracefully(std::move(c));
      },
      [](world&) -> task<> {
        const auto start = time_now();
        connection c = co_await leat::connect("server:80");
        CHECK(time_now() - start == 2ms);  // there and back
        CHECK(c.peer().text() == "10.0.0.2:80");
        co_await asio::async_write(c, asio::buffer("hello\n", 6), leat::use_task);
        std::string all;
        const auto read =
            co_await as_tuple(asio::async_read(c, asio::dynamic_buffer(all), leat::use_task));
        CHECK(read.error == asio::error::eof);
        CHECK(all == "you wrote hello\n");
        CHECK(time_now() - start == 4ms);
        CHECK_FALSE((co_await as_tuple(leat::connect("nobody:80"))).value.is_open());
        CHECK((co_await as_tuple(leat::connect("server:81"))).error ==
              asio::error::connection_refused);
      });
}

// A reply that was sent before a close with unread data arrives, and then the reset, once.
TEST_CASE("network: a close with unread data resets the connection after what has been sent") {
  run_two(
      [](world&, connection c) -> task<> {
        co_await c.async_wait(connection::wait_type::wait_read);
        co_await asio::async_write(c, asio::buffer("reply", 5), leat::use_task);
        c.close();
      },
      [](world&) -> task<> {
        connection c = co_await leat::connect("server:80");
        co_await asio::async_write(c, asio::buffer("unread", 6), leat::use_task);
        co_await leat::sleep_for(1s);  // the reply and the reset arrive
        std::string all;
        const auto read =
            co_await as_tuple(asio::async_read(c, asio::dynamic_buffer(all), leat::use_task));
        CHECK(all == "reply");
        CHECK(read.error == asio::error::connection_reset);
        std::array<char, 4> bytes;
        CHECK((co_await as_tuple(c.async_read_some(asio::buffer(bytes)))).error ==
              asio::error::eof);
        CHECK((co_await as_tuple(c.async_write_some(asio::buffer(bytes)))).error ==
              asio::error::broken_pipe);
        CHECK(c.shutdown_send() == asio::error::not_connected);
      });
}

TEST_CASE("network: a reset that is lost is not sent again") {
  run_two(
      [](world& w, connection c) -> task<> {
        co_await c.async_wait(connection::wait_type::wait_read);
        w.network().partition({"local"}, {"server"});
        c.reset();
      },
      [](world& w) -> task<> {
        connection c = co_await leat::connect("server:80");
        std::array<char, 4> bytes{};
        co_await c.async_write_some(asio::buffer(bytes));
        co_await leat::sleep_for(100ms);
        w.network().heal();
        const auto silent =
            co_await as_tuple(with_timeout(c.async_read_some(asio::buffer(bytes)), 1h));
        CHECK(silent.error == make_error_code(errc::deadline_exceeded));
        co_await c.async_write_some(asio::buffer(bytes));
        CHECK((co_await as_tuple(c.async_read_some(asio::buffer(bytes)))).error ==
              asio::error::connection_reset);
      });
}

TEST_CASE("network: a write after the end of the peer succeeds, and the next one fails") {
  run_two(
      [](world&, connection c) -> task<> {
        c.close();
        co_return;
      },
      [](world&) -> task<> {
        connection c = co_await leat::connect("server:80");
        std::array<char, 4> bytes{};
        CHECK_FALSE(co_await c.async_read_some_or_end(asio::buffer(bytes)));
        CHECK(c.status().state == "close-wait");
        CHECK(co_await c.async_write_some(asio::buffer(bytes)) == 4);
        co_await leat::sleep_for(1s);
        CHECK((co_await as_tuple(c.async_write_some(asio::buffer(bytes)))).error ==
              asio::error::broken_pipe);
        CHECK_FALSE(co_await c.async_read_some_or_end(asio::buffer(bytes)));
      });
}

// The times at which a byte arrives whose path was cut off for a while, from the write on.
leat::duration time_to_arrive(leat::duration cut) {
  leat::time_point sent;
  leat::duration took{};
  run_two(
      [&](world&, connection c) -> task<> {
        std::array<char, 1> byte;
        co_await c.async_read_some(asio::buffer(byte));
        took = time_now() - sent;
      },
      [&](world& w) -> task<> {
        connection c = co_await leat::connect("server:80");
        w.network().partition({"local"}, {"server"});
        sent = time_now();
        co_await c.async_write_some(asio::buffer("x", 1));
        co_await leat::sleep_for(cut);
        w.network().heal();
        co_await leat::sleep_for(30min);
      });
  return took;
}

TEST_CASE("network: after a partition, bytes arrive at the next attempt, which doubles its time") {
  CHECK(time_to_arrive(100ms) == 201ms);    // 0.2 s
  CHECK(time_to_arrive(500ms) == 601ms);    // 0.2 + 0.4 s
  CHECK(time_to_arrive(2500ms) == 3001ms);  // + 0.8 + 1.6 s
  CHECK(time_to_arrive(30s) == 51001ms);    // + 3.2 + 6.4 + 12.8 + 25.6 s
}

TEST_CASE("network: the sender gives up after 15 attempts, and the peer does not learn of it") {
  run_two(
      [](world&, connection c) -> task<> {
        std::array<char, 8> bytes;
        CHECK(co_await c.async_read_some(asio::buffer(bytes)) == 7);  // the request arrives
        const auto end =
            co_await as_tuple(with_timeout(c.async_read_some(asio::buffer(bytes)), 1h));
        CHECK(end.error == make_error_code(errc::deadline_exceeded));
      },
      [](world& w) -> task<> {
        connection c = co_await leat::connect("server:80");
        w.network().partition_one_way({"server"}, {"local"});
        const auto start = time_now();
        co_await c.async_write_some(asio::buffer("request", 7));
        std::array<char, 8> bytes;
        const auto read = co_await as_tuple(c.async_read_some(asio::buffer(bytes)));
        CHECK(read.error == asio::error::timed_out);
        CHECK(time_now() - start > 15min);
        CHECK(time_now() - start < 16min);
        CHECK(c.status().retransmissions == 15);
        CHECK((co_await as_tuple(c.async_read_some(asio::buffer(bytes)))).error ==
              asio::error::eof);
      });
}

TEST_CASE("network: user_timeout and keep-alive probes find a vanished peer") {
  run_two(
      [](world&, connection c) -> task<> {
        co_await leat::sleep_for(1h);
        c.close();
      },
      [](world& w) -> task<> {
        leat::connection_options o;
        o.user_timeout = 1500ms;
        connection writes = co_await leat::connect("server:80", o);
        o.user_timeout = {};
        o.keep_alive_probes = leat::keep_alive{.idle = 10s, .interval = 2s, .probes = 3};
        connection reads = co_await leat::connect("server:80", o);
        w.network().partition({"local"}, {"server"});
        const auto start = time_now();
        std::array<char, 8> bytes{};
        co_await writes.async_write_some(asio::buffer(bytes));
        CHECK((co_await as_tuple(writes.async_read_some(asio::buffer(bytes)))).error ==
              asio::error::timed_out);
        CHECK(time_now() - start == 1500ms);
        CHECK((co_await as_tuple(reads.async_read_some(asio::buffer(bytes)))).error ==
              asio::error::timed_out);
        CHECK(time_now() - start == 16s);
      });
}

TEST_CASE("network: a connect into a partition fails after 131 s, one that is rejected at once") {
  world w({}, 1);
  w.add_host("server");
  w.run([](world& all) -> task<> {
    const auto start = time_now();
    all.network().partition({"local"}, {"server"});
    CHECK((co_await as_tuple(leat::connect("server:80"))).error == asio::error::timed_out);
    CHECK(time_now() - start == 131s);
    all.network().reject({"local"}, {"server"});
    CHECK((co_await as_tuple(leat::connect("server:80"))).error == asio::error::host_unreachable);
    CHECK(time_now() - start < 132s);
  });
}

TEST_CASE("network: a writer waits, and continues when a third of its buffer is free") {
  run_two(
      [](world&, connection c) -> task<> {
        co_await leat::sleep_for(1s);
        std::vector<char> bytes(2'000);
        std::size_t read = 0;
        while (const auto n = co_await c.async_read_some_or_end(asio::buffer(bytes))) {
          read += *n;
          co_await leat::sleep_for(10ms);
        }
        CHECK(read == 400'000);
      },
      [](world&) -> task<> {
        leat::connection_options o;
        o.send_buffer = 30'000;
        connection c = co_await leat::connect("server:80", o);
        const auto start = time_now();
        const std::string all(400'000, 'x');
        std::size_t sent = 0;
        int waits = 0;
        while (sent < all.size()) {
          const auto before = time_now();
          const auto n = co_await c.async_write_some(asio::buffer(all) + sent);
          if (sent + n < 80'000) CHECK(time_now() - start < 100ms);
          if (time_now() > before && sent + n < all.size()) CHECK(n >= 10'000);
          if (time_now() > before) ++waits;
          sent += n;
        }
        CHECK(waits > 10);
        CHECK(time_now() - start > 1s);
        c.close();
      });
}

TEST_CASE("network: a full backlog does not answer") {
  world w({}, 1);
  auto& server = w.add_host("server");
  w.run([&](world&) -> task<> {
    task_group group;
    group.spawn_on(server.thread(), []() -> task<> {
      leat::listener l = co_await leat::listen("*:80", {.backlog = 1});
      co_await leat::sleep_for(10s);
      std::vector<connection> all;
      for (int i = 0; i < 3; ++i) all.push_back(co_await l.accept());
    });
    co_await leat::sleep_for(1ms);
    std::vector<connection> clients;
    const auto start = time_now();
    for (int i = 0; i < 2; ++i) clients.push_back(co_await leat::connect("server:80"));
    CHECK(time_now() - start < 10ms);
    clients.push_back(co_await leat::connect("server:80"));
    CHECK(time_now() - start > 10s);
    co_await group.join();
  });
}

TEST_CASE("network: a listener that closes resets its backlog") {
  world w({}, 1);
  auto& server = w.add_host("server");
  w.run([&](world& all) -> task<> {
    task_group group;
    group.spawn_on(server.thread(), []() -> task<> {
      leat::listener l = co_await leat::listen("*:80");
      co_await leat::sleep_for(1s);
    });
    co_await leat::sleep_for(1ms);
    connection c = co_await leat::connect("server:80");
    co_await group.join();
    std::array<char, 4> bytes;
    CHECK((co_await as_tuple(c.async_read_some(asio::buffer(bytes)))).error ==
          asio::error::connection_reset);
    CHECK(all.network().backlog_resets() == 1);
  });
}

// The time from the connect to the accept of a connection that the server does not know at first.
leat::duration time_to_know(leat::duration until_write) {
  world w({}, 1,
          {.network = {.plan = leat::sim::planned_network_fault{
                           1, leat::sim::network_fault::lost_backlog}}});
  auto& server = w.add_host("server");
  leat::duration took{};
  w.run([&](world&) -> task<> {
    task_group group;
    group.spawn_on(server.thread(), [&took]() -> task<> {
      leat::listener l = co_await leat::listen("*:80");
      connection c = co_await l.accept();
      took = time_now().time_since_epoch();
      std::array<char, 8> bytes;
      CHECK(co_await c.async_read_some(asio::buffer(bytes)) == 2);
    });
    co_await leat::sleep_for(1ms);
    connection c = co_await leat::connect("server:80");
    co_await leat::sleep_for(until_write);
    co_await c.async_write_some(asio::buffer("hi", 2));
    co_await group.join();
  });
  return took;
}

TEST_CASE("network: a server that does not know a client yet learns of it from its first bytes") {
  CHECK(time_to_know(500ms) == 504ms);
}

TEST_CASE("network: a server that does not know a client yet answers again after 1 s") {
  CHECK(time_to_know(5s) == 1004ms);
}

TEST_CASE("network: the same decisions give the same schedule, in words") {
  std::vector<std::string> lines;
  {
    world w(
        {}, 1,
        {.network = {.plan = leat::sim::planned_network_fault{1, leat::sim::network_fault::loss}}});
    w.trace();
    auto& server = w.add_host("server");
    w.run([&](world&) -> task<> {
      task_group group;
      group.spawn_on(
          server.thread(),
          []() -> task<> {
            leat::listener l = co_await leat::listen("*:80");
            connection c = co_await l.accept();
            co_await c.async_wait(connection::wait_type::wait_read);
          },
          "serve");
      co_await leat::sleep_for(1ms);
      connection c = co_await leat::connect("server:80");
      co_await c.async_write_some(asio::buffer("hi", 2));
      co_await group.join();
    });
    lines = w.schedule();
  }
  const auto has = [&](const char* text) {
    return std::ranges::any_of(lines, [&](const auto& l) { return l.find(text) != l.npos; });
  };
  for (const auto& line : lines) UNSCOPED_INFO(line);
  CHECK(has("server/0: serve begins"));
  CHECK(has("network: local: connect to server:80: answered"));
  CHECK(has("network: connection 1 (server:80 -> local:32768) can be accepted"));
  CHECK(has("network: local sends again a segment of connection 1"));
  CHECK(has("network: 2 bytes of connection 1 (local:32768 -> server:80) arrive"));
  CHECK(has("network: server closes connection 1 (server:80 -> local:32768) with 2 unread bytes"));
}

TEST_CASE("network: a deadlock shows the connections") {
  world w({}, 1);
  auto& server = w.add_host("server");
  std::string message;
  try {
    w.run([&](world&) -> task<> {
      task_group group;
      group.spawn_on(server.thread(), []() -> task<> {
        leat::listener l = co_await leat::listen("*:80");
        connection c = co_await l.accept();
        std::array<char, 8> bytes;
        co_await c.async_read_some(asio::buffer(bytes));
      });
      co_await leat::sleep_for(1ms);
      connection c = co_await leat::connect("server:80");
      co_await group.join();
    });
  } catch (const leat::sim::deadlock& error) {
    message = error.what();
  }
  CHECK(message.find("await async_read_some, peer 10.0.0.1:32768 (established") != message.npos);
  CHECK(message.find("server: connection 1 (server:80 -> local:32768) established, 0 unread") !=
        message.npos);
}

task<> read_twice(connection& c) {
  std::array<char, 8> bytes;
  const auto read = [&]() -> task<> {
    static_cast<void>(co_await as_tuple(c.async_read_some(asio::buffer(bytes))));
  };
  co_await leat::with_task_group([&](task_group& reads) -> task<> {
    for (int i = 0; i < 2; ++i) reads.spawn(read);
    co_return;
  });
}

TEST_CASE("network: two reads at the same time are a violation") {
  CHECK_THROWS_WITH(run_two([](world&, connection c) -> task<> { co_await read_twice(c); },
                            [](world&) -> task<> {
                              connection c = co_await leat::connect("server:80");
                              co_await leat::sleep_for(1s);
                            }),
                    Catch::Matchers::Contains("two reads at the same time"));
}

TEST_CASE("network: misuse of its interface") {
  world w({}, 1);
  CHECK_THROWS_AS(w.add_host(""), std::invalid_argument);
  CHECK_THROWS_AS(w.add_host("local"), std::invalid_argument);
  CHECK_THROWS_AS(w.add_host("10.0.0.9"), std::invalid_argument);
  CHECK_THROWS_AS(w.network().partition({"local"}, {"nobody"}), std::invalid_argument);
  CHECK_THROWS_AS(w.network().set_name("api", {"nobody"}), std::invalid_argument);
}

TEST_CASE("network: an option without an effect fails") {
  run_two([](world&, connection c) -> task<> { co_await leat::close_gracefully(std::move(c)); },
          [](world&) -> task<> {
            connection c = co_await leat::connect("server:80");
            c.set_option(asio::ip::tcp::no_delay(true));
            CHECK_THROWS_AS(c.set_option(asio::socket_base::receive_low_watermark(10)),
                            leat::failure);
            CHECK_THROWS_AS(c.set_option(asio::socket_base::linger(true, 3)), leat::failure);
          });
}

}  // namespace network_test
