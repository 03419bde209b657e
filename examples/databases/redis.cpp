/// Redis in leat tasks: `redis SOCKET COUNT` increments a number COUNT times, once each 20 ms.
///
/// A wait for a reply that is cancelled does not disturb the replies of other commands. If the
/// connection is lost, the program prints the command that failed, reconnects, and continues.
/// SIGTERM or SIGINT ends it.

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <exception>
#include <iostream>
#include <string>
#include <tuple>
#include <utility>

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
    const auto set = [&]() -> leat::task<> {
      co_await leat::with_timeout(server.command("SET", "count", std::to_string(i + 1)), 5s);
    };
    co_await leat::retry(set, {.first_delay = 50ms, .max_delay = 1s, .on_retry = report});
    co_await leat::sleep_for(20ms);
  }
  std::cout << "count " << (co_await server.command("GET", "count")).text << std::endl;
}

leat::task<> run_program(std::string path, int end) {
  redis::client server(std::move(path));
  co_await use(server);
  const auto wrong = co_await leat::as_tuple(server.command("WRONG"));
  std::cout << "wrong command: " << wrong.error.message() << std::endl;
  co_await count(server, end);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) {
    std::cerr << "usage: redis SOCKET COUNT\n";
    return 2;
  }
  std::signal(SIGPIPE, SIG_IGN);  // hiredis writes to connections that the server has closed
  return leat::run([&] { return run_program(argv[1], std::atoi(argv[2])); });
}
