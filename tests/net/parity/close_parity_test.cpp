// A close, and what the peer sees of it: reads, writes and shutdowns in each order.

#include "net/parity/comparison.hpp"

namespace close_parity_test {

using namespace leat_test::parity;

constexpr const char* lost_reset = "a reset is sent once, and was lost";

// ---- With unread data.

task<std::string> close_with_unread_data(place& p) {
  ends e = co_await p.connect_ends();
  co_await p.write(e.client, "pingmore");
  co_await p.take(e.server, 4);
  co_await p.arrived(e.server, 4);
  co_await p.write(e.server, "reply");
  co_await p.close(e.server);
  std::string seen = co_await p.drain(e.client, 5);
  add(seen, co_await p.read_soon(e.client));
  add(seen, co_await p.write(e.client, "x"));
  co_return seen;
}

TEST_CASE("parity: after a close with unread data, the peer reads what was sent, then the reset") {
  compare(close_with_unread_data,
          {.always = {{"all, ECONNRESET, end, EPIPE", "tcp(7): unread data are a reset"}},
           .faulty = {{"none, ECONNRESET, end, EPIPE", "the reply is lost, and never sent again"},
                      {"all, waits, waits, written", lost_reset},
                      {"none, waits, waits, written", "the reply and the reset are lost"}}});
}

task<std::string> close_with_unsent_reply(place& p) {
  ends e = co_await p.connect_ends(small_buffers);
  co_await p.write(e.client, "request");
  co_await p.arrived(e.server, 7);
  const std::size_t sent = co_await p.fill(e.server);
  co_await p.close(e.server);
  co_return co_await p.drain(e.client, sent);
}

TEST_CASE("parity: a close with unread data loses what was not sent yet") {
  compare(close_with_unsent_reply,
          {.always = {{"some, ECONNRESET", "a reset discards the send buffer"}},
           .faulty = {{"some, waits", lost_reset}}});
}

// ---- Without.

task<std::string> clean_close(place& p) {
  ends e = co_await p.connect_ends(small_buffers);
  const std::size_t sent = co_await p.fill(e.server);
  co_await p.close(e.server);
  co_return co_await p.drain(e.client, sent);
}

TEST_CASE("parity: after a clean close, the peer reads everything and the end") {
  compare(clean_close, {.always = {{"all, end", "the kernel sends what was written, and again"}}});
}

task<std::string> use_after_close(place& p) {
  ends e = co_await p.connect_ends();
  co_await p.close(e.server);
  std::string seen = co_await p.read(e.client);
  add(seen, co_await p.write(e.client, "x"));
  co_await p.reached(e.client, "closed");
  add(seen, co_await p.write(e.client, "x"));
  add(seen, co_await p.read(e.client));
  co_return seen;
}

TEST_CASE("parity: a write after the end of the peer succeeds, and the next one fails") {
  compare(
      use_after_close,
      {.always = {{"end, written, EPIPE, end", "the reset comes after the end: no ECONNRESET"}}});
}

task<std::string> write_before_end(place& p) {
  ends e = co_await p.connect_ends();
  co_await p.close(e.server);
  co_await p.reached(e.client, "close-wait");
  std::string seen = co_await p.write(e.client, "x");
  co_await p.reached(e.client, "closed");
  add(seen, co_await p.read(e.client));
  add(seen, co_await p.write(e.client, "x"));
  add(seen, co_await p.read(e.client));
  co_return seen;
}

TEST_CASE("parity: a write before the end is read hides no end") {
  compare(write_before_end,
          {.always = {{"written, end, EPIPE, end", "the reset comes after the end"}}});
}

task<std::string> write_before_data(place& p) {
  ends e = co_await p.connect_ends();
  co_await p.write(e.server, "data");
  co_await p.close(e.server);
  co_await p.reached(e.client, "close-wait");
  std::string seen = co_await p.write(e.client, "x");
  co_await p.reached(e.client, "closed");
  add(seen, co_await p.drain(e.client, 4));
  add(seen, co_await p.write(e.client, "x"));
  co_return seen;
}

TEST_CASE("parity: a reset does not destroy data that have arrived before the end") {
  compare(write_before_data,
          {.always = {{"written, all, end, EPIPE", "received data stay readable"}}});
}

// The second request is on its way when the server closes.
task<std::string> close_before_request(place& p) {
  ends e = co_await p.connect_ends();
  co_await p.write(e.client, "request");
  co_await p.take(e.server, 7);
  co_await p.write(e.server, "reply");
  std::string seen;
  co_await leat::with_task_group([&](task_group& both) -> task<> {
    both.spawn([](place& here, connection& c) -> task<> {
      co_await leat::sleep_for(1ms);
      co_await here.close(c);
    }(p, e.server));
    co_await p.write(e.client, "second");
    seen = co_await p.drain(e.client, 5);
  });
  add(seen, co_await p.read_soon(e.client));
  co_return seen;
}

TEST_CASE("parity: a request that meets a close resets the connection after the reply") {
  compare(close_before_request,
          {.always = {{"all, end, end", "the end arrives before the reset"},
                      {"all, ECONNRESET, end", "the request arrives first: unread data"}},
           .faulty = {{"none, ECONNRESET, end", "the reply is lost"},
                      {"all, waits, waits", lost_reset},
                      {"none, waits, waits", "the reply and the reset are lost"}}});
}

// ---- shutdown_send().

task<std::string> use_after_shutdown(place& p) {
  ends e = co_await p.connect_ends();
  std::string seen = co_await p.shutdown_send(e.client);
  add(seen, co_await p.write(e.client, "x"));
  add(seen, co_await p.read(e.server));
  add(seen, co_await p.write(e.server, "abc"));
  add(seen, co_await p.take(e.client, 3));
  co_return seen;
}

TEST_CASE("parity: after shutdown_send(), own writes fail, and reads go on") {
  compare(use_after_shutdown,
          {.always = {{"shut down, EPIPE, end, written, 3 bytes", "shutdown(2), SHUT_WR"}}});
}

task<std::string> shut_down_twice(place& p) {
  ends e = co_await p.connect_ends();
  std::string seen = co_await p.shutdown_send(e.client);
  add(seen, co_await p.shutdown_send(e.client));
  co_await p.close(e.server);
  add(seen, co_await p.read(e.client));
  co_await p.reached(e.client, "closed");
  add(seen, co_await p.shutdown_send(e.client));
  add(seen, co_await p.write(e.client, "x"));
  co_return seen;
}

TEST_CASE("parity: a second shutdown succeeds until both ends have been exchanged") {
  compare(shut_down_twice, {.always = {{"shut down, shut down, end, ENOTCONN, EPIPE",
                                        "the kernel keeps TIME_WAIT without the socket"}}});
}

task<std::string> shut_down_last(place& p) {
  ends e = co_await p.connect_ends();
  co_await p.close(e.server);
  std::string seen = co_await p.read(e.client);
  add(seen, co_await p.shutdown_send(e.client));
  co_await p.reached(e.client, "closed");
  add(seen, co_await p.shutdown_send(e.client));
  add(seen, co_await p.read(e.client));
  co_return seen;
}

TEST_CASE("parity: a shutdown after the end of the peer closes the connection") {
  compare(shut_down_last, {.always = {{"end, shut down, ENOTCONN, end", "LAST_ACK, then CLOSE"}}});
}

task<std::string> write_during_shutdown(place& p) {
  ends e = co_await p.connect_ends(small_buffers);
  const std::size_t sent = co_await p.fill(e.client);
  std::string seen;
  co_await leat::with_task_group([&](task_group& both) -> task<> {
    both.spawn([](place& here, connection& c, std::string& text) -> task<> {
      text = co_await here.write(c, "more");
    }(p, e.client, seen));
    co_await leat::sleep_for(p.short_limit());
    co_await p.shutdown_send(e.client);
  });
  add(seen, co_await p.drain(e.server, sent));
  co_return seen;
}

TEST_CASE("parity: shutdown_send() ends a write that waits, and the rest arrives") {
  compare(write_during_shutdown, {.always = {{"EPIPE, all, end", "shutdown(2) wakes writers"}}});
}

}  // namespace close_parity_test
