// Unix sockets, and names.

#include "net/parity/comparison.hpp"
#include "support/temp_dir.hpp"

namespace unix_parity_test {

using namespace leat_test::parity;

task<std::string> close_with_unread_data(place& p) {
  ends e = co_await p.connect_ends();
  co_await p.write(e.client, "unread");
  co_await p.arrived(e.server, 6);
  co_await p.write(e.server, "reply");
  co_await p.close(e.server);
  std::string seen = co_await p.drain(e.client, 5);
  add(seen, co_await p.read(e.client));
  add(seen, co_await p.write(e.client, "x"));
  co_return seen;
}

TEST_CASE("parity: a Unix socket whose peer closed with unread data fails once, after its data") {
  compare(close_with_unread_data,
          {.always = {{"all, ECONNRESET, end, EPIPE", "unix_release_sock()"}}, .is_unix = true});
}

task<std::string> write_after_close(place& p) {
  ends e = co_await p.connect_ends();
  co_await p.close(e.server);
  std::string seen = co_await p.write(e.client, "x");
  add(seen, co_await p.read(e.client));
  add(seen, co_await p.write(e.client, "x"));
  co_return seen;
}

TEST_CASE("parity: a write to a Unix socket whose peer has closed fails at once") {
  compare(write_after_close,
          {.always = {{"EPIPE, end, EPIPE", "there is no reset"}}, .is_unix = true});
}

task<std::string> shut_down(place& p) {
  ends e = co_await p.connect_ends();
  std::string seen = co_await p.shutdown_send(e.client);
  add(seen, co_await p.shutdown_send(e.client));
  add(seen, co_await p.write(e.client, "x"));
  add(seen, co_await p.read(e.server));
  add(seen, co_await p.write(e.server, "abc"));
  co_await p.close(e.server);
  add(seen, co_await p.drain(e.client, 3));
  add(seen, co_await p.shutdown_send(e.client));
  co_return seen;
}

TEST_CASE("parity: a Unix socket can be shut down at any time") {
  compare(shut_down, {.always = {{"shut down, shut down, EPIPE, end, written, all, end, shut down",
                                  "unix_shutdown() only sets a flag"}},
                      .is_unix = true});
}

task<std::string> fill_backlog(place& p) {
  listener& l = *co_await p.listen({.backlog = 1});
  std::vector<connection> clients(3);
  std::string seen = co_await p.try_connect(l.local(), clients[0], p.long_limit());
  add(seen, co_await p.try_connect(l.local(), clients[1], p.long_limit()));
  add(seen, co_await p.try_connect(l.local(), clients[2], p.short_limit()));
  co_await leat::sleep_for(p.short_limit());  // the attempt has ended
  connection accepted = co_await p.accept(l);
  add(seen, co_await p.try_connect(l.local(), clients[2], p.long_limit()));
  co_return seen;
}

TEST_CASE("parity: a connect to a Unix socket with a full backlog waits for an accept") {
  compare(fill_backlog,
          {.always = {{"connected, connected, waits, connected", "EAGAIN; connect() tries again"}},
           .is_unix = true});
}

task<std::string> close_with_backlog(place& p) {
  listener& l = *co_await p.listen();
  connection c;
  std::string seen = co_await p.try_connect(l.local(), c, p.long_limit());
  const endpoint at = l.local();
  l.close();
  add(seen, co_await p.read(c));
  add(seen, co_await p.read(c));
  add(seen, co_await p.write(c, "x"));
  const std::string after = co_await p.try_connect(at);
  add(seen, after == "ENOENT" ? "ECONNREFUSED" : after);  // with and without a file
  co_return seen;
}

TEST_CASE("parity: a Unix listener that closes resets its backlog") {
  compare(close_with_backlog,
          {.always = {{"connected, ECONNRESET, end, EPIPE, ECONNREFUSED", "unix_release_sock()"}},
           .is_unix = true});
}

task<std::string> use_path(place& p) {
  std::optional<temp_dir> directory;
  std::string prefix = "unix:/run/";
  if (!p.is_simulated()) prefix = "unix:" + directory.emplace().path() + "/";
  listener& l = *co_await p.listen({}, endpoint(prefix + "used"));
  std::string seen = co_await p.try_listen({}, l.local());
  add(seen, co_await p.try_connect(endpoint(prefix + "missing")));
  l.close();
  add(seen, co_await p.try_connect(endpoint(prefix + "used")));
  co_return seen;
}

TEST_CASE("parity: the path of a Unix socket is in use, missing, or removed by close()") {
  compare(use_path, {.always = {{"EADDRINUSE, ENOENT, ENOENT", "unix(7)"}}, .is_unix = true});
}

task<std::string> unknown_name(place& p) {
  const std::string seen = co_await p.try_connect("no-such-name.invalid:80");
  co_return seen == "not found" || seen == "unavailable" ? "no connection" : seen;
}

TEST_CASE("parity: a connect to an unknown name fails") {
  compare(unknown_name, {.always = {{"no connection", "getaddrinfo(3)"}}, .runs = 2});
}

}  // namespace unix_parity_test
