// Completion of an Asio operation against its cancellation: bytes are read from a socket pair while
// another thread writes them, under short limits and in select(). No byte and no item is lost,
// duplicated or reordered, in a context that is run by one thread and by two. Asio's own operators
// run the same race for comparison.

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <exception>
#include <random>
#include <string>
#include <sys/socket.h>
#include <thread>
#include <unistd.h>
#include <utility>
#include <vector>

#include <asio.hpp>
#include <asio/experimental/awaitable_operators.hpp>
#include <asio/experimental/concurrent_channel.hpp>
#include <catch2/catch.hpp>

#include "leat/async.hpp"
#include "leat/base/error.hpp"
#include "leat/queue/fifo_queue.hpp"
#include "support/effort.hpp"

namespace asio_race_test {

using namespace std::chrono_literals;
using leat::task;
using leat::use_task;
using local_socket = asio::local::stream_protocol::socket;

std::size_t rounds() {
  return static_cast<std::size_t>(leat_test::from_environment("LEAT_RACE_ROUNDS", 20'000));
}

// A random pause of up to 40 us, without a distribution of the standard library.
std::chrono::nanoseconds pause(std::mt19937& random) {
  return std::chrono::nanoseconds(random() % 40'000);
}

/// Checks a sequence of numbers that arrives in pieces.
struct sequence {
  std::uint32_t next = 0;
  std::string rest{};
  std::size_t bytes = 0;
  std::size_t breaks = 0;

  void add(const char* data, std::size_t size) {
    bytes += size;
    rest.append(data, size);
    std::size_t at = 0;
    for (; rest.size() - at >= sizeof next; at += sizeof next) {
      std::uint32_t number = 0;
      std::memcpy(&number, rest.data() + at, sizeof number);
      breaks += number != next;
      next = number + 1;
    }
    rest.erase(0, at);
  }
};

/// A socket whose peer a thread writes consecutive numbers to, with random pauses.
class written_socket {
 public:
  explicit written_socket(const asio::any_io_executor& executor) : socket(executor) {
    local_socket peer(executor);
    asio::local::connect_pair(socket, peer);
    peer.native_non_blocking(false);
    descriptor_ = peer.release();
    writer_ = std::thread([this] { write(); });
  }
  written_socket(const written_socket&) = delete;
  written_socket& operator=(const written_socket&) = delete;
  ~written_socket() {
    enough = true;
    join();
    ::close(descriptor_);
  }

  void join() {
    if (writer_.joinable()) writer_.join();
  }
  [[nodiscard]] std::size_t written_bytes() const { return written_ * sizeof(std::uint32_t); }

  local_socket socket;
  std::atomic<bool> enough{false};

 private:
  void write() {
    std::mt19937 random(1);
    for (std::uint32_t number = 0; !enough; ++number) {
      if (::send(descriptor_, &number, sizeof number, MSG_NOSIGNAL) != sizeof number) break;
      ++written_;
      const auto until = std::chrono::steady_clock::now() + pause(random);
      while (std::chrono::steady_clock::now() < until && !enough) {
      }
    }
    ::shutdown(descriptor_, SHUT_WR);
  }

  int descriptor_ = -1;
  std::atomic<std::size_t> written_{0};
  std::thread writer_;
};

void run_threads(asio::io_context& io, int threads) {
  std::vector<std::jthread> others;
  for (int i = 1; i < threads; ++i) others.emplace_back([&] { io.run(); });
  io.run();
}

void run_with(asio::io_context& io, int threads, task<> t) {
  std::exception_ptr error;
  leat::async_run(io, std::move(t), [&](std::exception_ptr e) { error = std::move(e); });
  run_threads(io, threads);
  if (error) std::rethrow_exception(error);
}

task<> read_rest(written_socket& s, sequence& read) {
  s.enough = true;
  std::array<char, 16> buffer{};
  for (;;) {
    const auto [ec, n] =
        co_await leat::as_tuple(s.socket.async_read_some(asio::buffer(buffer), use_task));
    if (ec) co_return;
    read.add(buffer.data(), n);
  }
}

task<> read_under_limits(written_socket& s, sequence& read, std::size_t& timeouts) {
  std::mt19937 random(2);
  std::array<char, 16> buffer{};
  for (std::size_t i = 0; i < rounds(); ++i) {
    const auto [ec, n] = co_await leat::as_tuple(leat::with_timeout(
        s.socket.async_read_some(asio::buffer(buffer), use_task), pause(random)));
    read.add(buffer.data(), n);
    timeouts += ec == leat::errc::deadline_exceeded;
  }
  co_await read_rest(s, read);
}

TEST_CASE("use_task: no byte is lost when limits cancel reads", "[stress]") {
  for (const int threads : {1, 2}) {
    asio::io_context io;
    written_socket s(io.get_executor());
    sequence read;
    std::size_t timeouts = 0;
    run_with(io, threads, read_under_limits(s, read, timeouts));
    s.join();
    CHECK(read.bytes == s.written_bytes());
    CHECK(read.breaks == 0);
    CHECK(timeouts > 0);
    CHECK(timeouts < rounds());
  }
}

struct popped_numbers {
  std::uint32_t next = 0;
  std::size_t breaks = 0;
  void add(std::uint32_t number) {
    breaks += number != next;
    next = number + 1;
  }
};

task<> read_and_pop(written_socket& s, leat::fifo_queue<std::uint32_t>& queue, sequence& read,
                    popped_numbers& popped) {
  std::array<char, 4> buffer{};
  for (std::size_t i = 0; i < rounds(); ++i) {
    const auto done = co_await leat::select(
        s.socket.async_read_some(asio::buffer(buffer), use_task), queue.pop(), leat::sleep_for(1s));
    if (done.index() == 0) read.add(buffer.data(), std::get<0>(done));
    if (done.index() == 1 && std::get<1>(done)) popped.add(*std::get<1>(done));
  }
  queue.close();
  while (const auto number = co_await queue.pop()) popped.add(*number);
  co_await read_rest(s, read);
}

TEST_CASE("use_task: no byte and no item is lost in a select of a read and a pop", "[stress]") {
  for (const int threads : {1, 2}) {
    asio::io_context io;
    written_socket s(io.get_executor());
    leat::fifo_queue<std::uint32_t> queue(4, "numbers");
    std::uint32_t pushed = 0;
    std::thread producer([&] {
      while (leat::block_on(queue.push(std::uint32_t{pushed}))) ++pushed;
    });
    sequence read;
    popped_numbers popped;
    run_with(io, threads, read_and_pop(s, queue, read, popped));
    s.join();
    producer.join();
    CHECK(read.bytes == s.written_bytes());
    CHECK(read.breaks == 0);
    CHECK(popped.next == pushed);
    CHECK(popped.breaks == 0);
  }
}

asio::awaitable<void> read_with_operators(written_socket& s, sequence& read) {
  using namespace asio::experimental::awaitable_operators;
  std::mt19937 random(2);
  std::array<char, 16> buffer{};
  asio::steady_timer timer(s.socket.get_executor());
  for (std::size_t i = 0; i < rounds(); ++i) {
    timer.expires_after(pause(random));
    const auto done =
        co_await (s.socket.async_read_some(asio::buffer(buffer), asio::use_awaitable) ||
                  timer.async_wait(asio::use_awaitable));
    if (done.index() == 0) read.add(buffer.data(), std::get<0>(done));
  }
  s.enough = true;
  try {
    for (;;) {
      const std::size_t n =
          co_await s.socket.async_read_some(asio::buffer(buffer), asio::use_awaitable);
      read.add(buffer.data(), n);
    }
  } catch (const std::system_error&) {
  }
}

// With one thread these lose nothing on a socket either; the message shows the figures.
TEST_CASE("use_task: Asio's awaitable operators in the same race", "[stress]") {
  for (const int threads : {1, 2}) {
    asio::io_context io;
    written_socket s(asio::make_strand(io));
    sequence read;
    asio::co_spawn(s.socket.get_executor(), read_with_operators(s, read), asio::detached);
    run_threads(io, threads);
    s.join();
    WARN("awaitable operators, " << threads << (threads == 1 ? " thread: " : " threads: ")
                                 << s.written_bytes() - read.bytes << " of " << s.written_bytes()
                                 << " bytes lost");
    CHECK(read.bytes <= s.written_bytes());
  }
}

using channel = asio::experimental::concurrent_channel<void(std::error_code, std::uint32_t)>;

asio::awaitable<void> receive_with_operators(channel& c, std::atomic<bool>& enough,
                                             std::size_t& received) {
  using namespace asio::experimental::awaitable_operators;
  std::mt19937 random(3);
  asio::steady_timer timer(c.get_executor());
  for (std::size_t i = 0; i < rounds() / 10; ++i) {
    timer.expires_after(pause(random));
    const auto done =
        co_await (c.async_receive(asio::use_awaitable) || timer.async_wait(asio::use_awaitable));
    if (done.index() == 0) ++received;
  }
  enough = true;
  timer.expires_after(20ms);  // the sender ends
  co_await timer.async_wait(asio::use_awaitable);
  while (c.try_receive([](std::error_code, std::uint32_t) {})) ++received;
}

// A channel has no way to return a message to its front, so a message whose handler is cancelled is
// dropped. The message of the test shows the figures.
TEST_CASE("use_task: Asio's channel in the same race", "[stress]") {
  for (const int threads : {1, 2}) {
    asio::io_context io;
    channel c(asio::make_strand(io), 16);
    std::size_t received = 0;
    std::size_t sent = 0;
    std::atomic<bool> enough = false;
    asio::co_spawn(c.get_executor(), receive_with_operators(c, enough, received), asio::detached);
    std::thread sender([&] {
      for (; !enough; std::this_thread::sleep_for(10us)) {
        sent += c.try_send(std::error_code(), 0U) ? 1U : 0U;
      }
    });
    run_threads(io, threads);
    sender.join();
    WARN("channel, " << threads << (threads == 1 ? " thread: " : " threads: ") << sent - received
                     << " of " << sent << " messages lost");
    CHECK(received <= sent);
  }
}

}  // namespace asio_race_test
