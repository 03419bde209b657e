// A reset by the peer, and the order in which reads, writes and shutdowns report it.

#include "net/parity/comparison.hpp"

namespace reset_parity_test {

using namespace leat_test::parity;

constexpr const char* once = "tcp(7): a reset is an error of one call";
constexpr const char* lost_reset = "a reset is sent once, and was lost";

// Resets at the server, and returns when the client knows.
task<> reset_server(place& p, ends& e) {
  co_await p.reset(e.server);
  co_await p.reached(e.client, "closed");
}

task<std::string> read_after_reset(place& p) {
  ends e = co_await p.connect_ends();
  co_await reset_server(p, e);
  std::string seen = co_await p.read_soon(e.client);
  add(seen, co_await p.read_soon(e.client));
  add(seen, co_await p.write(e.client, "x"));
  add(seen, co_await p.write(e.client, "x"));
  co_return seen;
}

TEST_CASE("parity: a read after a reset fails once, and then reads find the end") {
  compare(read_after_reset, {.always = {{"ECONNRESET, end, EPIPE, EPIPE", once}},
                             .faulty = {{"waits, waits, written, written", lost_reset}}});
}

task<std::string> write_after_reset(place& p) {
  ends e = co_await p.connect_ends();
  co_await reset_server(p, e);
  std::string seen = co_await p.write(e.client, "x");
  co_await p.reached(e.client, "closed");
  add(seen, co_await p.write(e.client, "x"));
  add(seen, co_await p.read_soon(e.client));
  co_return seen;
}

TEST_CASE("parity: a write after a reset fails once, and then reads find the end") {
  compare(write_after_reset,
          {.always = {{"ECONNRESET, EPIPE, end", once}},
           .faulty = {{"written, ECONNRESET, end", "the write is answered with another reset"}}});
}

task<std::string> data_before_reset(place& p) {
  ends e = co_await p.connect_ends();
  co_await p.write(e.server, "data");
  co_await p.arrived(e.client, 4);
  co_await reset_server(p, e);
  std::string seen = co_await p.drain(e.client, 4);
  add(seen, co_await p.read_soon(e.client));
  co_return seen;
}

TEST_CASE("parity: what has arrived before a reset is read first") {
  compare(data_before_reset, {.always = {{"all, ECONNRESET, end", "received data stay readable"}},
                              .faulty = {{"all, waits, waits", lost_reset}}});
}

task<std::string> shutdown_after_reset(place& p) {
  ends e = co_await p.connect_ends();
  co_await reset_server(p, e);
  std::string seen = co_await p.shutdown_send(e.client);
  add(seen, co_await p.write(e.client, "x"));
  add(seen, co_await p.read(e.client));
  co_return seen;
}

TEST_CASE("parity: a shutdown after a reset fails, and leaves the error to the next call") {
  compare(shutdown_after_reset,
          {.always = {{"ENOTCONN, ECONNRESET, end", "shutdown(2); the error is still pending"}},
           .faulty = {{"shut down, EPIPE, ECONNRESET", "the end is answered with another reset"}}});
}

task<std::string> reset_after_end(place& p) {
  ends e = co_await p.connect_ends();
  co_await p.shutdown_send(e.server);
  std::string seen = co_await p.read(e.client);
  co_await reset_server(p, e);
  add(seen, co_await p.read_soon(e.client));
  add(seen, co_await p.write(e.client, "x"));
  add(seen, co_await p.read_soon(e.client));
  co_return seen;
}

TEST_CASE("parity: a reset after the end that was read is an EPIPE") {
  compare(reset_after_end, {.always = {{"end, end, EPIPE, end", "in CLOSE_WAIT, EPIPE is set"}},
                            .faulty = {{"end, end, written, end", lost_reset}}});
}

task<std::string> reset_after_shutdown(place& p) {
  ends e = co_await p.connect_ends();
  co_await p.shutdown_send(e.client);
  co_await p.reached(e.server, "close-wait");
  co_await reset_server(p, e);
  std::string seen = co_await p.read_soon(e.client);
  add(seen, co_await p.read_soon(e.client));
  add(seen, co_await p.write(e.client, "x"));
  co_return seen;
}

TEST_CASE("parity: after shutdown_send(), a reset is reported to a read") {
  compare(reset_after_shutdown, {.always = {{"ECONNRESET, end, EPIPE", once}},
                                 .faulty = {{"waits, waits, EPIPE", lost_reset}}});
}

// ---- Operations that wait.

task<> read_into(place& p, connection& c, std::string& seen) { seen = co_await p.read(c); }
task<> write_from(place& p, connection& c, std::string& seen) {
  seen = co_await p.write(c, std::string(100'000, 'x'));
}

task<std::string> reset_while_reading(place& p) {
  ends e = co_await p.connect_ends();
  std::string seen;
  co_await leat::with_task_group([&](task_group& both) -> task<> {
    both.spawn(read_into(p, e.client, seen));
    co_await leat::sleep_for(1ms);
    co_await p.reset(e.server);
  });
  add(seen, co_await p.read_soon(e.client));
  add(seen, co_await p.write(e.client, "x"));
  co_return seen;
}

TEST_CASE("parity: a reset ends a read that waits") {
  compare(reset_while_reading, {.always = {{"ECONNRESET, end, EPIPE", once}},
                                .faulty = {{"waits, waits, written", lost_reset}}});
}

task<std::string> reset_while_writing(place& p) {
  ends e = co_await p.connect_ends(small_buffers);
  co_await p.fill(e.client);
  std::string seen;
  co_await leat::with_task_group([&](task_group& both) -> task<> {
    both.spawn(write_from(p, e.client, seen));
    co_await leat::sleep_for(1ms);
    co_await p.reset(e.server);
  });
  add(seen, co_await p.read_soon(e.client));
  add(seen, co_await p.write(e.client, "x"));
  co_return seen;
}

TEST_CASE("parity: a reset ends a write that waits") {
  // If the reset is lost, another one answers the next probe for the window.
  compare(reset_while_writing, {.always = {{"ECONNRESET, end, EPIPE", once}}});
}

task<std::string> reset_while_using(place& p) {
  ends e = co_await p.connect_ends(small_buffers);
  co_await p.fill(e.client);
  std::string read;
  std::string written;
  co_await leat::with_task_group([&](task_group& both) -> task<> {
    both.spawn(read_into(p, e.client, read));
    both.spawn(write_from(p, e.client, written));
    co_await leat::sleep_for(1ms);
    co_await p.reset(e.server);
  });
  co_return "read: " + read + "; write: " + written;
}

TEST_CASE(
    "parity: of a read and a write that wait, a reset fails one, and the other finds the end") {
  compare(reset_while_using,
          {.always = {{"read: end; write: ECONNRESET", "Asio retries the write first"},
                      {"read: ECONNRESET; write: EPIPE", "another program may read first"}}});
}

// ---- The side that resets.

task<std::string> reset_with_unsent_data(place& p) {
  ends e = co_await p.connect_ends(small_buffers);
  const std::size_t sent = co_await p.fill(e.server);
  co_await p.reset(e.server);
  co_return co_await p.drain(e.client, sent);
}

TEST_CASE("parity: reset() discards what was not sent, and the peer reads what has arrived") {
  compare(reset_with_unsent_data, {.always = {{"some, ECONNRESET", "SO_LINGER with 0: socket(7)"}},
                                   .faulty = {{"some, waits", lost_reset}}});
}

// The writer learns of the close when a reset answers its bytes.
task<std::string> close_while_peer_writes(place& p) {
  ends e = co_await p.connect_ends(small_buffers);
  std::string written;
  co_await leat::with_task_group([&](task_group& both) -> task<> {
    both.spawn([](place& here, connection& c, std::string& seen) -> task<> {
      for (seen = "written"; seen == "written";) {
        seen = co_await here.write(c, std::string(1000, 'x'));
      }
    }(p, e.client, written));
    co_await p.take(e.server, 4000);
    co_await p.close(e.server);
  });
  add(written, co_await p.read_soon(e.client));
  co_return written;
}

TEST_CASE("parity: a writer whose peer closes gets ECONNRESET or EPIPE") {
  compare(close_while_peer_writes, {.always = {{"ECONNRESET, end", "bytes were unread: a reset"},
                                               {"EPIPE, end", "the end arrives before the reset"}},
                                    .faulty = {}});
}

}  // namespace reset_parity_test
