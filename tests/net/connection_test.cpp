#include "leat/net/connection.hpp"

#include <fcntl.h>
#include <sys/socket.h>

#include <asio.hpp>

#include "net/net_halves.hpp"

namespace connection_test {

using leat::as_tuple;
using leat::select;
using leat::with_timeout;
using leat_test::connect_ends;
using leat_test::connection;
using leat_test::endpoint;
using leat_test::ends;
using leat_test::read_all;
using leat_test::write_all;
using namespace std::chrono_literals;

LEAT_NET_TEST("connection: bytes arrive in order, and the end after them") {
  ends e = co_await connect_ends(half);
  co_await write_all(e.client, "hello ");
  co_await write_all(e.client, "world");
  CHECK_FALSE(e.client.shutdown_send());
  CHECK(co_await read_all(e.server) == "hello world");
  co_await write_all(e.server, "reply");  // the other direction is open
  e.server.close();
  CHECK(co_await read_all(e.client) == "reply");
  CHECK_FALSE(e.server.is_open());
}

LEAT_NET_TEST("connection: async_read_some reports the end as eof, as composed operations need") {
  ends e = co_await connect_ends(half);
  e.client.close();
  std::array<char, 4> bytes;
  const auto end = co_await as_tuple(e.server.async_read_some(asio::buffer(bytes)));
  CHECK(end.error == asio::error::eof);
  const auto again =
      co_await as_tuple(asio::async_read(e.server, asio::buffer(bytes), leat::use_task));
  CHECK(again.error == asio::error::eof);
  const auto none = co_await e.server.async_read_some_or_end(asio::buffer(bytes));
  CHECK_FALSE(none);
}

LEAT_NET_TEST("connection: composed operations of Asio") {
  ends e = co_await connect_ends(half);
  co_await write_all(e.client, "GET /\r\nrest");
  std::string line;
  const std::size_t n =
      co_await asio::async_read_until(e.server, asio::dynamic_buffer(line), "\r\n", leat::use_task);
  CHECK(line.substr(0, n) == "GET /\r\n");
  line.erase(0, n);
  if (line.size() < 4) {
    co_await asio::async_read(e.server, asio::dynamic_buffer(line),
                              asio::transfer_exactly(4 - line.size()), leat::use_task);
  }
  CHECK(line == "rest");
}

LEAT_NET_TEST("connection: several buffers, empty buffers, and no buffers") {
  ends e = co_await connect_ends(half);
  const std::string a = "ab";
  const std::string b = "cd";
  const std::array<asio::const_buffer, 3> parts{asio::buffer(a), asio::const_buffer(),
                                                asio::buffer(b)};
  CHECK(co_await asio::async_write(e.client, parts, leat::use_task) == 4);
  std::array<char, 1> first;
  std::array<char, 8> rest;
  const std::array<asio::mutable_buffer, 2> into{asio::buffer(first), asio::buffer(rest)};
  std::size_t n = co_await e.server.async_read_some(into);
  while (n < 4) n += co_await e.server.async_read_some(asio::buffer(&rest[n - 1], 8 - n));
  CHECK(first[0] == 'a');
  CHECK(std::string(rest.data(), 3) == "bcd");
  CHECK(co_await e.server.async_read_some(asio::mutable_buffer()) == 0);
  CHECK(co_await e.server.async_write_some(asio::const_buffer()) == 0);
}

LEAT_NET_TEST("connection: a limit or a stop ends a read without an effect") {
  ends e = co_await connect_ends(half);
  std::array<char, 8> bytes;
  const auto late =
      co_await as_tuple(with_timeout(e.server.async_read_some(asio::buffer(bytes)), 5ms));
  CHECK(late.error == make_error_code(errc::deadline_exceeded));
  std::stop_source stop;
  stop.request_stop();
  const auto stopped = co_await as_tuple(
      leat::with_stop(e.server.async_read_some(asio::buffer(bytes)), stop.get_token()));
  CHECK(stopped.error == make_error_code(errc::cancelled));
  const auto first =
      co_await select(e.server.async_read_some(asio::buffer(bytes)), leat::sleep_for(1ms));
  CHECK(first.index() == 1);
  co_await write_all(e.client, "still");
  const auto n = co_await e.server.async_read_some(asio::buffer(bytes));
  CHECK(std::string_view(bytes.data(), n) == "still");
}

LEAT_NET_TEST("connection: with a limit of 0, a read takes what has arrived") {
  ends e = co_await connect_ends(half);
  std::array<char, 8> bytes;
  const auto none =
      co_await as_tuple(with_timeout(e.server.async_read_some(asio::buffer(bytes)), 0s));
  CHECK(none.error == make_error_code(errc::deadline_exceeded));
  co_await write_all(e.client, "abc");
  co_await e.server.async_wait(connection::wait_type::wait_read);
  const auto some =
      co_await as_tuple(with_timeout(e.server.async_read_some(asio::buffer(bytes)), 0s));
  CHECK_FALSE(some.error);
  CHECK(some.value == 3);
}

LEAT_NET_TEST("connection: a write waits while the peer does not read, and nothing is lost") {
  ends e = co_await connect_ends(half);
  const std::string block(64 * 1024, 'x');
  std::size_t sent = 0;
  for (;;) {
    const auto some =
        co_await as_tuple(with_timeout(e.client.async_write_some(asio::buffer(block)), 20ms));
    if (some.error) {
      CHECK(some.error == make_error_code(errc::deadline_exceeded));
      break;
    }
    sent += some.value;
  }
  CHECK(e.client.status().unsent + e.server.status().unread > 0);
  CHECK_FALSE(e.client.shutdown_send());
  std::size_t received = 0;
  std::vector<char> bytes(100'000);
  while (const auto n = co_await e.server.async_read_some_or_end(asio::buffer(bytes))) {
    received += *n;
  }
  CHECK(received == sent);
}

task<> read_once(connection& c, leat::asio_error_code& error) {
  std::array<char, 8> bytes;
  error = (co_await as_tuple(c.async_read_some(asio::buffer(bytes)))).error;
}

LEAT_NET_TEST("connection: a close ends the operations, and the facts stay") {
  ends e = co_await connect_ends(half);
  task_group group;
  leat::asio_error_code seen;
  group.spawn(read_once(e.server, seen));
  co_await leat::sleep_for(1ms);
  const endpoint peer = e.server.peer();
  e.server.close();
  co_await group.join();
  CHECK(seen == asio::error::operation_aborted);
  if (!half.is_unix) CHECK(e.server.peer() == peer);
  CHECK(e.server.status().state == "closed");
  std::array<char, 8> bytes;
  const auto after = co_await as_tuple(e.server.async_read_some(asio::buffer(bytes)));
  CHECK(after.error);
}

LEAT_NET_TEST("connection: cancel() ends the operations and leaves it usable") {
  ends e = co_await connect_ends(half);
  task_group group;
  leat::asio_error_code seen;
  group.spawn(read_once(e.server, seen));
  co_await leat::sleep_for(1ms);
  e.server.cancel();
  co_await group.join();
  CHECK(seen == asio::error::operation_aborted);
  co_await write_all(e.client, "x");
  e.client.close();
  CHECK(co_await read_all(e.server) == "x");
}

LEAT_NET_TEST("connection: a reset reaches the peer, once") {
  ends e = co_await connect_ends(half);
  e.client.reset();
  std::array<char, 8> bytes;
  const auto first = co_await as_tuple(e.server.async_read_some(asio::buffer(bytes)));
  if (half.is_unix) {  // SO_LINGER has no effect there
    CHECK(first.error == half.abrupt_end);
    co_return;
  }
  CHECK(first.error == asio::error::connection_reset);
  const auto second = co_await as_tuple(e.server.async_read_some(asio::buffer(bytes)));
  CHECK(second.error == half.abrupt_end);
  for (int i = 0; i < 3; ++i) {
    const auto again = co_await as_tuple(e.server.async_read_some(asio::buffer(bytes)));
    CHECK(again.error == half.abrupt_end);
    const auto written = co_await as_tuple(e.server.async_write_some(asio::buffer(bytes)));
    CHECK(written.error == asio::error::broken_pipe);
  }
}

LEAT_NET_TEST("connection: every write fails after the end was sent, and reads go on") {
  ends e = co_await connect_ends(half);
  CHECK_FALSE(e.client.shutdown_send());
  const std::array<char, 8> bytes{};
  for (int i = 0; i < 5; ++i) {
    const auto written = co_await as_tuple(e.client.async_write_some(asio::buffer(bytes)));
    CHECK(written.error == asio::error::broken_pipe);
  }
  CHECK(co_await read_all(e.server) == "");
  co_await write_all(e.server, "still");
  e.server.close();
  CHECK(co_await read_all(e.client) == "still");
}

LEAT_NET_TEST("connection: reads go on after limits, and then see data and the end") {
  ends e = co_await connect_ends(half);
  std::array<char, 8> bytes;
  for (int i = 0; i < 5; ++i) {
    const auto late =
        co_await as_tuple(with_timeout(e.server.async_read_some(asio::buffer(bytes)), 1ms));
    CHECK(late.error == make_error_code(errc::deadline_exceeded));
    co_await write_all(e.client, std::to_string(i));
    CHECK(co_await e.server.async_read_some(asio::buffer(bytes)) == 1);
  }
  e.client.close();
  CHECK(co_await read_all(e.server) == "");
}

LEAT_NET_TEST("connection: close_gracefully() delivers the last reply although bytes are unread") {
  for (const bool gracefully : {true, false}) {
    ends e = co_await connect_ends(half);
    co_await write_all(e.client, "request and more");
    co_await e.server.async_wait(connection::wait_type::wait_read);
    co_await write_all(e.server, "reply");
    const auto closed = [](connection c, bool how) -> task<> {
      if (how) co_await leat::close_gracefully(std::move(c));
    };
    task_group group;
    group.spawn(closed(std::move(e.server), gracefully));
    std::array<char, 5> reply;
    const auto read =
        co_await as_tuple(asio::async_read(e.client, asio::buffer(reply), leat::use_task));
    CHECK_FALSE(read.error);
    const auto end = co_await as_tuple(e.client.async_read_some(asio::buffer(reply)));
    CHECK(end.error == (gracefully ? leat::asio_error_code(asio::error::eof) : half.reset));
    e.client.close();
    co_await group.join();
  }
}

LEAT_NET_TEST("connection: close_gracefully() ends at its limit, also while the peer sends") {
  ends e = co_await connect_ends(half);
  task_group group;
  group.spawn([](connection& c) -> task<> {
    const std::string block(4096, 'x');
    while (!(co_await as_tuple(c.async_write_some(asio::buffer(block)))).error) {
    }
  }(e.client));
  const auto start = leat::this_task::get_scheduler().now();
  co_await leat::close_gracefully(std::move(e.server), 30ms);
  CHECK(leat::this_task::get_scheduler().now() - start >= 30ms);
  CHECK(leat::this_task::get_scheduler().now() - start < 5s);
  co_await group.join();
  co_await leat::close_gracefully({});  // of a connection that is closed
}

LEAT_NET_TEST("connection: async_wait() needs no buffer") {
  ends e = co_await connect_ends(half);
  co_await e.client.async_wait(connection::wait_type::wait_write);
  const auto none =
      co_await as_tuple(with_timeout(e.client.async_wait(connection::wait_type::wait_read), 5ms));
  CHECK(none.error == make_error_code(errc::deadline_exceeded));
  co_await write_all(e.server, "x");
  co_await e.client.async_wait(connection::wait_type::wait_read);
  CHECK(e.client.status().unread == 1);
}

LEAT_NET_TEST("connection: knows its addresses and its state") {
  ends e = co_await connect_ends(half);
  CHECK(e.client.local() == e.server.peer());
  CHECK(e.client.peer() == e.server.local());
  CHECK(e.client.status().state == "established");
  CHECK(&e.client.get_scheduler() == &leat::this_task::get_scheduler());
  CHECK(&e.client.get_executor().get_scheduler() == &leat::this_task::get_scheduler());
  if (half.is_unix) co_return;
  asio::ip::tcp::no_delay no_delay(false);
  e.client.get_option(no_delay);
  CHECK(no_delay.value());  // the default of leat
  e.client.set_option(asio::ip::tcp::no_delay(false));
  e.client.get_option(no_delay);
  CHECK_FALSE(no_delay.value());
  const bool is_socket = !half.is_simulated && !half.secure;
  CHECK((e.client.asio_socket() != nullptr) == is_socket);
  CHECK(e.client.status().protocol.empty() == !half.secure);
  if (!is_socket) co_return;
  CHECK((::fcntl(e.client.asio_socket()->native_handle(), F_GETFD) & FD_CLOEXEC) != 0);
  CHECK((::fcntl(e.server.asio_socket()->native_handle(), F_GETFD) & FD_CLOEXEC) != 0);
}

LEAT_NET_TEST("connection: options are set when it is made") {
  if (half.is_unix) co_return;
  leat::connection_options o;
  o.no_delay = false;
  o.keep_alive_probes = leat::keep_alive{.idle = 5s, .interval = 1500ms, .probes = 3};
  o.user_timeout = 1500ms;
  o.send_buffer = 64 * 1024;
  leat::listener l = co_await leat::listen(half.address(), {.accepted = o});
  connection c = co_await leat::connect(l.local(), o);
  connection s = co_await l.accept();
  for (connection* one : {&c, &s}) {
    const auto value = [&](int level, int name) {
      int v = 0;
      std::size_t size = sizeof v;
      CHECK_FALSE(one->stream().get_option(level, name, &v, size));
      return v;
    };
    CHECK(value(IPPROTO_TCP, TCP_NODELAY) == 0);
    CHECK(value(SOL_SOCKET, SO_KEEPALIVE) == 1);
    CHECK(value(IPPROTO_TCP, TCP_KEEPIDLE) == 5);
    CHECK(value(IPPROTO_TCP, TCP_KEEPINTVL) == 2);  // rounded up
    CHECK(value(IPPROTO_TCP, TCP_KEEPCNT) == 3);
    CHECK(value(IPPROTO_TCP, TCP_USER_TIMEOUT) == 1500);
    CHECK(value(SOL_SOCKET, SO_SNDBUF) == 64 * 1024);
  }
}

LEAT_NET_TEST("connection: options that are out of range are limited to what the kernel takes") {
  leat::connection_options o;
  o.keep_alive_probes =
      leat::keep_alive{.idle = leat::duration::max(), .interval = 0s, .probes = 1000};
  o.user_timeout = leat::duration::max();
  o.send_buffer = SIZE_MAX;
  o.receive_buffer = 1;
  leat::listener l = co_await leat::listen(half.address(), {.accepted = o});
  connection c = co_await leat::connect(l.local(), o);
  connection s = co_await l.accept();
  co_await write_all(c, "x");
  c.close();
  CHECK(co_await read_all(s) == "x");
}

LEAT_NET_TEST("connection: its destructor does not wait for a peer that does not read") {
  if (half.is_unix || half.is_simulated) co_return;  // without SO_LINGER
  ends e = co_await connect_ends(half);
  e.client.set_option(asio::socket_base::linger(true, 3));
  const std::string block(64 * 1024, 'x');
  while (!(co_await as_tuple(with_timeout(e.client.async_write_some(asio::buffer(block)), 10ms)))
              .error) {
  }
  const auto begin = std::chrono::steady_clock::now();
  e.client = connection();
  CHECK(std::chrono::steady_clock::now() - begin < 2s);
}

LEAT_NET_TEST("connection: is movable, and an empty one is closed") {
  ends e = co_await connect_ends(half);
  connection moved = std::move(e.client);
  CHECK_FALSE(e.client.is_open());
  CHECK_FALSE(e.client.peer());
  CHECK_FALSE(e.client.local());
  CHECK(e.client.asio_socket() == nullptr);
  e.client.close();
  e.client.reset();
  e.client.cancel();
  CHECK(e.client.status().state == "closed");
  co_await write_all(moved, "x");
  moved = connection();  // closes it
  CHECK(co_await read_all(e.server) == "x");
}

LEAT_NET_TEST("connection: both directions carry much data at the same time") {
  ends e = co_await connect_ends(half);
  std::string text;
  for (int i = 0; text.size() < 2'000'000; ++i) text += std::to_string(i) + ' ';
  const auto send = [](connection& c, const std::string& all) -> task<> {
    co_await asio::async_write(c, asio::buffer(all), leat::use_task);
    CHECK_FALSE(c.shutdown_send());
  };
  const auto receive = [](connection& c, std::string& all) -> task<> {
    std::vector<char> bytes(50'000);
    while (const auto n = co_await c.async_read_some_or_end(asio::buffer(bytes))) {
      all.append(bytes.data(), *n);
    }
  };
  std::string at_client;
  std::string at_server;
  co_await leat::with_task_group([&](task_group& group) -> task<> {
    group.spawn(send(e.client, text));
    group.spawn(send(e.server, text));
    group.spawn(receive(e.client, at_client));
    group.spawn(receive(e.server, at_server));
    co_return;
  });
  CHECK(at_client == text);
  CHECK(at_server == text);
}

LEAT_NET_TEST("connection: close() delivers what was written, although the peer reads late") {
  ends e = co_await connect_ends(half);
  std::string text;
  for (;;) {  // until the buffers are full
    const std::string block(50'000, static_cast<char>('a' + text.size() % 26));
    const auto some =
        co_await as_tuple(with_timeout(e.client.async_write_some(asio::buffer(block)), 5ms));
    if (some.error) break;
    text.append(block, 0, some.value);
  }
  e.client = connection();
  co_await leat::sleep_for(5ms);
  CHECK(co_await read_all(e.server) == text);
}

LEAT_NET_TEST("connection: asio::awaitable coroutines use it with their token") {
  ends e = co_await connect_ends(half);
  leat::oneshot<std::string> result;
  asio::co_spawn(
      e.server.get_executor(),
      [](connection& c, leat::oneshot<std::string>::sender to) -> asio::awaitable<void> {
        std::string line;
        const auto n = co_await asio::async_read_until(c, asio::dynamic_buffer(line), '\n',
                                                       asio::use_awaitable);
        co_await asio::async_write(c, asio::buffer("ok"), asio::use_awaitable);
        to.send(line.substr(0, n));
      }(e.server, std::move(result.tx)),
      asio::detached);
  co_await write_all(e.client, "line\n");
  std::array<char, 2> reply;
  co_await asio::async_read(e.client, asio::buffer(reply), leat::use_task);
  CHECK(co_await result.rx.receive() == "line\n");
}

TEST_CASE("connection: adopts a socket of Asio and a descriptor") {
  leat::block_on([]() -> task<> {
    asio::io_context& io = *leat::get_io_context(leat::this_task::get_scheduler());
    leat::listener l = co_await leat::listen("127.0.0.1:0");
    asio::ip::tcp::socket socket(io);
    socket.connect({asio::ip::address_v4::loopback(), l.local().port()});
    connection c(std::move(socket));
    connection s = co_await l.accept();
    CHECK(c.peer() == l.local());
    co_await write_all(c, "adopted");
    c.close();
    CHECK(co_await read_all(s) == "adopted");

    std::array<int, 2> pair{};
    REQUIRE(::socketpair(AF_UNIX, SOCK_STREAM, 0, pair.data()) == 0);
    connection a = connection::adopt(pair[0]);
    connection b = connection::adopt(pair[1], &leat::this_task::get_scheduler());
    CHECK((::fcntl(pair[0], F_GETFD) & FD_CLOEXEC) != 0);
    co_await write_all(a, "pair");
    a.close();
    CHECK(co_await read_all(b) == "pair");
    CHECK_FALSE(b.peer());
  }());
}

TEST_CASE("connection: rejects a descriptor that is no stream, and closes it") {
  leat::block_on([]() -> task<> {
    const auto refused = [](int descriptor) {
      const std::string text = error_of([&] { static_cast<void>(connection::adopt(descriptor)); });
      CHECK((descriptor < 0 || ::fcntl(descriptor, F_GETFD) == -1));
      return text;
    };
    CHECK(contains(refused(::socket(AF_INET, SOCK_DGRAM, 0)), "it is not a stream socket"));
    CHECK(contains(refused(::open("/dev/null", O_RDONLY)), "non-socket"));
    CHECK(contains(refused(-1), "descriptor -1 adopted as a connection: it is not open"));
    const std::string closed = error_of([] {
      connection c = connection::adopt(::socket(AF_UNIX, SOCK_STREAM, 0));
      c.close();
      leat::embedded_scheduler other;
      c.attach(other);
    });
    CHECK(contains(closed, "moved to another scheduler after close()"));
    const int listening = ::socket(AF_INET, SOCK_STREAM, 0);
    REQUIRE(::listen(listening, 1) == 0);
    CHECK(contains(refused(listening), "it listens: pass it to listener::adopt()"));
    co_return;
  }());
  const int descriptor = ::socket(AF_UNIX, SOCK_STREAM, 0);
  CHECK(contains(error_of([&] { static_cast<void>(connection::adopt(descriptor)); }),
                 "outside a task: pass the scheduler"));
}

TEST_CASE("connection: moves to another scheduler before its first operation") {
  leat::runtime rt({.threads = 2});
  rt.block_on([](leat::runtime& r) -> task<> {
    leat::listener l = co_await leat::listen("127.0.0.1:0");
    connection c = co_await leat::connect(l.local());
    connection s = co_await l.accept();
    s.attach(r.get_scheduler(1));
    CHECK(&s.get_scheduler() == &r.get_scheduler(1));
    task_group group;
    std::string seen;
    group.spawn_on(r.get_scheduler(1), [](connection own, std::string& out) -> task<> {
      out = co_await read_all(own);
    }(std::move(s), seen));
    co_await write_all(c, "elsewhere");
    c.close();
    co_await group.join();
    CHECK(seen == "elsewhere");
  }(rt));
}

}  // namespace connection_test
