#include "leat/io/line_reader.hpp"

#include <future>
#include <sys/stat.h>
#include <thread>
#include <vector>

#include <catch2/catch.hpp>

#include "leat/core/sync_wait.hpp"
#include "leat/core/task_group.hpp"
#include "support/temp_dir.hpp"

namespace {

using leat::errc;
using leat::task;
using lines = std::vector<std::string>;

task<lines> read_all(std::string path, leat::line_reader_options options = {}) {
  auto reader = co_await leat::line_reader::open(path, options);
  lines all;
  leat::line_batch batch;
  for (bool more = true; more;) {
    more = co_await reader->read_batch(batch);
    CHECK(batch.empty() == !more);
    all.insert(all.end(), batch.begin(), batch.end());
  }
  co_return all;
}

std::string error_of(const std::string& path, leat::line_reader_options options, errc expected) {
  try {
    leat::sync_wait(read_all(path, options));
  } catch (const leat::failure& e) {
    CHECK(e.code() == expected);
    return e.what();
  }
  return "no error";
}

std::string text_of(int count) {
  std::string text;
  for (int i = 0; i < count; ++i)
    text += "line " + std::to_string(i) + std::string(static_cast<std::size_t>(i % 90), '.') + "\n";
  return text;
}

}  // namespace

TEST_CASE("line_reader: lines, with and without an end of the last", "[io]") {
  const temp_dir dir;
  CHECK(leat::sync_wait(read_all(dir.write("a", "one\ntwo\r\n\nfour"))) ==
        lines{"one", "two", "", "four"});
  CHECK(leat::sync_wait(read_all(dir.write("b", "one\n"))) == lines{"one"});
  CHECK(leat::sync_wait(read_all(dir.write("c", ""))).empty());
  CHECK(leat::sync_wait(read_all(dir.write("d", "\n"))) == lines{""});
  CHECK(leat::sync_wait(read_all(dir.write("e", "a\n\r"))) == lines{"a", ""});
}

TEST_CASE("line_reader: every chunk size gives the same lines", "[io]") {
  const temp_dir dir;
  const std::string path = dir.write("a", text_of(300) + "last");
  const lines expected = leat::sync_wait(read_all(path));
  CHECK(expected.size() == 301);
  for (const std::size_t size : {1U, 2U, 3U, 7U, 16U, 100U, 4096U, 5000U}) {
    for (const std::size_t depth : {1U, 4U}) {
      REQUIRE(leat::sync_wait(read_all(path, {.read = {.chunk_size = size, .depth = depth}})) ==
              expected);
    }
  }
}

