#include <array>

#include "leat/sim.hpp"
#include "sim/file_system/faulty_runs.hpp"
#include "support/effort.hpp"

namespace file_system_streams_test {

using leat::sim::world;
using leat_test::read_on;
using leat_test::run_and_stop;
using leat_test::some_time;
using leat_test::texts;

const leat::sim::fault_rates passing{
    .short_transfer = 0.3, .interrupted = 0.1, .again = 0.1, .slow = 0.05};

// Writes a text in pieces, with pauses.
task<> write_pieces(world& w, std::string path, std::string text) {
  for (std::string_view left = text; !left.empty();) {
    const std::size_t size = 1 + leat_test::below(w, 40);
    w.files().write_pipe(path, left.substr(0, size));
    left.remove_prefix(std::min(size, left.size()));
    co_await leat::sleep_for(some_time(w, 60));
  }
  w.files().close_pipe(path);
}

TEST_CASE("file_system: a stop of a pipe reader at any step loses nothing") {
  const texts expected = leat_test::numbered("line ", 40);
  const std::string text = leat_test::joined(expected);
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    world w(seed, {.files = {.faults = passing}});
    w.files().make_pipe("/pipe");
    w.run([&](world& here) -> task<> {
      auto reader = co_await leat::line_reader::open("/pipe", {.read = {.chunk_size = 64}});
      task_group writing;
      writing.spawn(write_pieces(here, "/pipe", text));
      texts all;
      for (int stops = 0; stops < 5; ++stops) {
        co_await run_and_stop(read_on(*reader, all), some_time(here, 60));
      }
      co_await read_on(*reader, all);
      co_await writing.join();
      REQUIRE(all == expected);
    });
  }
}

// Reads a few bytes at a time until it is stopped or the pipe ends.
task<> collect(leat::file& f, std::string& out, bool& ended) {
  std::array<std::byte, 7> some;
  for (;;) {
    const std::size_t n = co_await f.read_at(leat::at_stream_position, some);
    out.append(reinterpret_cast<const char*>(some.data()), n);
    if (n == some.size()) continue;
    ended = !leat::this_task::stop_requested();
    if (ended) co_return;
  }
}

TEST_CASE("file_system: a stopped read of a pipe takes no bytes or returns them") {
  std::string text;
  for (char c = 'a'; c <= 'z'; ++c) text.append(20, c);
  for (std::uint64_t seed = 0; seed < leat_test::scaled_count(300); ++seed) {
    world w(seed, {.files = {.faults = passing}});
    w.files().make_pipe("/pipe");
    w.run([&](world& here) -> task<> {
      leat::file f = co_await leat::file::open("/pipe");
      task_group writing;
      writing.spawn(write_pieces(here, "/pipe", text));
      std::string all;
      for (bool ended = false; !ended;) {
        co_await run_and_stop(collect(f, all, ended), some_time(here, 60));
      }
      co_await writing.join();
      REQUIRE(all == text);
    });
  }
}

TEST_CASE("file_system: a stopped read of an empty pipe leaks nothing") {
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    world w(seed);
    w.files().make_pipe("/pipe");
    w.check_frames();
    w.run([](world&) -> task<> {
      const texts lines =
          co_await leat_test::read_lines_until_stop("/pipe", std::chrono::seconds(1));
      CHECK(lines.empty());
    });
  }
}

TEST_CASE("file_system: a read of a pipe without a writer is a deadlock") {
  world w(1);
  w.files().make_pipe("/pipe");
  CHECK_THROWS_AS(w.run([](world&) -> task<> {
    texts nothing;
    co_await leat_test::read_lines_into(nothing, "/pipe");
  }),
                  leat::sim::deadlock);
}

}  // namespace file_system_streams_test
