#include <array>

#include <asio.hpp>

#include "net/net_halves.hpp"
#include "support/loops.hpp"

// Tasks that own connections and listeners end with their loop, wherever they wait.

namespace end_test {

using leat_test::connection;
using leat_test::counted;
using leat_test::listener;
using leat_test::scenario;

task<> end_in_read(int& objects) {
  const counted object(objects);
  listener l = co_await leat::listen("127.0.0.1:0");
  connection c = co_await leat::connect(l.local());
  connection s = co_await l.accept();
  std::array<char, 8> bytes;
  co_await s.async_read_some(asio::buffer(bytes));
}
task<> end_in_read_until(int& objects) {
  const counted object(objects);
  listener l = co_await leat::listen("127.0.0.1:0");
  connection c = co_await leat::connect(l.local());
  connection s = co_await l.accept();
  std::string line;
  co_await asio::async_read_until(s, asio::dynamic_buffer(line), '\n', leat::use_task);
}
task<> end_in_accept(int& objects) {
  const counted object(objects);
  listener l = co_await leat::listen("127.0.0.1:0");
  connection c = co_await leat::connect(l.local());
  const connection first = co_await l.accept();
  const connection second = co_await l.accept();
}
task<> end_in_limited_accept(int& objects) {
  const counted object(objects);
  listener l = co_await leat::listen("127.0.0.1:0");
  static_cast<void>(co_await leat::as_tuple(leat::with_timeout(l.accept(), std::chrono::hours(1))));
}
task<> end_in_connect(int& objects) {
  const counted object(objects);
  listener l = co_await leat::listen("127.0.0.1:0");
  for (;;) {
    connection c = co_await leat::connect(l.local());
    connection s = co_await l.accept();
    c.reset();
  }
}
task<> end_in_resolve(int& objects) {
  const counted object(objects);
  for (;;) static_cast<void>(co_await leat::resolve("localhost:80"));
}
task<> end_in_unix_connect(int& objects) {
  const counted object(objects);
  const std::string path = "unix:@leat-end-" + std::to_string(::getpid());
  listener l = co_await leat::listen(path, {.backlog = 0});
  connection first = co_await leat::connect(path);
  connection second = co_await leat::connect(path);  // waits: the backlog is full
}

LEAT_LOOP_TEST("net: tasks that own connections end with their loop") {
  const scenario scenarios[] = {
      {"read", &end_in_read},         {"read_until", &end_in_read_until},
      {"accept", &end_in_accept},     {"limited accept", &end_in_limited_accept},
      {"connect", &end_in_connect},   {"resolve", &end_in_resolve},
      {"Unix", &end_in_unix_connect},
  };
  leat_test::check_ends<TestType>(scenarios, 14);
}

}  // namespace end_test
