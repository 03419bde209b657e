/// A gRPC client in leat tasks: `client PORT LIMIT COMMAND ARGUMENT...` calls the server of
/// counter.proto within LIMIT ms.
///
/// `add DELAY NUMBER...` prints the sum, on which the server works for DELAY ms.
/// `count N DELAY` prints the numbers below N, one each DELAY ms. If the server is lost, it
/// connects again, until LIMIT has passed, and continues with the next number.
/// `slow N` reads N large messages, and is slower than the server.
/// `first K DELAY` prints the first K numbers of a stream without an end, and cancels it.

#include <chrono>
#include <cstdint>
#include <iostream>
#include <limits>
#include <string>
#include <vector>

#include <grpcpp/grpcpp.h>
#include <leat/leat.hpp>

#include "arguments.hpp"
#include "calls.hpp"
#include "counter.grpc.pb.h"

namespace {

using example::Counter, example::Number, example::Numbers, example::Range;
using namespace std::chrono_literals;
using arguments = std::vector<std::string>;
using methods = Counter::StubInterface::async_interface;
constexpr auto max_number = std::numeric_limits<std::int64_t>::max();

std::uint32_t milliseconds_in(const std::string& argument) {
  return static_cast<std::uint32_t>(number_in(argument, std::numeric_limits<std::uint32_t>::max()));
}

Range range_of(std::int64_t first, std::int64_t count, const std::string& delay) {
  Range range;
  range.set_first(first);
  range.set_count(count);
  range.set_delay_ms(milliseconds_in(delay));
  return range;
}

//! [add]
leat::task<> add(Counter::Stub& server, arguments a) {
  Numbers numbers;
  numbers.set_delay_ms(milliseconds_in(a.at(0)));
  for (std::size_t i = 1; i < a.size(); ++i) numbers.add_values(number_in(a[i], max_number));
  const Number sum = co_await rpc::call("Add", server.async(), &methods::Add, std::move(numbers));
  std::cout << "sum " << sum.value() << std::endl;
}
//! [/add]

//! [count]
// One attempt: continues with number `next`, and keeps it up to date.
leat::task<> count_from(Counter::Stub& server, std::int64_t& next, std::int64_t end,
                        std::string delay) {
  const Range rest = range_of(next, end - next, delay);
  rpc::reader<Number> numbers("Count", server.async(), &methods::Count, rest);
  while (const auto number = co_await numbers.next()) {
    if (next == end || number->value() != next)
      throw leat::failure(leat::errc::data_loss, "Count: a wrong number");
    std::cout << next++ << std::endl;
  }
}

void report(std::size_t, const std::exception_ptr& error, leat::duration) try {
  std::rethrow_exception(error);
} catch (const std::exception& e) {
  std::cerr << e.what() << std::endl;
}

leat::task<> count(Counter::Stub& server, arguments a) {
  std::int64_t next = 0;
  const std::int64_t end = number_in(a.at(0), max_number);
  const auto attempt = [&] { return count_from(server, next, end, a.at(1)); };
  constexpr auto until_limit = std::numeric_limits<std::size_t>::max();
  const leat::retry_policy policy{
      .attempts = until_limit, .first_delay = 100ms, .max_delay = 1s, .on_retry = report};
  co_await leat::retry(attempt, policy);
}
//! [/count]

//! [first]
leat::task<> first(Counter::Stub& server, arguments a) {
  const auto endless = range_of(0, max_number, a.at(1));
  rpc::reader<Number> numbers("Count", server.async(), &methods::Count, endless);
  for (auto left = number_in(a.at(0), max_number); left > 0; --left) {
    const auto number = co_await numbers.next();
    std::cout << number.value().value() << std::endl;
  }
}  // the destructor of the reader cancels the call
//! [/first]

// Reads messages of 64 KiB, and takes 20 ms for each.
leat::task<> slow(Counter::Stub& server, arguments a) {
  Range range = range_of(0, number_in(a.at(0), max_number), "0");
  range.set_padding(64 * 1024);
  rpc::reader<Number> numbers("Count", server.async(), &methods::Count, range);
  std::int64_t next = 0;
  while (const auto number = co_await numbers.next()) {
    if (number->value() != next++) throw leat::failure(leat::errc::data_loss, "a lost message");
    co_await leat::sleep_for(20ms);
  }
  std::cout << next << " messages" << std::endl;
}

leat::task<> run_command(Counter::Stub& server, std::string name, arguments a) {
  if (name == "add") return add(server, std::move(a));
  if (name == "count") return count(server, std::move(a));
  if (name == "slow") return slow(server, std::move(a));
  if (name == "first") return first(server, std::move(a));
  throw leat::failure(leat::errc::invalid_argument, "command " + name);
}

leat::task<> run_client(std::string port, std::chrono::milliseconds limit, std::string command,
                        arguments a) {
  grpc::ChannelArguments options;
  options.SetInt(GRPC_ARG_INITIAL_RECONNECT_BACKOFF_MS, 100);
  options.SetInt(GRPC_ARG_MAX_RECONNECT_BACKOFF_MS, 1000);
  const rpc::channel_owner owner{
      grpc::CreateCustomChannel("127.0.0.1:" + port, grpc::InsecureChannelCredentials(), options)};
  const auto server = Counter::NewStub(owner.channel);
  co_await rpc::within(limit, run_command(*server, std::move(command), std::move(a)));
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 4) {
    std::cerr << "usage: client PORT LIMIT COMMAND ARGUMENT...\n";
    return 2;
  }
  return leat::run([&] {
    const std::chrono::milliseconds limit(milliseconds_in(argv[2]));
    return run_client(argv[1], limit, argv[3], {argv + 4, argv + argc});
  });
}
