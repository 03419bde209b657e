/// Redis in leat tasks: `redis SOCKET COUNT` sets a number to 1, 2 and so on up to COUNT, one each
/// 20 ms.
///
/// A wait for a reply that is cancelled does not disturb the replies of other commands. If the
/// connection is lost or the server does not reply, the program prints the command that failed,
/// reconnects, and tries again, with at most ten attempts for a number. SIGTERM or SIGINT ends it.

#include <charconv>
#include <chrono>
#include <csignal>
#include <cstddef>
#include <exception>
#include <iostream>
#include <string>
#include <string_view>
#include <system_error>
#include <tuple>
#include <utility>
#include <vector>

#include <leat/leat.hpp>

#include "redis.hpp"

namespace {

using namespace std::chrono_literals;

//! [use]
leat::task<> use(redis::client& server) {
  co_await server.command("SET", "a", "1");
  co_await server.command("SET", "b", "2");
  const auto both = co_await leat::when_all(server.command("GET", "a"), server.command("GET", "b"));
  std::cout << "a " << std::get<0>(both).text << ", b " << std::get<1>(both).text << std::endl;

  // The server delays the reply by 300 ms, but the task waits for 50 ms only.
  const auto late =
      co_await leat::as_tuple(leat::with_timeout(server.command("BLPOP", "nothing", "0.3"), 50ms));
  const redis::reply next = co_await server.command("GET", "a");
  std::cout << late.error.message() << ", then a " << next.text << std::endl;
}
//! [/use]

leat::task<> count(redis::client& server, int end) {
  for (int i = 0; i < end; ++i) {
    const auto report = [](std::size_t, const std::exception_ptr& error, leat::duration) {
      try {
        std::rethrow_exception(error);
      } catch (const std::exception& e) {
        std::cerr << e.what() << std::endl;
      }
    };
    // SET may be repeated if its reply was lost. INCR would count twice.
    const auto set = [&]() -> leat::task<> {
      co_await leat::with_timeout(server.command("SET", "count", std::to_string(i + 1)), 1s);
    };
    leat::retry_policy policy{.first_delay = 50ms, .max_delay = 1s, .on_retry = report};
    policy.retried = std::vector{leat::errc::unavailable, leat::errc::deadline_exceeded};
    co_await leat::retry(set, policy);
    co_await leat::sleep_for(20ms);
  }
  const redis::reply last = co_await leat::with_timeout(server.command("GET", "count"), 1s);
  std::cout << "count " << last.text << std::endl;
}

leat::task<> run_program(std::string path, int end) {
  redis::client server(std::move(path));
  co_await leat::with_timeout(use(server), 10s);
  const auto wrong = co_await leat::as_tuple(leat::with_timeout(server.command("WRONG"), 1s));
  std::cout << "wrong command: " << wrong.error.message() << std::endl;
  const auto many = co_await leat::as_tuple(server.command("subscribe", "channel"));
  std::cout << "subscribe: " << many.error.message() << std::endl;
  co_await count(server, end);
}

}  // namespace

int main(int argc, char** argv) {
  int end = 0;
  const std::string_view text(argc == 3 ? argv[2] : "");
  const auto [rest, error] = std::from_chars(text.data(), text.data() + text.size(), end);
  if (error != std::errc() || rest != text.data() + text.size()) {
    std::cerr << "usage: redis SOCKET COUNT\n";
    return 2;
  }
  std::signal(SIGPIPE, SIG_IGN);  // hiredis writes to connections that the server has closed
  return leat::run([&] { return run_program(argv[1], end); });
}
