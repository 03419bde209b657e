/// A gRPC client in leat tasks: `client PORT LIMIT COMMAND ARGUMENT...` calls the server of
/// counter.proto within LIMIT ms.
///
/// `add DELAY NUMBER...` prints the sum, on which the server works for DELAY ms.
/// `count N DELAY` prints the numbers below N, one each DELAY ms. If the server is lost, it
/// connects again and continues with the next number.
/// `slow N` reads N large messages, and is slower than the server.
/// `first K DELAY` prints the first K numbers of a stream without an end, and cancels it.

#include <chrono>
#include <cstdlib>
#include <iostream>
#include <limits>
#include <string>
#include <vector>

#include <grpcpp/grpcpp.h>
#include <leat/leat.hpp>

#include "calls.hpp"
#include "counter.grpc.pb.h"

namespace {

using example::Counter, example::Number, example::Numbers, example::Range;
using namespace std::chrono_literals;
using arguments = std::vector<std::string>;
using methods = Counter::StubInterface::async_interface;

Range range_of(std::int64_t first, std::int64_t count, const std::string& delay) {
  Range range;
  range.set_first(first);
  range.set_count(count);
  range.set_delay_ms(static_cast<std::uint32_t>(std::stoul(delay)));
  return range;
}

//! [add]
leat::task<> add(Counter::Stub& server, arguments a) {
  Numbers numbers;
  numbers.set_delay_ms(static_cast<std::uint32_t>(std::stoul(a.at(0))));
  for (std::size_t i = 1; i < a.size(); ++i) numbers.add_values(std::stoll(a[i]));
  const Number sum = co_await rpc::call(server.async(), &methods::Add, std::move(numbers));
  std::cout << "sum " << sum.value() << std::endl;
}
//! [/add]

//! [count]
// One attempt: continues with number `next`, and keeps it up to date.
leat::task<> count_from(Counter::Stub& server, std::int64_t& next, std::int64_t end,
                        std::string delay) {
  rpc::reader<Number> numbers(server.async(), &methods::Count, range_of(next, end - next, delay));
  while (const auto number = co_await numbers.next()) {
    std::cout << number->value() << std::endl;
    next = number->value() + 1;
  }
}

leat::task<> count(Counter::Stub& server, arguments a) {
  std::int64_t next = 0;
  const auto attempt = [&] { return count_from(server, next, std::stoll(a.at(0)), a.at(1)); };
  const auto report = [](std::size_t, const std::exception_ptr& error, leat::duration) {
    std::cerr << rpc::to_status(error).error_message() << std::endl;
  };
  co_await leat::retry(attempt, {.first_delay = 100ms, .max_delay = 1s, .on_retry = report});
}
//! [/count]

//! [first]
leat::task<> first(Counter::Stub& server, arguments a) {
  const auto endless = range_of(0, std::numeric_limits<std::int64_t>::max(), a.at(1));
  rpc::reader<Number> numbers(server.async(), &methods::Count, endless);
  for (int i = 0; i < std::stoi(a.at(0)); ++i) {
    const auto number = co_await numbers.next();
    std::cout << number.value().value() << std::endl;
  }
}  // the destructor of the reader cancels the call
//! [/first]

// Reads messages of 64 KiB, and takes 20 ms for each.
leat::task<> slow(Counter::Stub& server, arguments a) {
  Range range = range_of(0, std::stoll(a.at(0)), "0");
  range.set_padding(64 * 1024);
  rpc::reader<Number> numbers(server.async(), &methods::Count, range);
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
  const auto server = Counter::NewStub(
      grpc::CreateCustomChannel("127.0.0.1:" + port, grpc::InsecureChannelCredentials(), options));
  co_await rpc::within(limit, run_command(*server, std::move(command), std::move(a)));
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 4) {
    std::cerr << "usage: client PORT LIMIT COMMAND ARGUMENT...\n";
    return 2;
  }
  return leat::run([&] {
    return run_client(argv[1], std::chrono::milliseconds(std::atoi(argv[2])), argv[3],
                      {argv + 4, argv + argc});
  });
}
