// What a pipeline leaves to others when it never has to wait for its input.

#include <cstddef>
#include <cstdint>
#include <exception>
#include <string>
#include <utility>

#include <catch2/catch.hpp>

#include "leat/core/error.hpp"
#include "leat/core/sync_wait.hpp"
#include "leat/core/task_group.hpp"
#include "leat/core/this_task.hpp"
#include "pipeline/lines_pipeline.hpp"
#include "support/temp_dir.hpp"

namespace pipeline_turns_test {

using leat::task;

// One file, all of it in the page cache: to read it takes longer than the turn of a task.
constexpr std::uint64_t lines = 2'000'000;

void write_lines(const temp_dir& dir) {
  std::string text;
  for (std::uint64_t i = 0; i < lines; ++i) text += "line\n";
  dir.write("lines", text);
}
auto declared(const temp_dir& dir) { return leat_test::lines_of({.files = {dir / "lines"}}); }

TEST_CASE("pipeline: a consumer that never waits leaves turns to others", "[pipeline]") {
  const temp_dir dir;
  write_lines(dir);
  auto p = declared(dir);
  std::uint64_t seen = 0;
  std::uint64_t seen_by_other = 0;
  leat::sync_wait([](auto& from, std::uint64_t& count, std::uint64_t& at) -> task<> {
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

TEST_CASE("pipeline: a consumer that never waits hears a stop, and can be saved", "[pipeline]") {
  const temp_dir dir;
  write_lines(dir);
  auto p = declared(dir);
  std::uint64_t seen = 0;
  bool cancelled = false;
  leat::sync_wait([](auto& from, std::uint64_t& count, bool& told) -> task<> {
    leat::task_group group;
    const auto consume = [&]() -> task<> {
      try {
        co_await from.for_each([&](const std::string&) { ++count; });
      } catch (const leat::failure& e) {
        told = e.code() == leat::errc::cancelled;
      }
    };
    const auto stop = [&]() -> task<> {
      while (count == 0) co_await leat::this_task::yield();
      group.request_stop();
    };
    group.spawn(consume());
    group.spawn(stop());
    co_await group.join();
  }(p, seen, cancelled));
  CHECK(cancelled);
  CHECK(seen < lines);
  auto rest = declared(dir);
  std::uint64_t left = 0;
  leat::sync_wait([](auto& from, std::string state, std::uint64_t& count) -> task<> {
    co_await from.restore(std::move(state));
    co_await from.for_each([&](const std::string&) { ++count; });
  }(rest, p.save(), left));
  CHECK(seen + left == lines);
}

}  // namespace pipeline_turns_test
