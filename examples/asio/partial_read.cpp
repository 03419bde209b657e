/// Reads a message of known length from a slow peer under a time limit, and loses no byte.
#include <array>
#include <chrono>
#include <cstdio>
#include <span>
#include <string_view>

#include <asio/buffer.hpp>
#include <asio/local/connect_pair.hpp>
#include <asio/local/stream_protocol.hpp>
#include <asio/read.hpp>
#include <asio/write.hpp>
#include <leat/leat.hpp>

using namespace std::chrono_literals;
using stream = asio::local::stream_protocol::socket;

//! [read]
leat::task<> read_message(stream& from, std::span<char> message) {
  const std::size_t size = message.size();
  while (!message.empty()) {
    const auto read = co_await leat::as_tuple(leat::with_timeout(
        asio::async_read(from, asio::buffer(message.data(), message.size()), leat::use_task), 5ms));
    const auto& [ec, n] = read;
    message = message.subspan(n);  // the count is valid after an error, too
    if (ec && ec != make_error_code(leat::errc::deadline_exceeded)) {
      throw leat::failure(ec, "message");
    }
    if (ec) std::printf("waiting: %zu of %zu bytes\n", size - message.size(), size);
  }
}
//! [/read]

leat::task<> send_slowly(stream& to) {
  for (const std::string_view part : {"one, ", "two, ", "three"}) {
    co_await asio::async_write(to, asio::buffer(part), leat::use_task);
    co_await leat::sleep_for(12ms);
  }
}

leat::task<> transfer() {
  const leat::scheduler_executor here = leat::get_executor(leat::this_task::get_scheduler());
  stream a(here);
  stream b(here);
  asio::local::connect_pair(a, b);
  std::array<char, 15> message{};
  co_await leat::when_all(send_slowly(a), read_message(b, message));
  std::printf("%.15s\n", message.data());
}

int main() { return leat::run(transfer()); }
