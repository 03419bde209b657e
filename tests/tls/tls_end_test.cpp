#include <asio.hpp>

#include "support/loops.hpp"
#include "tls/tls_halves.hpp"

// Tasks and coroutines that own TLS connections end with their loop, wherever they wait.

namespace tls_end_test {

using leat_test::connection;
using leat_test::counted;
using leat_test::ends;
using leat_test::listener;
using leat_test::scenario;

task<ends> connect_both(bool with_tls) {
  listener l = co_await leat::listen("127.0.0.1:0");
  ends e;
  e.client = co_await leat::connect(l.local());
  e.server = co_await l.accept();
  if (with_tls) e = co_await leat_test::secure(std::move(e));
  co_return e;
}

task<> end_in_handshake(int& objects) {
  const counted object(objects);
  ends e = co_await connect_both(false);
  static_cast<void>(co_await leat::tls_accept(
      std::move(e.server), leat::tls_context::server(leat_test::server_options())));
}
task<> end_in_read(int& objects) {
  const counted object(objects);
  ends e = co_await connect_both(true);
  std::array<char, 8> bytes;
  co_await e.server.async_read_some(asio::buffer(bytes));
}
task<> end_in_limited_read(int& objects) {
  const counted object(objects);
  ends e = co_await connect_both(true);
  std::string line;
  static_cast<void>(co_await leat::as_tuple(leat::with_timeout(
      asio::async_read_until(e.server, asio::dynamic_buffer(line), '\n', leat::use_task),
      std::chrono::hours(1))));
}
task<> end_in_wait(int& objects) {
  const counted object(objects);
  ends e = co_await connect_both(true);
  co_await e.server.async_wait(connection::wait_type::wait_read);
}
task<> end_in_write(int& objects) {
  const counted object(objects);
  ends e = co_await connect_both(true);
  const std::string block(1'000'000, 'x');
  for (;;) co_await asio::async_write(e.client, asio::buffer(block), leat::use_task);
}
// The last record is sent in the background.
task<> end_after_close(int& objects) {
  const counted object(objects);
  ends e = co_await connect_both(true);
  const std::string block(1'000'000, 'x');
  for (;;) {
    const auto some = co_await leat::as_tuple(leat::with_timeout(
        e.client.async_write_some(asio::buffer(block)), std::chrono::milliseconds(1)));
    if (some.error) break;
  }
  e.client = connection();
  co_await leat::sleep_for(std::chrono::hours(1));
}

LEAT_LOOP_TEST("tls: tasks that own connections end with their loop") {
  const scenario scenarios[] = {
      {"handshake", &end_in_handshake},
      {"read", &end_in_read},
      {"limited read", &end_in_limited_read},
      {"wait", &end_in_wait},
      {"write", &end_in_write},
      {"after close", &end_after_close},
  };
  leat_test::check_ends<TestType>(scenarios, 40);
}

// The handler of a transfer owns the connection, and the transfer owns the handler.
struct owning_handler {
  std::shared_ptr<ends> owned;
  void operator()(const leat::asio_error_code&, std::size_t) const {}
};

LEAT_LOOP_TEST("tls: handlers that own connections end with their loop") {
  const auto block = std::make_shared<std::string>(20'000'000, 'x');
  std::vector<std::weak_ptr<ends>> owned;
  bool are_started = false;
  task_group group;
  {
    TestType loop;
    group.spawn_on(loop.get_scheduler(), [](auto text, auto& all, bool& done) -> task<> {
      const auto reading = std::make_shared<ends>(co_await connect_both(true));
      const auto writing = std::make_shared<ends>(co_await connect_both(true));
      all = {reading, writing};
      reading->server.async_read_some(asio::buffer(*text), owning_handler{reading});
      reading->server.async_wait(connection::wait_type::wait_read,
                                 [reading](const leat::asio_error_code&) {});
      asio::async_write(writing->client, asio::buffer(*text), owning_handler{writing});
      // Waits for the record before it.
      writing->client.async_wait(connection::wait_type::wait_write,
                                 [writing](const leat::asio_error_code&) {});
      co_await leat::sleep_for(std::chrono::milliseconds(20));
      done = true;
    }(block, owned, are_started));
    while (!are_started) {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
      loop.run_ready();
    }
    for (const auto& one : owned) CHECK_FALSE(one.expired());
    loop.end();
  }
  for (const auto& one : owned) CHECK(one.expired());
  leat::block_on(group.join());
}

}  // namespace tls_end_test
