#include "leat/net/connect.hpp"

#include <thread>

#include <asio.hpp>

#include "leat/async/dump/dump.hpp"
#include "leat/async/loop/completion_tokens.hpp"
#include "net/net_halves.hpp"

namespace connect_test {

using leat::as_tuple;
using leat::network_stream;
using leat::with_timeout;
using leat_test::connection;
using leat_test::endpoint;
using leat_test::listener;
using leat_test::message_of;
using namespace std::chrono_literals;

LEAT_NET_TEST("connect: the errors name the endpoint") {
  endpoint at = half.address();
  if (!half.is_unix) {
    listener l = co_await leat::listen(at);
    at = l.local();
  }
  const std::string text = co_await message_of(leat::connect(at));
  CHECK(contains(text, "connect to " + at.text() + ": Connection refused"));
  const auto tuple = co_await as_tuple(leat::connect(at));
  CHECK(tuple.error == asio::error::connection_refused);
}

LEAT_NET_TEST("connect: a limit and a stop leave nothing connected") {
  listener l = co_await leat::listen(half.address());
  for (int i = 0; i < 10; ++i) {
    const auto late = co_await as_tuple(with_timeout(leat::connect(l.local()), 0s));
    // On this machine, it may connect at once.
    CHECK((!late.error || late.error == make_error_code(errc::deadline_exceeded)));
  }
  const auto first = co_await leat::select(leat::connect(l.local()), leat::connect(l.local()));
  const connection& won = first.index() == 0 ? std::get<0>(first) : std::get<1>(first);
  CHECK(won.is_open());
  // Whatever the others have begun has ended.
  std::size_t alive = 0;
  for (;;) {
    auto c = co_await as_tuple(with_timeout(l.accept(), 20ms));
    if (c.error) break;
    std::array<char, 1> byte;
    const auto read =
        co_await as_tuple(with_timeout(c.value.async_read_some(asio::buffer(byte)), 20ms));
    if (read.error == make_error_code(errc::deadline_exceeded)) ++alive;
  }
  CHECK(alive == 1);
}

LEAT_NET_TEST("connect: a completion token") {
  listener l = co_await leat::listen(half.address());
  leat::oneshot<bool> done;
  leat::async_connect(leat::this_task::get_scheduler(), l.local(), {},
                      [to = std::move(done.tx)](leat::asio_error_code ec, connection c) mutable {
                        to.send(!ec && c.is_open());
                      });
  connection c = co_await l.accept();
  CHECK(co_await done.rx.receive() == true);
}

TEST_CASE("connect: ends as cancelled with the scheduler of the connection") {
  leat::runtime rt({.threads = 1});
  const std::string at = "unix:@leat-full-" + std::to_string(::getpid());
  listener full = rt.block_on(leat::listen(at, {.backlog = 0}));
  connection first = rt.block_on([](std::string to) -> task<connection> {
    co_return co_await leat::connect(to);
  }(at));  // another one waits
  for (const bool begins : {false, true}) {
    std::optional<asio::io_context> io(std::in_place);
    std::string message;
    std::thread waits([&, on = &leat::get_scheduler(*io)] {
      message = error_of([&] { static_cast<void>(leat::block_on(leat::connect(*on, at), 60s)); });
    });
    std::this_thread::sleep_for(20ms);
    if (begins) io->poll();
    io.reset();
    waits.join();
    CHECK(contains(message, ": the scheduler of the connection has ended"));
  }
  rt.block_on([](listener l, connection c) -> task<> {
    l.close();
    c.close();
    co_return;
  }(std::move(full), std::move(first)));
}

TEST_CASE("connect: rejects what is no address of a peer") {
  leat::block_on([]() -> task<> {
    for (const char* text : {"*:80", "127.0.0.1:0", "name:0"}) {
      CHECK(contains(co_await message_of(leat::connect(text), errc::invalid_argument),
                     "connect to " + std::string(text) + ": this is no address of a peer"));
    }
    CHECK(contains(co_await message_of(leat::connect(endpoint()), errc::invalid_argument),
                   "connect to -: "));
  }());
}

TEST_CASE("connect: resolves a name") {
  leat::block_on([]() -> task<> {
    listener l = co_await leat::listen("*:0");
    connection c = co_await leat::connect(endpoint("localhost", l.local().port()));
    CHECK(c.peer().is_address());
    CHECK(c.peer().port() == l.local().port());
    const auto found = co_await leat::resolve("localhost:80");
    REQUIRE_FALSE(found.empty());
    CHECK(found.front().is_address());
    CHECK(found.front().port() == 80);
    CHECK((co_await leat::resolve("10.0.0.7:80")).front() == endpoint("10.0.0.7:80"));
    CHECK((co_await leat::resolve("unix:x")).front() == endpoint("unix:x"));
    const std::string text = co_await message_of(leat::connect("no-such-name.invalid:80"));
    CHECK(contains(text, "resolve no-such-name.invalid:80: "));
    const auto late = co_await as_tuple(with_timeout(leat::resolve("slow.invalid:80"), 0s));
    CHECK(late.error == make_error_code(errc::deadline_exceeded));
  }());
}

// A network whose names and connections behave as a test wants.
class fake_network final : public leat::network_backend {
 public:
  struct address {
    endpoint at;
    leat::duration after;
    errc error = errc{};  // none: it connects
  };
  explicit fake_network(std::vector<address> all) : all_(std::move(all)) {}

