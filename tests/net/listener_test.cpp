#include "leat/net/listener.hpp"

#include <fcntl.h>
#include <fstream>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include <asio.hpp>

#include "leat/async/dump/dump.hpp"
#include "leat/async/loop/completion_tokens.hpp"
#include "net/net_halves.hpp"

namespace listener_test {

using leat::as_tuple;
using leat::with_timeout;
using leat_test::connection;
using leat_test::endpoint;
using leat_test::listener;
using leat_test::read_all;
using leat_test::write_all;
using namespace std::chrono_literals;

LEAT_NET_TEST("listener: accepts in the order of the connections") {
  listener l = co_await leat::listen(half.address());
  std::vector<connection> clients;
  for (int i = 0; i < 5; ++i) {
    clients.push_back(co_await leat::connect(l.local()));
    co_await write_all(clients.back(), std::to_string(i));
    clients.back().close();
  }
  if (!half.is_unix) CHECK(l.statistics().backlog == 5);
  for (int i = 0; i < 5; ++i) {
    connection c = co_await l.accept();
    CHECK(co_await read_all(c) == std::to_string(i));
  }
  CHECK(l.statistics().accepted == 5);
}

LEAT_NET_TEST("listener: an accept that waits, and several") {
  listener l = co_await leat::listen(half.address());
  task_group group;
  int accepted = 0;
  for (int i = 0; i < 3; ++i) {
    group.spawn([](listener& from, int& count) -> task<> {
      const connection c = co_await from.accept();
      ++count;
    }(l, accepted));
  }
  co_await leat::this_task::yield();
  std::vector<connection> clients;
  for (int i = 0; i < 3; ++i) clients.push_back(co_await leat::connect(l.local()));
  co_await group.join();
  CHECK(accepted == 3);
}

LEAT_NET_TEST("listener: an accept that loses has taken nothing") {
  listener l = co_await leat::listen(half.address());
  for (int i = 0; i < 20; ++i) {
    const auto late = co_await as_tuple(with_timeout(l.accept(), i % 2 == 0 ? 0ms : 1ms));
    CHECK(late.error == make_error_code(errc::deadline_exceeded));
  }
  // The connection arrives in the turn in which the accept loses.
  leat::event now;
  for (int i = 0; i < 20; ++i) {
    now.reset();
    task_group group;
    group.spawn([](listener& from, leat::event& e) -> task<> {
      const auto first = co_await leat::select(from.accept(), e.wait());
      if (first.index() == 1) {
        const auto left = co_await as_tuple(with_timeout(from.accept(), 10s));
        CHECK_FALSE(left.error);
      }
    }(l, now));
    co_await leat::this_task::yield();
    connection c = co_await leat::connect(l.local());
    now.set();
    co_await group.join();
  }
  CHECK(l.statistics().accepted == 20);
}

LEAT_NET_TEST("listener: with a limit of 0, accept() takes what is in the backlog") {
  listener l = co_await leat::listen(half.address());
  connection a = co_await leat::connect(l.local());
  connection b = co_await leat::connect(l.local());
  for (int i = 0; i < 2; ++i) {
    const auto one = co_await as_tuple(with_timeout(l.accept(), 0s));
    CHECK_FALSE(one.error);
  }
  const auto none = co_await as_tuple(with_timeout(l.accept(), 0s));
  CHECK(none.error == make_error_code(errc::deadline_exceeded));
}

LEAT_NET_TEST("listener: close() ends the accepts, and resets the backlog") {
  listener l = co_await leat::listen(half.address());
  const endpoint at = l.local();
  task_group group;
  std::string message;
  group.spawn([](listener& from, std::string& out) -> task<> {
    out = co_await leat_test::message_of(from.accept(), errc::cancelled);
  }(l, message));
  co_await leat::this_task::yield();
  l.close();
  co_await group.join();
  CHECK(contains(message, "the listener was closed"));
  CHECK_FALSE(l.is_open());
  CHECK(co_await leat_test::message_of(l.accept(), errc::cancelled) == message);
  const auto refused = co_await as_tuple(leat::connect(at));
  CHECK(refused.error == asio::error::connection_refused);

  listener again = co_await leat::listen(half.address());
  connection c = co_await leat::connect(again.local());
  again.close();
  std::array<char, 8> bytes;
  const auto read = co_await as_tuple(c.async_read_some(asio::buffer(bytes)));
  CHECK(read.error == asio::error::connection_reset);
}

LEAT_NET_TEST("listener: may be destroyed in the turn in which an accept succeeds") {
  auto l = std::make_unique<listener>(co_await leat::listen(half.address()));
  task_group group;
  group.spawn([](listener& from) -> task<> {
    const auto accepted = co_await as_tuple(from.accept());
    CHECK((!accepted.error || accepted.error == make_error_code(errc::cancelled)));
  }(*l));
  co_await leat::this_task::yield();
  connection c = co_await leat::connect(l->local());
  l.reset();
  co_await group.join();
}

LEAT_NET_TEST("listener: a completion token, and the scheduler of the connection") {
  listener l = co_await leat::listen(half.address());
  leat::oneshot<bool> done;
  l.async_accept([to = std::move(done.tx), &l](leat::asio_error_code ec, connection c) mutable {
    to.send(!ec && c.is_open() && &c.get_scheduler() == &l.get_scheduler());
  });
  connection c = co_await leat::connect(l.local());
  CHECK(co_await done.rx.receive() == true);
}

TEST_CASE("listener: tasks of several schedulers share it, and each owns its connections") {
  leat::runtime rt({.threads = 3});
  rt.block_on([](leat::runtime& r) -> task<> {
    listener l = co_await leat::listen("127.0.0.1:0");
    std::atomic<int> accepted = 0;
    task_group group;
    for (std::size_t i = 0; i < r.size(); ++i) {
      group.spawn_on(r.get_scheduler(i), [](listener& from, std::atomic<int>& count) -> task<> {
        while (count < 200) {
          auto c = co_await as_tuple(with_timeout(from.accept(), 20ms));
          if (c.error) continue;
          CHECK(&c.value.get_scheduler() == &leat::this_task::get_scheduler());
          ++count;
          co_await write_all(c.value, "x");
        }
      }(l, accepted));
    }
    for (int i = 0; i < 200; ++i) {
      connection c = co_await leat::connect(l.local());
      CHECK(co_await read_all(c) == "x");
    }
    co_await group.join();
    CHECK(l.statistics().accepted == 200);
  }(rt));
}

TEST_CASE("listener: a thread accepts and connects without a scheduler of its own") {
  leat::runtime rt({.threads = 1});
  listener l = rt.block_on(leat::listen("127.0.0.1:0"));
  connection c = leat::block_on(leat::connect(rt.get_scheduler(), l.local()), 10s);
  connection s = leat::block_on(l.accept(rt.get_scheduler()), 10s);
  CHECK(c.local() == s.peer());
  CHECK(contains(error_of([&] { static_cast<void>(leat::block_on(l.accept(), 5ms)); }),
                 "timed out without effect"));
  CHECK(contains(error_of([&] { leat::block_on(leat::connect(l.local()), 5s); }),
                 "connect() outside a task: pass the scheduler"));
  rt.block_on([](listener own, connection a, connection b) -> task<> {
    own.close();
    a.close();
    b.close();
    co_return;
  }(std::move(l), std::move(c), std::move(s)));
}

TEST_CASE("listener: `*` accepts IPv4 and IPv6, an address only its family") {
  leat::block_on([]() -> task<> {
    listener all = co_await leat::listen("*:0");
    const auto port = all.local().port();
    CHECK(all.local().is_any());
    connection v4 = co_await leat::connect(endpoint("127.0.0.1", port));
    connection a = co_await all.accept();
    CHECK(a.peer() == v4.local());
    CHECK(a.peer().host() == "127.0.0.1");
    connection v6 = co_await leat::connect(endpoint("::1", port));
    connection b = co_await all.accept();
    CHECK(b.peer() == v6.local());
    listener only = co_await leat::listen("[::]:0");
    const auto refused =
        co_await as_tuple(leat::connect(endpoint("127.0.0.1", only.local().port())));
    CHECK(refused.error == asio::error::connection_refused);
    listener named = co_await leat::listen("localhost:0");
    connection c = co_await leat::connect(endpoint("localhost", named.local().port()));
    CHECK(c.is_open());
  }());
}

TEST_CASE("listener: the errors of listen() name the endpoint") {
  leat::block_on([]() -> task<> {
    listener l = co_await leat::listen("127.0.0.1:0");
    const auto text = co_await leat_test::message_of(leat::listen(l.local()));
    CHECK(contains(text, "listen at " + l.local().text()));
    CHECK(contains(text, "Address already in use"));
    CHECK(contains(co_await leat_test::message_of(leat::listen("192.0.2.1:80")),
                   "listen at 192.0.2.1:80: Cannot assign requested address"));
    CHECK(contains(co_await leat_test::message_of(leat::listen("unix:/nowhere/x")),
                   "listen at unix:/nowhere/x: No such file or directory"));
    CHECK(contains(co_await leat_test::message_of(leat::listen(endpoint()), errc::invalid_argument),
                   "listen at -: the endpoint is empty"));
    CHECK(contains(co_await leat_test::message_of(leat::listen("no-such-name.invalid:80")),
                   "resolve no-such-name.invalid:80"));
    listener a = co_await leat::listen("127.0.0.1:0", {.reuse_port = true});
    listener b = co_await leat::listen(a.local(), {.reuse_port = true});
    CHECK(a.local() == b.local());
  }());
}

TEST_CASE("listener: a stale file of a Unix socket is replaced, and the file ends with it") {
  const std::string path = "/tmp/leat-listener-" + std::to_string(::getpid());
  const endpoint at("unix:" + path);
  const auto exists = [&] {
    struct stat s{};
    return ::stat(path.c_str(), &s) == 0;
  };
  leat::block_on([](endpoint e, auto present) -> task<> {
    {
      listener l = co_await leat::listen(e);
      CHECK(present());
      CHECK(l.local() == e);
      CHECK(contains(co_await leat_test::message_of(leat::listen(e)), "Address already in use"));
    }
    CHECK_FALSE(present());
    // A process that was killed leaves the file.
    const int killed = ::socket(AF_UNIX, SOCK_STREAM, 0);
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    e.path().copy(address.sun_path, sizeof address.sun_path - 1);
    REQUIRE(::bind(killed, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0);
    ::close(killed);
    CHECK(contains(co_await leat_test::message_of(leat::listen(e, {.replace_stale_path = false})),
                   "Address already in use"));
    listener first = co_await leat::listen(e);
    // A file that another process has put there stays.
    ::unlink(std::string(e.path()).c_str());
    listener second = co_await leat::listen(e);
    first.close();
    CHECK(present());
    connection c = co_await leat::connect(e);
    CHECK(c.peer() == e);
  }(at, exists));
  CHECK_FALSE(exists());
}

TEST_CASE("listener: listen() removes no file that is not a stale socket") {
  const std::string path = "/tmp/leat-file-" + std::to_string(::getpid());
  std::ofstream(path) << "precious";
  leat::block_on([](const endpoint at) -> task<> {
    CHECK(contains(co_await leat_test::message_of(leat::listen(at)), "Address already in use"));
  }("unix:" + path));
  std::string content;
  std::ifstream(path) >> content;
  CHECK(content == "precious");
  ::unlink(path.c_str());
}

TEST_CASE("listener: a relative path is removed after a change of the directory; not in a child",
          "[fork]") {
  const std::string words = leat_test::run_in_child([] {
    std::string text;
    std::string folder = "/tmp/leat-folder-XXXXXX";
    if (!::mkdtemp(folder.data()) || ::chdir(folder.c_str()) != 0) return std::string("no folder");
    const auto exists = [&] {
      struct stat s{};
      return ::lstat((folder + "/jobs").c_str(), &s) == 0;
    };
    {
      asio::io_context io;
      std::optional<listener> l;
      task_group group;
      group.spawn_on(leat::get_scheduler(io), [](std::optional<listener>& to) -> task<> {
        to = co_await leat::listen("unix:jobs");
      }(l));
      io.run();
      const pid_t child = ::fork();
      if (child == 0) {
        l.reset();
        ::_exit(0);
      }
      ::waitpid(child, nullptr, 0);
      if (!exists()) text += "the child removed the file; ";
      if (::chdir("/") != 0) text += "chdir; ";
    }
    if (exists()) text += "the file stayed; ";
    ::rmdir(folder.c_str());
    return text;
  });
  CHECK(words == "");
}

TEST_CASE("listener: adopts a socket that listens") {
  leat::block_on([]() -> task<> {
    const int listening = ::socket(AF_INET, SOCK_STREAM, 0);
    REQUIRE(::listen(listening, 4) == 0);
    listener l = listener::adopt(listening);
    CHECK((::fcntl(listening, F_GETFD) & FD_CLOEXEC) != 0);
    connection c = co_await leat::connect(endpoint("127.0.0.1", l.local().port()));
    connection s = co_await l.accept();
    CHECK(s.peer() == c.local());
    const int idle = ::socket(AF_INET, SOCK_STREAM, 0);
    CHECK(contains(error_of([&] { static_cast<void>(listener::adopt(idle)); }),
                   "it does not listen"));
    CHECK(::fcntl(idle, F_GETFD) == -1);
    CHECK(error_of([&] { static_cast<void>(listener::adopt(-1)); }) != "");
  }());
}

task<> accept_without_descriptors(std::string& words) {
  listener l = co_await leat::listen("127.0.0.1:0");
  connection client = co_await leat::connect(l.local());
  std::vector<int> others;
  for (int d; (d = ::dup(0)) >= 0;) others.push_back(d);
  task_group group;
  bool accepted = false;
  group.spawn(
      [](listener& from, bool& done) -> task<> {
        const connection c = co_await from.accept();
        done = true;
      }(l, accepted),
      "accepting");
  co_await leat::sleep_for(100ms);
  std::ostringstream dump;
  leat::dump(dump);
  for (const int d : others) ::close(d);
  if (accepted) words += "accepted without a descriptor; ";
  if (!l.statistics().exhausted) words += "not exhausted; ";
  if (!contains(dump.str(), "0 accepted, 1 waiting; Too many open files since ")) {
    words += dump.str();
  }
  co_await group.join();
  if (!accepted) words += "not accepted; ";
  if (l.statistics().exhausted) words += "still exhausted; ";
  // Without a client, the lack ends too.
  for (int& d : others) d = ::dup(0);
  static_cast<void>(co_await as_tuple(with_timeout(l.accept(), 20ms)));
  for (const int d : others) ::close(d);
  static_cast<void>(co_await as_tuple(with_timeout(l.accept(), 50ms)));
  if (l.statistics().exhausted) words += "exhausted without a reason; ";
}

// In a child process, which changes its limit of descriptors.
TEST_CASE("listener: accept() survives a lack of descriptors", "[fork]") {
  const std::string words = leat_test::run_in_child([] {
    const rlimit few{64, 64};
    ::setrlimit(RLIMIT_NOFILE, &few);
    std::string text;
    leat::block_on(accept_without_descriptors(text));
    return text;
  });
  CHECK(words == "");
}

}  // namespace listener_test
