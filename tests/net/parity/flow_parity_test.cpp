// Flow control: writers that wait, and how bytes are divided among reads.

#include "net/parity/comparison.hpp"

namespace flow_parity_test {

using namespace leat_test::parity;

task<std::string> full_writer(place& p) {
  ends e = co_await p.connect_ends(small_buffers);
  const std::size_t sent = co_await p.fill(e.client);
  std::string seen = sent > 0 ? "some bytes" : "no bytes";
  add(seen, co_await p.write_soon(e.client, "x"));
  co_await p.shutdown_send(e.client);
  add(seen, co_await p.drain(e.server, sent));
  co_return seen;
}

TEST_CASE("parity: a writer whose peer does not read waits, and no byte is lost") {
  compare(full_writer, {.always = {{"some bytes, waits, all, end", "the buffers are full"}}});
}

task<std::string> wake_writer(place& p) {
  ends e = co_await p.connect_ends(small_buffers);
  co_await p.fill(e.client);
  std::string written;
  std::string before;
  co_await leat::with_task_group([&](task_group& both) -> task<> {
    both.spawn([](place& here, connection& c, std::string& text) -> task<> {
      text = co_await here.write(c, std::string(1000, 'x'));
    }(p, e.client, written));
    co_await leat::sleep_for(1ms);
    before = co_await p.take(e.server, 1);
    co_await leat::sleep_for(p.short_limit());
    add(before, written.empty() ? "the writer waits" : "the writer continues");
    while (written.empty()) co_await p.read(e.server, 10'000);
  });
  co_return before + ", then: " + written;
}

TEST_CASE("parity: a writer that waits does not continue when the first byte is read") {
  compare(wake_writer, {.always = {{"1 byte, the writer waits, then: written",
                                    "sk_stream_write_space(): a third must be free"}}});
}

task<std::string> write_to_each_other(place& p) {
  ends e = co_await p.connect_ends(small_buffers);
  const std::size_t from_client = co_await p.fill(e.client);
  const std::size_t from_server = co_await p.fill(e.server);
  std::string client;
  std::string server;
  co_await leat::with_task_group([&](task_group& both) -> task<> {
    const auto write = [](place& here, connection& c, std::string& text) -> task<> {
      text = co_await here.write_soon(c, "x");
    };
    both.spawn(write(p, e.client, client));
    both.spawn(write(p, e.server, server));
    co_return;
  });
  co_await p.shutdown_send(e.client);
  co_await p.shutdown_send(e.server);
  add(client, server);
  add(client, co_await p.drain(e.server, from_client));
  add(client, co_await p.drain(e.client, from_server));
  co_return client;
}

TEST_CASE("parity: two writers that wait for each other wait until one of them reads") {
  compare(write_to_each_other,
          {.always = {{"waits, waits, all, end, all, end", "both buffers are full"}}});
}

task<std::string> small_writes(place& p) {
  ends e = co_await p.connect_ends();
  for (int i = 0; i < 10; ++i) co_await p.write(e.client, "x");
  co_await p.arrived(e.server, 10);
  co_return co_await p.read(e.server);
}

TEST_CASE("parity: one read returns ten small writes that have arrived") {
  compare(small_writes, {.always = {{"10 bytes", "a stream has no messages"}}});
}

task<std::string> small_writes_while_reading(place& p) {
  ends e = co_await p.connect_ends();
  std::string first;
  co_await leat::with_task_group([&](task_group& both) -> task<> {
    both.spawn([](place& here, connection& c, std::string& text) -> task<> {
      co_await leat::sleep_for(15ms);
      text = co_await here.read(c);
    }(p, e.server, first));
    for (int i = 0; i < 10; ++i) {
      co_await p.write(e.client, "x");
      co_await leat::sleep_for(1ms);
    }
  });
  if (first == "1 byte" || first == "10 bytes") co_return first;
  co_return "between 1 and 10 bytes";
}

TEST_CASE("parity: a read returns some of ten small writes") {
  compare(small_writes_while_reading,
          {.always = {{"1 byte", "a read returns what there is"},
                      {"between 1 and 10 bytes", "a read returns what there is"},
                      {"10 bytes", "a read returns what there is"}}});
}

task<std::string> read_nothing(place& p) {
  ends e = co_await p.connect_ends();
  std::string seen = co_await p.read(e.client, 0);
  co_await p.write(e.server, "x");
  co_await p.arrived(e.client, 1);
  add(seen, co_await p.read(e.client, 0));
  add(seen, co_await p.read(e.client));
  co_await p.close(e.server);
  co_await p.reached(e.client, "close-wait");
  add(seen, co_await p.read(e.client, 0));
  add(seen, co_await p.read(e.client));
  co_return seen;
}

TEST_CASE("parity: a read of no bytes returns at once, also at the end") {
  compare(
      read_nothing,
      {.always = {{"0 bytes, 0 bytes, 1 byte, 0 bytes, end", "recv(2); Asio does not call it"}}});
}

task<std::string> half_close_when_full(place& p) {
  ends e = co_await p.connect_ends(small_buffers);
  const std::size_t sent = co_await p.fill(e.client);
  std::string seen = co_await p.shutdown_send(e.client);
  add(seen, co_await p.drain(e.server, sent));
  add(seen, co_await p.write(e.server, "reply"));
  co_await p.close(e.server);
  add(seen, co_await p.drain(e.client, 5));
  co_return seen;
}

TEST_CASE("parity: the end travels behind a full buffer, and the other direction stays open") {
  compare(half_close_when_full, {.always = {{"shut down, all, end, written, all, end",
                                             "the end is the last of the stream"}}});
}

}  // namespace flow_parity_test