  std::string_view name() const noexcept override { return "fake"; }
  task<std::unique_ptr<network_stream>> connect(endpoint to, leat::connection_options) override {
    const leat::scheduler& clock = leat::this_task::get_scheduler();
    started.emplace_back(to.text(), clock.now().time_since_epoch());
    for (const address& a : all_) {
      if (a.at != to) continue;
      co_await leat::sleep_for(a.after);
      if (a.error != errc{}) throw leat::failure(a.error, "refused");
      co_return std::make_unique<stream>(to);
    }
    throw leat::failure(errc::not_found, "no such address");
  }
  task<std::vector<endpoint>> resolve(endpoint) override {
    std::vector<endpoint> found;
    for (const address& a : all_) found.push_back(a.at);
    co_return found;
  }
  std::unique_ptr<leat::network_acceptor> listen(const endpoint&,
                                                 const leat::listen_options&) override {
    return nullptr;
  }

  std::vector<std::pair<std::string, leat::duration>> started;

 private:
  class stream final : public network_stream {
   public:
    explicit stream(endpoint to) : to_(std::move(to)) {}
    void attach(leat::scheduler& on) override { scheduler_ = &on; }
    void start(leat::network_transfer&) noexcept override {}
    void cancel(leat::network_transfer&) noexcept override {}
    void cancel_all() noexcept override {}
    leat::asio_error_code shutdown_send() noexcept override { return {}; }
    void close(bool) noexcept override {}
    bool is_open() const noexcept override { return true; }
    bool try_transfer(leat::network_transfer&) noexcept override { return false; }
    endpoint peer() const override { return to_; }
    endpoint local() const override { return {}; }
    leat::connection_status status() const noexcept override { return {}; }
    leat::asio_error_code set_option(int, int, const void*, std::size_t) noexcept override {
      return {};
    }
    leat::asio_error_code get_option(int, int, void*, std::size_t&) const noexcept override {
      return {};
    }

   private:
    endpoint to_;
  };

  std::vector<address> all_;
};

using fake_address = fake_network::address;

task<std::string> connect_with(fake_network& network) {
  leat::scheduler& here = leat::this_task::get_scheduler();
  here.set_service<leat::network_backend>(&network);
  const auto message = [](leat::network_backend&) -> task<std::string> {
    try {
      const connection c = co_await leat::connect("db:5432");
      co_return c.peer().text();
    } catch (const leat::failure& e) {
      co_return e.what();
    }
  };
  std::string text = co_await message(network);
  here.set_service<leat::network_backend>(nullptr);
  co_return text;
}

LEAT_TEST("connect: an address that does not answer gets a rival after 250 ms") {
  fake_network network({{"[::1]:1", 1h}, {"10.0.0.1:1", 1h}, {"[::2]:1", 10ms}});
  CHECK(co_await connect_with(network) == "[::2]:1");
  REQUIRE(network.started.size() == 3);
  CHECK(network.started[1].second - network.started[0].second == 250ms);
  CHECK(network.started[2].second - network.started[1].second == 250ms);
  CHECK(network.connecting().live_tasks() == 0);
}

LEAT_TEST("connect: the first address wins if it answers first") {
  fake_network network({{"[::1]:1", 400ms}, {"10.0.0.1:1", 400ms}});
  CHECK(co_await connect_with(network) == "[::1]:1");
  CHECK(network.started.size() == 2);
}

LEAT_TEST("connect: an address that fails gets a rival at once") {
  fake_network network({{"[::1]:1", 0s, errc::unavailable}, {"10.0.0.1:1", 5ms}, {"[::2]:1", 1h}});
  CHECK(co_await connect_with(network) == "10.0.0.1:1");
  REQUIRE(network.started.size() == 2);
  CHECK(network.started[1].second - network.started[0].second < 1ms);
}

LEAT_TEST("connect: the error names each address") {
  fake_network network(
      {{"[::1]:1", 300ms, errc::unavailable}, {"10.0.0.1:1", 0s, errc::permission_denied}});
  CHECK(co_await connect_with(network) ==
        "connect to db:5432: [::1]:1 unavailable; 10.0.0.1:1 permission denied: unavailable");
}

LEAT_TEST("connect: a limit ends all attempts") {
  fake_network network({{"[::1]:1", 1h}, {"10.0.0.1:1", 1h}});
  leat::this_task::get_scheduler().set_service<leat::network_backend>(&network);
  const auto late = co_await as_tuple(with_timeout(leat::connect("db:5432"), 1s));
  CHECK(late.error == make_error_code(errc::deadline_exceeded));
  co_await leat::sleep_for(1ms);
  CHECK(network.connecting().live_tasks() == 0);
  leat::this_task::get_scheduler().set_service<leat::network_backend>(nullptr);
}

LEAT_TEST("connect: a dump shows who waits, and for which address") {
  fake_network network({{"[::1]:1", 1h}});
  leat::this_task::get_scheduler().set_service<leat::network_backend>(&network);
  task_group group;
  group.spawn([]() -> task<> { static_cast<void>(co_await leat::connect("db:5432")); }(), "client");
  co_await leat::sleep_for(1ms);
  std::ostringstream out;
  leat::dump(out);
  CHECK(contains(out.str(), "client: connect to endpoint 'db:5432', at connect_test.cpp"));
  CHECK(contains(out.str(), "[::1]:1: sleep for another"));
  group.request_stop();
  co_await stop_and_join(group);
  co_await leat::sleep_for(1ms);
  CHECK(network.connecting().live_tasks() == 0);
  leat::this_task::get_scheduler().set_service<leat::network_backend>(nullptr);
}

}  // namespace connect_test
