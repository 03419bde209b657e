// Connect, accept, the backlog and ports.

#include <sys/resource.h>

#include "net/parity/router.hpp"

namespace connect_parity_test {

using namespace leat_test::parity;

task<std::string> connect_to_nobody(place& p) { return p.try_connect(p.closed_address()); }

TEST_CASE("parity: a connect to a port without a listener is refused") {
  compare(connect_to_nobody, {.always = {{"ECONNREFUSED", "tcp(7)"}}});
}

// ---- The backlog.

// Fills the backlog, connects once more, and then accepts one.
task<std::string> fill_backlog(place& p, int backlog) {
  listener& l = *co_await p.listen({.backlog = backlog});
  std::vector<connection> clients(static_cast<std::size_t>(backlog) + 2);
  std::string seen;
  for (int i = 0; i <= backlog; ++i) {
    add(seen, co_await p.try_connect(p.address_of(l), clients[std::size_t(i)], p.long_limit()));
  }
  add(seen, co_await p.try_connect(p.address_of(l), clients.back(), p.short_limit()));
  std::string next;
  connection accepted;
  co_await leat::with_task_group([&](task_group& both) -> task<> {
    both.spawn([](place& here, listener& from, std::string& text) -> task<> {
      connection c;
      text = co_await here.try_connect(here.address_of(from), c, here.long_limit());
    }(p, l, next));
    accepted = co_await p.accept(l);
  });
  co_return seen + ", after an accept: " + next;
}

task<std::string> fill_backlog_of_0(place& p) { return fill_backlog(p, 0); }
task<std::string> fill_backlog_of_1(place& p) { return fill_backlog(p, 1); }

TEST_CASE("parity: a backlog of 0 holds one connection, and a connect to a full one waits") {
  compare(fill_backlog_of_0,
          {.always = {{"connected, waits, after an accept: connected", "n + 1, as listen() does"}},
           .faults = {.loss = 0.1}});
}

TEST_CASE("parity: a backlog of 1 holds two connections") {
  compare(fill_backlog_of_1, {.always = {{"connected, connected, waits, after an accept: connected",
                                          "n + 1, as listen() does"}},
                              .faults = {.loss = 0.1}});
}

// ---- Connections that were not accepted.

task<std::string> reset_before_accept(place& p) {
  listener& l = *co_await p.listen();
  connection c = co_await p.connect(l);
  co_await p.write(c, "hi");
  co_await p.reset(c);
  connection server = co_await p.accept(l);
  std::string seen = co_await p.drain(server, 2);
  add(seen, co_await p.read_soon(server));
  co_return seen;
}

TEST_CASE("parity: a connection that was reset before it is accepted can be accepted and read") {
  compare(reset_before_accept, {.always = {{"all, ECONNRESET, end", "no ECONNABORTED on Linux"}},
                                .faulty = {{"none, ECONNRESET, end", "the data are lost"},
                                           {"all, waits, waits", "the reset is lost"},
                                           {"none, waits, waits", "both are lost"}}});
}

task<std::string> end_before_accept(place& p) {
  listener& l = *co_await p.listen();
  connection c = co_await p.connect(l);
  co_await p.write(c, "hi");
  co_await p.close(c);
  connection server = co_await p.accept(l);
  co_return co_await p.drain(server, 2);
}

TEST_CASE("parity: a connection that was closed before it is accepted has its data") {
  compare(end_before_accept, {.always = {{"all, end", "the kernel keeps both"}}});
}

task<std::string> close_with_backlog(place& p) {
  listener& l = *co_await p.listen();
  connection silent = co_await p.connect(l);
  connection asks = co_await p.connect(l);
  co_await p.write(asks, "request");
  co_await leat::sleep_for(p.short_limit());  // it has arrived
  co_await p.close(l);
  std::string seen = co_await p.read_soon(silent);
  add(seen, co_await p.read_soon(asks));
  add(seen, co_await p.write(silent, "x"));
  add(seen, co_await p.try_connect(p.address_of(l)));
  co_return seen;
}

TEST_CASE("parity: a listener that closes resets its backlog, with the requests in it") {
  compare(close_with_backlog,
          {.always = {{"ECONNRESET, ECONNRESET, EPIPE, ECONNREFUSED", "inet_csk_listen_stop()"}},
           .faulty = {{"waits, ECONNRESET, written, ECONNREFUSED", "a reset is lost"},
                      {"ECONNRESET, waits, EPIPE, ECONNREFUSED", "a reset is lost"},
                      {"waits, waits, written, ECONNREFUSED", "both resets are lost"}}});
}

// ---- Ports.

task<std::string> listen_twice(place& p) {
  const listener& l = *co_await p.listen();
  std::string seen = co_await p.try_listen({}, l.local());
  const listener& first = *co_await p.listen({.reuse_port = true});
  add(seen, co_await p.try_listen({.reuse_port = true}, first.local()));
  co_return seen;
}

TEST_CASE("parity: a port has one listener, or several with reuse_port") {
  compare(listen_twice, {.always = {{"EADDRINUSE, listening", "socket(7), SO_REUSEPORT"}}});
}

// The server closes its connection first, or keeps it, and its listener after that.
task<std::string> listen_again(place& p, bool reused, bool closes) {
  listener& l = *co_await p.listen({.reuse_address = reused});
  const endpoint at = l.local();
  ends e;
  e.client = co_await p.connect(l);
  e.server = co_await p.accept(l);
  if (closes) {
    co_await p.close(e.server);
    co_await p.read(e.client);
    co_await p.close(e.client);
  }
  co_await p.close(l);
  std::string seen = co_await p.try_listen({.reuse_address = false}, at);
  add(seen, co_await p.try_listen({}, at));
  co_return seen;
}

task<std::string> listen_in_time_wait(place& p) { return listen_again(p, false, true); }
task<std::string> listen_in_reused_time_wait(place& p) { return listen_again(p, true, true); }
task<std::string> listen_beside_connection(place& p) { return listen_again(p, false, false); }
task<std::string> listen_beside_reused(place& p) { return listen_again(p, true, false); }

TEST_CASE("parity: a port in TIME_WAIT is in use, unless both listeners reuse it") {
  const char* const reason = "SO_REUSEADDR must be set on both sockets";
  compare(listen_in_time_wait, {.always = {{"EADDRINUSE, EADDRINUSE", reason}}});
  compare(listen_in_reused_time_wait, {.always = {{"EADDRINUSE, listening", reason}}});
}

TEST_CASE("parity: a port with a connection is in use, unless both listeners reuse it") {
  const char* const reason = "SO_REUSEADDR must be set on both sockets";
  compare(listen_beside_connection, {.always = {{"EADDRINUSE, EADDRINUSE", reason}}});
  compare(listen_beside_reused, {.always = {{"EADDRINUSE, listening", reason}}});
}

task<std::string> listen_at_port_of_client(place& p) {
  listener& l = *co_await p.listen();
  connection c = co_await p.connect(l);
  connection server = co_await p.accept(l);
  std::string seen;
  try {
    listener second = co_await leat::listen(c.local());
    seen = "listening";
  } catch (const leat::failure& error) {
    seen = name_of(leat::to_asio_error(error.code()));
  }
  co_return seen;
}

TEST_CASE("parity: the port of a client is in use") {
  compare(listen_at_port_of_client,
          {.always = {{"EADDRINUSE", "the socket of the client has no SO_REUSEADDR"}}});
}

task<std::string> connect_to_itself(place& p) {
  const endpoint to = co_await p.next_own_address();
  connection c;
  std::string seen;
  for (int i = 0; i < 100 && !c.is_open(); ++i) {
    seen = co_await p.try_connect(to, c, p.long_limit());
  }
  if (!c.is_open()) co_return seen;
  if (c.local() == c.peer()) seen += " to itself";
  add(seen, co_await p.write(c, "abc"));
  add(seen, co_await p.take(c, 3));
  add(seen, co_await p.shutdown_send(c));
  add(seen, co_await p.read(c));
  co_return seen;
}

TEST_CASE("parity: a connect to a free port may connect to itself", "[fork]") {
  compare_alone(connect_to_itself,
                {.always = {{"connected to itself, written, 3 bytes, shut down, end",
                             "RFC 9293, 3.5: simultaneous open"}},
                 .where = hosts::one},
                [] { router::enter_machine_with_one_port(); });
}

// ---- Descriptors.

task<std::string> accept_without_descriptors(place& p) {
  listener& l = *co_await p.listen();
  connection c = co_await p.connect(l);
  connection server;
  std::string seen;
  co_await leat::with_task_group([&](task_group& both) -> task<> {
    p.take_descriptors();
    both.spawn([](place& here, listener& from, connection& into) -> task<> {
      into = co_await here.accept(from);
    }(p, l, server));
    bool is_exhausted = false;
    while (!is_exhausted && !server.is_open()) {
      co_await leat::sleep_for(1ms);
      is_exhausted = l.statistics().exhausted;
    }
    if (is_exhausted) seen = "exhausted";
    p.return_descriptors();
  });
  add(seen, "accepted");
  co_await p.write(c, "hi");
  add(seen, co_await p.take(server, 2));
  co_return seen;
}

TEST_CASE("parity: an accept without a descriptor waits until there is one", "[fork]") {
  const silent_stderr quiet;  // the listener reports it
  compare_alone(accept_without_descriptors,
                {.always = {{"accepted, 2 bytes", "accept(2)"}},
                 .faulty = {{"exhausted, accepted, 2 bytes", "accept(2), EMFILE"}},
                 .faults = {.no_descriptor = 0.5}},
                [] {
                  const rlimit few{64, 64};
                  ::setrlimit(RLIMIT_NOFILE, &few);
                });
}

}  // namespace connect_parity_test
