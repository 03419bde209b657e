// The turns of other tasks while a pipeline never waits for its input.

#include <exception>

#include "leat/io/writer/tfrecord_writer.hpp"
#include "pipeline/resuming.hpp"
#include "pipeline/stopping.hpp"
#include "support/effort.hpp"
#include "support/leat_test.hpp"
#include "support/temp_dir.hpp"
#include "support/turns.hpp"

namespace pipeline_turns_test {

// One file that is completely in the page cache. Reading it takes longer than a task's turn.
constexpr std::uint64_t lines = leat_test::scaled_count(2'000'000);

void write_lines(const temp_dir& dir) {
  std::string text;
  for (std::uint64_t i = 0; i < lines; ++i) text += "line\n";
  dir.write("lines", text);
}
auto declared(const temp_dir& dir) { return leat_test::lines_of({.files = {dir / "lines"}}); }

TEST_CASE("pipeline: other tasks run although the consumer never waits", "[pipeline]") {
  const temp_dir dir;
  write_lines(dir);
  auto p = declared(dir);
  std::uint64_t seen = 0;
  std::uint64_t seen_by_other = 0;
  leat::block_on([](auto& from, std::uint64_t& count, std::uint64_t& at) -> task<> {
    leat::task_group group;
    group.spawn([](const std::uint64_t& now, std::uint64_t& then) -> task<> {
      while (now == 0) co_await leat::this_task::yield();
      then = now;
    }(count, at));
    co_await from.for_each([&](const std::string&) { ++count; });
    co_await group.join();
  }(p, seen, seen_by_other));
  CHECK(seen == lines);
  CHECK(seen_by_other < lines);
}

TEST_CASE("pipeline: a consumer that never waits can be stopped and saved", "[pipeline]") {
  const temp_dir dir;
  write_lines(dir);
  auto p = declared(dir);
  const std::size_t seen = leat_test::read_until_stopped(p, [](std::size_t n) { return n > 0; });
  CHECK(seen < lines);
  CHECK(seen + leat_test::elements_after(declared(dir), p.save()).size() == lines);
}

// Returns the number of elements that a consumer takes until all of `others` are finished. It
// computes for a millisecond after each; blocks have hundreds of elements.
std::uint64_t elements_beside(leat::task<> (*others)(const temp_dir&, bool&)) {
  const temp_dir dir;
  dir.write("lines", std::string(100'000, '\n'));
  auto p = declared(dir);
  std::uint64_t seen = 0;
  leat::block_on(
      [](auto& from, const temp_dir& where, auto beside, std::uint64_t& count) -> task<> {
        leat_test::slow_call compute;
        bool done = false;
        leat::task_group group;
        group.spawn(beside(where, done));
        for (; !done; ++count) {
          const auto line = co_await from.next();
          if (!line) break;
          compute();
        }
        co_await from.stop();
        co_await group.join();
      }(p, dir, others, seen));
  return seen;
}

// A loop iteration may have hundreds of items, and each element or block may be one of them.
TEST_CASE("pipeline: timers and files are served while a consumer computes", "[pipeline]") {
  const std::uint64_t beside_timers = elements_beside([](const temp_dir&, bool& done) -> task<> {
    for (int i = 0; i < 20; ++i) co_await leat::sleep_for(std::chrono::milliseconds(1));
    done = true;
  });
  CHECK(beside_timers < 2'000);
  const std::uint64_t beside_files = elements_beside([](const temp_dir& dir, bool& done) -> task<> {
    for (int i = 0; i < 5; ++i) {
      auto writer = co_await leat::tfrecord_writer::open(dir / "out");
      co_await writer.write({});
      co_await writer.close();
    }
    done = true;
  });
  CHECK(beside_files < 2'000);
}

}  // namespace pipeline_turns_test
