// Reads that the kernel completes after the call that submits them. Reads of data in the page cache
// complete within that call, which hides a missing wake-up.

#include <string>

#include <catch2/catch.hpp>

#include "leat/async/loop/block_on.hpp"
#include "leat/async/loop/embedded_scheduler.hpp"
#include "leat/async/loop/runtime.hpp"
#include "leat/async/task_group.hpp"
#include "leat/files/file_backend.hpp"
#include "leat/io/file/file.hpp"
#include "leat/io/reader/line_reader.hpp"
#include "support/descriptors.hpp"
#include "support/records/page_cache.hpp"
#include "support/temp_dir.hpp"

namespace late_completion_test {

using leat::task;

constexpr std::size_t lines = 400'000;

// A file of numbered lines on the device.
std::string numbered_lines(const temp_dir& dir) {
  std::string text;
  for (std::size_t i = 0; i < lines; ++i) text += "line " + std::to_string(i) + '\n';
  return dir.write("lines", text);
}

task<std::size_t> count_lines(std::string path, bool& in_order) {
  auto reader = co_await leat::line_reader::open(path);
  leat::line_batch batch;
  std::size_t count = 0;
  for (bool more = true; more;) {
    more = co_await reader->read_batch(batch);
    for (const std::string_view line : batch) {
      in_order = in_order && line == "line " + std::to_string(count);
      ++count;
    }
  }
  co_return count;
}

task<std::string_view> backend_in_use(std::string path) {
  const leat::file f = co_await leat::file::open(path);
  co_return f.open_handle()->backend.name();
}

TEST_CASE("io_uring: is the backend of these tests", "[uring]") {
  const temp_dir dir;
  CHECK(leat::block_on(backend_in_use(dir.write("f", "x"))) == "io_uring");
}

TEST_CASE("io_uring: a read that completes later wakes its scheduler", "[uring]") {
  const temp_dir dir;
  const std::string path = numbered_lines(dir);
  for (int round = 0; round < 5; ++round) {
    leat_test::evict(path);
    bool in_order = true;
    REQUIRE(leat::block_on(count_lines(path, in_order)) == lines);
    REQUIRE(in_order);
  }
}

TEST_CASE("io_uring: several readers of evicted data on two schedulers", "[uring]") {
  const temp_dir dir;
  const std::string path = numbered_lines(dir);
  leat_test::evict(path);
  leat::runtime rt({.threads = 2});
  leat::task_group group;
  std::size_t counts[4] = {};
  bool in_order[4] = {true, true, true, true};
  for (std::size_t i = 0; i < 4; ++i) {
    group.spawn_on(rt.get_scheduler(i % 2),
                   [](std::string p, std::size_t& count, bool& ordered) -> task<> {
                     count = co_await count_lines(std::move(p), ordered);
                   }(path, counts[i], in_order[i]));
  }
  leat::block_on(group.join());
  for (std::size_t i = 0; i < 4; ++i) {
    CHECK(counts[i] == lines);
    CHECK(in_order[i]);
  }
}

TEST_CASE("io_uring: a read that completes later makes an embedded_scheduler's descriptor readable",
          "[uring]") {
  const temp_dir dir;
  const std::string path = numbered_lines(dir);
  leat::embedded_scheduler s;
  for (int round = 0; round < 5; ++round) {
    leat_test::evict(path);
    std::size_t count = 0;
    bool in_order = true;
    leat::task_group group;
    group.spawn_on(s, [](std::string p, std::size_t& n, bool& ordered) -> task<> {
      n = co_await count_lines(std::move(p), ordered);
    }(path, count, in_order));
    leat_test::loop_until_idle(s);
    leat::block_on(group.join());
    REQUIRE(count == lines);
    REQUIRE(in_order);
  }
}

TEST_CASE("io_uring: a reader can be destroyed while its reads are in flight", "[uring]") {
  const temp_dir dir;
  const std::string path = numbered_lines(dir);
  for (int round = 0; round < 20; ++round) {
    leat_test::evict(path);
    const auto first_batch = [](std::string p) -> task<std::string> {
      auto reader = co_await leat::line_reader::open(std::move(p));
      leat::line_batch batch;
      co_await reader->read_batch(batch);
      co_return std::string(*batch.begin());
    };
    REQUIRE(leat::block_on(first_batch(path)) == "line 0");
  }
}

}  // namespace late_completion_test
