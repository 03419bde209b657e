// Compares the samples of connections in the documents with the output of dump(), of a trace and of
// an exception. Numbers that differ in each run are excluded.

#include <chrono>
#include <regex>
#include <thread>

#include <asio.hpp>

#include "net/net_halves.hpp"
#include "support/dump.hpp"

namespace connection_dump_test {

using leat::as_tuple;
using leat_test::connect_ends;
using leat_test::connection;
using leat_test::ends;
using leat_test::write_all;
using namespace std::chrono_literals;

constexpr std::string_view text_sample = R"sample(
//! [text]
client 10.0.0.7:51002: await async_read_until, peer 10.0.0.7:51002 (established,
  0 bytes unread, 0 unsent, last data 31.240 s ago), at jobs.cpp:88 in serve, for 31.240 s
//! [/text]
)sample";

constexpr std::string_view json_sample = R"sample(
//! [json]
{
  "verb": "await",
  "words": "async_read_until, peer 10.0.0.7:51002 (established,
    0 bytes unread, 0 unsent, last data 31.240 s ago)",
  "at": {"file": "jobs.cpp", "line": 88, "function": "serve"},
  "seconds": 31.240,
  "object": {
    "type": "connection", "name": "10.0.0.7:51002", "operation": "async_read_until",
    "state": "established", "unread": 0, "unsent": 0, "last_received_seconds": 31.240
  }
}
//! [/json]
)sample";

constexpr std::string_view message_sample = R"sample(
//! [message]
async_read_until (peer 10.0.0.7:51002): Connection reset by peer
//! [/message]
)sample";

task<> serve(connection& c, std::string& input) {
  co_await asio::async_read_until(c, asio::dynamic_buffer(input), '\n', leat::use_task);
}

// Returns the dump while a task has read a part of a line.
task<std::string> dump_of_reader(const leat_test::net_half& half, leat::dump_format format) {
  ends e = co_await connect_ends(half);
  co_await write_all(e.client, "half a line");
  std::string input;
  task_group clients("clients");
  clients.spawn(serve(e.server, input), "client 10.0.0.7:51002");
  while (e.server.status().unread == 0 && input.empty()) co_await leat::sleep_for(1ms);
  while (e.server.status().unread > 0) co_await leat::sleep_for(1ms);
  co_await leat::sleep_for(5ms);  // the kernel counts milliseconds
  std::string text = leat_test::dump(format);
  clients.request_stop();
  co_await clients.join();
  co_return text;
}

// Replaces what differs in each run and in each sample.
std::string normalize(std::string text) {
  const auto replace = [&](const char* pattern, const char* by) {
    text = std::regex_replace(text, std::regex(pattern), by);
  };
  replace("//![^\n]*", "");
  replace(",\n +(\\d)", ", $1");  // the lines of a sample are shorter
  replace("connection_dump_test::|[{}\n]", "");
  replace("connection_dump_test\\.cpp|jobs\\.cpp", "jobs.cpp");
  replace("cpp:\\d+", "cpp:1");
  replace("\"line\": *\\d+", "\"line\":1");
  replace("\\d+\\.\\d+ s", "1.000 s");
  replace("seconds\": *\\d+\\.\\d+", "seconds\":1.000");
  replace("peer [0-9.]+:\\d+", "peer address");
  replace("\"name\": *\"[0-9.]+:\\d+\"", "\"name\":\"address\"");
  replace(" *([:,]) *", "$1");
  replace("^ +| +$", "");
  replace("  +\"", "\"");
  return text;
}

const leat_test::net_half& tcp() { return leat_test::net_halves().front(); }

TEST_CASE("connection: a dump names the peer and the state, also inside a composed operation") {
  const std::string text =
      normalize(leat::block_on(dump_of_reader(tcp(), leat::dump_format::text)));
  INFO(text);
  INFO(normalize(std::string(text_sample)));
  CHECK(text.find(normalize(std::string(text_sample))) != text.npos);
}

TEST_CASE("connection: a dump as JSON has the peer and the state too") {
  const std::string text =
      normalize(leat::block_on(dump_of_reader(tcp(), leat::dump_format::json)));
  INFO(text);
  INFO(normalize(std::string(json_sample)));
  CHECK(text.find(normalize(std::string(json_sample))) != text.npos);
}

LEAT_NET_TEST("connection: the message of an error names the peer") {
  ends e = co_await connect_ends(half);
  co_await write_all(e.client, "unread");
  co_await e.server.async_wait(connection::wait_type::wait_read);
  e.server.close();  // with unread data: a reset
  std::string input;
  std::string message;
  try {
    co_await serve(e.client, input);
  } catch (const std::exception& error) {
    message = error.what();
  }
  if (half.is_unix) {
    CHECK(message.find("async_read_until (peer unix:@leat-test-") == 0);
  } else {
    CHECK(normalize(message) == normalize(std::string(message_sample)));
  }
}

LEAT_NET_TEST("connection: a dump of several kinds of operations") {
  ends e = co_await connect_ends(half);
  std::array<char, 8> bytes;
  task_group waits("waits");
  waits.spawn([](connection& c, auto& into) -> task<> {
    static_cast<void>(co_await as_tuple(c.async_read_some_or_end(asio::buffer(into))));
  }(e.server, bytes));
  waits.spawn([](connection& c) -> task<> {
    static_cast<void>(co_await as_tuple(c.async_wait(connection::wait_type::wait_read)));
  }(e.client));
  co_await leat::sleep_for(1ms);
  const std::string text = leat_test::dump();
  const char* const peer = half.is_unix ? "peer unix:@leat-test-" : "peer 127.0.0.1:";
  CHECK(text.find("await async_read_some_or_end, " + std::string(peer)) != text.npos);
  CHECK(text.find("await async_wait, " + std::string(peer)) != text.npos);
  CHECK(text.find("(established, 0 bytes unread, 0 unsent") != text.npos);
  waits.request_stop();
  co_await waits.join();
}

}  // namespace connection_dump_test