TEST_CASE("line_reader: lines longer than many chunks", "[io]") {
  const temp_dir dir;
  const std::string path =
      dir.write("a", std::string(100'000, 'x') + "\n" + std::string(50'000, 'y'));
  const lines got = leat::sync_wait(read_all(path, {.read = {.chunk_size = 1000}}));
  REQUIRE(got.size() == 2);
  CHECK(got[0].size() == 100'000);
  CHECK(got[1].size() == 50'000);
}

TEST_CASE("line_reader: header lines are left out, positions count them", "[io]") {
  const temp_dir dir;
  const std::string path = dir.write("a", "h1\nh2\nfirst\nsecond\n");
  leat::sync_wait([](std::string p) -> task<> {
    auto reader = co_await leat::line_reader::open(p, {.skip_header_lines = 2});
    leat::line_batch batch;
    const bool more = co_await reader->read_batch(batch);
    REQUIRE(more);
    CHECK(batch[0] == "first");
    CHECK(batch.position(0).index == 2);
    CHECK(batch.position(1).offset == 12);
    CHECK(batch.position(1).path == p);
  }(path));
  CHECK(leat::sync_wait(read_all(path, {.skip_header_lines = 9})).empty());
}

TEST_CASE("line_reader: a line above the limit is an error with its place, lines before it come",
          "[io]") {
  const temp_dir dir;
  const std::string path = dir.write("a", "short\n" + std::string(50, 'x') + "\nshort\n");
  leat::sync_wait([](std::string p) -> task<> {
    auto reader = co_await leat::line_reader::open(p, {.max_line_size = 20});
    leat::line_batch batch;
    const bool more = co_await reader->read_batch(batch);
    CHECK(more);
    CHECK(batch.size() == 1);
    for (int i = 0; i < 2; ++i) {
      std::string what;
      try {
        co_await reader->read_batch(batch);
      } catch (const leat::failure& e) {
        what = e.what();
      }
      CHECK(what.find("line 2 at offset 6") != std::string::npos);
      CHECK(what.find("max_line_size") != std::string::npos);
    }
  }(path));
  CHECK(error_of(path, {.max_line_size = 20, .read = {.chunk_size = 8}}, errc::resource_exhausted)
            .find("line 2") != std::string::npos);
}

TEST_CASE("line_reader: what cannot be opened is said with its path", "[io]") {
  const temp_dir dir;
  CHECK(error_of(dir / "missing", {}, errc::not_found).find("missing") != std::string::npos);
  CHECK(error_of(dir.path(), {}, errc::failed_precondition).find(dir.path()) != std::string::npos);
  CHECK(error_of(dir.write("a", "x"), {.read = {.chunk_size = 0}}, errc::invalid_argument)
            .find("chunk_size") != std::string::npos);
}

TEST_CASE("line_reader: a pipe is read until it ends", "[io]") {
  const temp_dir dir;
  const std::string path = dir / "pipe";
  REQUIRE(::mkfifo(path.c_str(), 0600) == 0);
  std::jthread writer([&] { std::ofstream(path) << text_of(2000); });
  CHECK(leat::sync_wait(read_all(path)).size() == 2000);
}

TEST_CASE("line_reader: a file that becomes shorter is an error", "[io]") {
  const temp_dir dir;
  const std::string path = dir.write("a", text_of(1000));
  std::string what;
  try {
    leat::sync_wait([](std::string p) -> task<> {
      auto reader = co_await leat::line_reader::open(p, {.read = {.chunk_size = 512, .depth = 1}});
      leat::line_batch batch;
      co_await reader->read_batch(batch);
      std::filesystem::resize_file(p, 600);
      for (bool more = true; more;) more = co_await reader->read_batch(batch);
    }(path));
  } catch (const leat::failure& e) {
    what = e.what();
  }
  CHECK(what.find("became shorter") != std::string::npos);
}

TEST_CASE("line_reader: batches outlive their reader", "[io]") {
  const temp_dir dir;
  const std::string path = dir.write("a", text_of(5000));
  leat::sync_wait([](std::string p) -> task<> {
    std::vector<leat::line_batch> kept;
    {
      auto reader = co_await leat::line_reader::open(p, {.read = {.chunk_size = 4096}});
      for (;;) {
        leat::line_batch batch;
        const bool more = co_await reader->read_batch(batch);
        if (!more) break;
        kept.push_back(std::move(batch));
      }
    }
    std::size_t count = 0;
    for (const auto& batch : kept) {
      for (const std::string_view line : batch)
        CHECK(line.starts_with("line " + std::to_string(count++)));
    }
    CHECK(count == 5000);
  }(path));
}

TEST_CASE("line_reader: a stop ends a read that waits, and nothing is lost", "[io]") {
  const temp_dir dir;
  const std::string path = dir / "pipe";
  REQUIRE(::mkfifo(path.c_str(), 0600) == 0);
  std::promise<void> may_end;
  std::jthread writer([&, end = may_end.get_future()]() mutable {
    std::ofstream out(path);
    end.wait();
  });
  struct reading {
    static task<> run(std::string p, bool& cancelled) {
      auto reader = co_await leat::line_reader::open(p);
      leat::line_batch batch;
      try {
        co_await reader->read_batch(batch);
      } catch (const leat::failure& e) {
        cancelled = e.code() == errc::cancelled;
      }
    }
  };
  bool cancelled = false;
  leat::sync_wait([](std::string p, bool& c, std::promise<void>& end) -> task<> {
    leat::task_group g;
    g.spawn(reading::run(p, c));
    for (int i = 0; i < 100; ++i) co_await leat::this_task::yield();
    g.request_stop();
    co_await g.join();
    end.set_value();  // the read that nobody waits for ends with the pipe
  }(path, cancelled, may_end));
  CHECK(cancelled);
}
