// Completion of the operations of connections and listeners against their cancellation, the end of
// the peer and the destruction of the tasks: pairs of connections exchange consecutive numbers
// under short limits, and end in every way at a random time. The bytes that an end has read are the
// first ones that the other has written, and every accept and connect is accounted for. On one and
// on two threads, over TCP and Unix sockets.

#include <array>
#include <atomic>
#include <cstring>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include <catch2/catch.hpp>
#include <unistd.h>

#include "leat/async.hpp"
#include "leat/net.hpp"
#include "leat/sync.hpp"
#include "support/effort.hpp"

namespace connection_race_test {

using namespace std::chrono_literals;
using leat::as_tuple;
using leat::connection;
using leat::endpoint;
using leat::listener;
using leat::select;
using leat::task;
using leat::with_timeout;
using random_numbers = std::minstd_rand;

std::uint64_t connections() {
  return leat_test::from_environment("LEAT_RACE_ROUNDS", 20'000) /
         (leat_test::slow_build ? 80 : 20);
}

std::chrono::microseconds pause(random_numbers& random) {
  return std::chrono::microseconds(random() % 60);
}

struct counts {
  std::atomic<std::uint64_t> wrong{0};    // numbers that were read out of order
  std::atomic<std::uint64_t> read{0};     // numbers
  std::atomic<std::uint64_t> limited{0};  // operations that a limit has ended
  std::atomic<std::uint64_t> accepted{0};
  std::atomic<std::uint64_t> connected{0};
};

// Ends at an error, such as the end of the peer.
task<> write_numbers(connection& c, random_numbers random, counts& all) {
  std::array<std::uint32_t, 16> numbers{};
  const std::string_view bytes(reinterpret_cast<const char*>(numbers.data()), sizeof numbers);
  for (std::uint32_t next = 0;;) {
    for (std::uint32_t& n : numbers) n = next++;
    for (std::size_t sent = 0; sent < bytes.size();) {
      const auto some = co_await as_tuple(
          with_timeout(c.async_write_some(asio::buffer(bytes.substr(sent))), pause(random)));
      sent += some.value;
      if (some.error == make_error_code(leat::errc::deadline_exceeded)) {
        ++all.limited;
      } else if (some.error) {
        co_return;
      }
    }
    if (random() % 4 == 0) co_await leat::sleep_for(pause(random));
  }
}

task<> read_numbers(connection& c, random_numbers random, counts& all, leat::event& other) {
  std::uint32_t expected = 0;
  std::string rest;
  std::array<char, 37> bytes;
  for (;;) {
    std::size_t n = 0;
    if (random() % 2 == 0) {
      const auto some =
          co_await as_tuple(with_timeout(c.async_read_some(asio::buffer(bytes)), pause(random)));
      if (some.error == make_error_code(leat::errc::deadline_exceeded)) {
        ++all.limited;
      } else if (some.error) {
        co_return;
      }
      n = some.value;
    } else {
      const auto first = co_await as_tuple(select(c.async_read_some(asio::buffer(bytes)),
                                                  other.wait(), leat::sleep_for(pause(random))));
      if (first.error) co_return;
      if (first.value.index() == 0) n = std::get<0>(first.value);
    }
    rest.append(bytes.data(), n);
    std::size_t at = 0;
    for (; rest.size() - at >= sizeof expected; at += sizeof expected) {
      std::uint32_t number = 0;
      std::memcpy(&number, rest.data() + at, sizeof number);
      all.wrong += number != expected++;
      ++all.read;
    }
    rest.erase(0, at);
  }
}

// Exchanges numbers for a time, and ends in one of several ways.
task<> exchange(connection c, random_numbers random, counts& all) {
  leat::event other("other");
  leat::task_group both;
  both.spawn(write_numbers(c, random_numbers(random()), all));
  both.spawn(read_numbers(c, random_numbers(random()), all, other));
  co_await leat::sleep_for(20 * pause(random));
  other.set();
  switch (random() % 5) {
    case 0: c.close(); break;
    case 1: c.reset(); break;
    case 2: c.cancel(); break;
    case 3: static_cast<void>(c.shutdown_send()); break;
    default: break;
  }
  both.request_stop();
  try {
    co_await both.join();
  } catch (const leat::failure&) {  // `cancelled`
  }
  if (random() % 3 == 0) co_await leat::close_gracefully(std::move(c), pause(random));
}

task<> accept_all(listener& l, random_numbers random, counts& all, const std::atomic<bool>& ends) {
  co_await leat::with_task_group([&](leat::task_group& connections) -> task<> {
    for (;;) {
      auto accepted = co_await as_tuple(with_timeout(l.accept(), 20 * pause(random)));
      if (!accepted.error) {
        ++all.accepted;
        connections.spawn(exchange(std::move(accepted.value), random_numbers(random()), all));
      } else if (ends && l.statistics().backlog == 0) {
        co_return;
      }
    }
  });
}

task<> connect_all(endpoint to, std::uint64_t count, random_numbers random, counts& all) {
  leat::semaphore slots(8, "slots");
  co_await leat::with_task_group([&](leat::task_group& connections) -> task<> {
    for (std::uint64_t i = 0; i < count; ++i) {
      auto slot = co_await slots.acquire();
      std::chrono::microseconds limit = pause(random);
      if (random() % 4 != 0) limit = 10s;
      auto made = co_await as_tuple(with_timeout(leat::connect(to), limit));
      if (made.error) continue;
      ++all.connected;
      connections.spawn([](connection c, random_numbers r, counts& total, auto own) -> task<> {
        co_await exchange(std::move(c), std::move(r), total);
        static_cast<void>(own);
      }(std::move(made.value), random_numbers(random()), all, std::move(slot)));
    }
  });
}

void race(std::size_t threads, const std::string& at, counts& all) {
  leat::runtime rt({.threads = threads});
  rt.block_on([](leat::runtime& r, std::string address, counts& total) -> task<> {
    random_numbers random(static_cast<unsigned>(leat_test::case_seed(1)));
    listener l = co_await leat::listen(address);
    const endpoint to = l.local();
    std::atomic<bool> ends = false;
    leat::task_group servers;
    // The listener is used by the tasks of each thread.
    for (std::size_t i = 0; i < r.size(); ++i) {
      servers.spawn_on(r.get_scheduler(i), accept_all(l, random_numbers(random()), total, ends));
    }
    co_await connect_all(to, connections(), random_numbers(random()), total);
    ends = true;
    co_await servers.join();
    l.close();
  }(rt, at, all));
}

TEST_CASE("connection: races of completion, cancellation, close and teardown", "[stress]") {
  for (const std::size_t threads : {1U, 2U}) {
    for (const bool is_unix : {false, true}) {
      INFO(threads << " threads, " << (is_unix ? "Unix" : "TCP"));
      counts all;
      race(threads,
           is_unix ? "unix:@leat-race-" + std::to_string(::getpid()) : std::string("127.0.0.1:0"),
           all);
      CHECK(all.wrong == 0);
      CHECK(all.read > 0);
      CHECK(all.limited > 0);
      CHECK(all.connected > 0);
      // A connect() that a limit has ended may have been accepted.
      CHECK(all.accepted >= all.connected);
    }
  }
}

}  // namespace connection_race_test
