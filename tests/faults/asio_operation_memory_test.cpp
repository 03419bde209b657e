// The allocations of Asio operations in tasks. The counter is in allocation_test.cpp.

#include <array>
#include <exception>

#include <asio.hpp>
#include <sys/resource.h>

#include "faults/failing_allocations.hpp"
#include "leat/base/internal/sanitizers.hpp"
#include "support/leat_test.hpp"

namespace asio_operation_memory_test {

using asio::ip::tcp;
using leat::use_task;
using local_socket = asio::local::stream_protocol::socket;

// A library with a sanitizer does not recycle blocks.
constexpr bool recycles = !LEAT_ASAN && !LEAT_TSAN;

/// Counts the allocations between the end of the first round and the end.
struct steady_count {
  std::ptrdiff_t begin = 0;
  std::ptrdiff_t end = 0;
  void start() { begin = leat_test::made; }
  void stop() { end = leat_test::made; }
};

TEST_CASE("use_task: timers and sockets need no allocation in steady state", "[faults]") {
  asio::io_context io{1};
  local_socket a(io);
  local_socket b(io);
  asio::local::connect_pair(a, b);
  asio::steady_timer timer(io);
  steady_count count;
  const auto body = [](local_socket& s, local_socket& t, asio::steady_timer& alarm,
                       steady_count& c) -> task<> {
    std::array<char, 8> bytes{};
    for (int i = 0; i < 1000; ++i) {
      if (i == 100) c.start();
      co_await s.async_write_some(asio::buffer(bytes), use_task);
      co_await t.async_read_some(asio::buffer(bytes), use_task);
      co_await leat::with_timeout(s.async_write_some(asio::buffer(bytes), use_task), 1h);
      co_await leat::select(t.async_read_some(asio::buffer(bytes), use_task), leat::sleep_for(1h));
      alarm.expires_after(0s);
      co_await alarm.async_wait(use_task);
    }
    c.stop();
  };
  leat::async_run(io, body(a, b, timer, count), asio::detached);
  io.run();
  if (recycles) CHECK(count.end == count.begin);
}

task<> serve(tcp::socket& s, int rounds) {
  std::array<char, 64> bytes{};
  for (int i = 0; i < rounds; ++i) {
    const std::size_t n = co_await s.async_read_some(asio::buffer(bytes), use_task);
    co_await asio::async_write(s, asio::buffer(bytes, n), use_task);
  }
}

task<> call(tcp::socket& s, int rounds, int& warm, int connections, steady_count& count) {
  std::array<char, 64> bytes{};
  for (int i = 0; i < rounds; ++i) {
    co_await asio::async_write(s, asio::buffer(bytes), use_task);
    co_await asio::async_read(s, asio::buffer(bytes), use_task);
    if (i == rounds / 2 && ++warm == connections) count.start();
    if (i == rounds - 2 && count.begin != 0 && count.end == 0) count.stop();
  }
}

// 1,000 connections, or as many as the process may have.
int usual_connections() {
  rlimit limit{};
  ::getrlimit(RLIMIT_NOFILE, &limit);
  limit.rlim_cur = limit.rlim_max;
  ::setrlimit(RLIMIT_NOFILE, &limit);
  return limit.rlim_cur > 2100 ? 1000 : 200;
}

TEST_CASE("use_task: composed operations of many tasks need no allocation in steady state",
          "[faults]") {
  const int connections = usual_connections();
  asio::io_context io{1};
  tcp::acceptor acceptor(io, {asio::ip::make_address("127.0.0.1"), 0});
  std::vector<tcp::socket> clients;
  std::vector<tcp::socket> servers;
  for (int i = 0; i < connections; ++i) {
    clients.emplace_back(io).connect(acceptor.local_endpoint());
    servers.push_back(acceptor.accept());
  }
  steady_count count;
  int warm = 0;
  constexpr int rounds = 40;
  for (int i = 0; i < connections; ++i) {
    const auto at = static_cast<std::size_t>(i);
    leat::async_run(io, serve(servers[at], rounds), asio::detached);
    leat::async_run(io, call(clients[at], rounds, warm, connections, count), asio::detached);
  }
  io.run();
  CHECK(count.end > 0);
  if (recycles) CHECK(count.end == count.begin);
}

task<> transfer_program() {
  leat::scheduler& s = *leat::scheduler::current();
  asio::io_context& io = *leat::get_io_context(s);
  local_socket a(io);
  local_socket b(io);
  asio::local::connect_pair(a, b);
  std::array<char, 8> bytes{};
  co_await asio::async_write(a, asio::buffer(bytes), use_task);
  co_await leat::with_timeout(asio::async_read(b, asio::buffer(bytes), use_task), 1h);
  co_await leat::select(b.async_read_some(asio::buffer(bytes), use_task), leat::sleep_for(1us));
}

TEST_CASE("allocation: Asio operations in a task", "[faults]") {
  leat_test::fail_each_allocation([] { leat::block_on(transfer_program()); });
}

task<> sleep_once() { co_await leat::sleep_for(1us); }

TEST_CASE("async_run: a cancellation slot that cannot be assigned starts no task", "[faults]") {
  leat_test::fail_each_allocation([] {
    asio::io_context io{1};
    asio::cancellation_signal signal;
    std::exception_ptr error;
    const auto handler = [&](const std::exception_ptr& e) { error = e; };
    leat::async_run(io, sleep_once(), asio::bind_cancellation_slot(signal.slot(), handler));
    io.run();
    signal.emit(asio::cancellation_type::all);  // reaches no operation
    if (error) std::rethrow_exception(error);
  });
}

}  // namespace asio_operation_memory_test
