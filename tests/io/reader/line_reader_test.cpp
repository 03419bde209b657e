#include "leat/io/reader/line_reader.hpp"

#include <filesystem>
#include <fstream>
#include <future>
#include <sys/stat.h>
#include <thread>

#include "support/leat_test.hpp"
#include "support/temp_dir.hpp"

namespace line_reader_test {

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
  return leat_test::error_of(read_all(path, options), expected);
}

std::string text_of(int count) {
  std::string text;
  for (int i = 0; i < count; ++i)
    text += "line " + std::to_string(i) + std::string(static_cast<std::size_t>(i % 90), '.') + "\n";
  return text;
}

TEST_CASE("line_reader: reads lines with and without a final line end") {
  const temp_dir dir;
  CHECK(leat::block_on(read_all(dir.write("a", "one\ntwo\r\n\nfour"))) ==
        lines{"one", "two", "", "four"});
  CHECK(leat::block_on(read_all(dir.write("b", "one\n"))) == lines{"one"});
  CHECK(leat::block_on(read_all(dir.write("c", ""))).empty());
  CHECK(leat::block_on(read_all(dir.write("d", "\n"))) == lines{""});
  CHECK(leat::block_on(read_all(dir.write("e", "a\n\r"))) == lines{"a", ""});
}

TEST_CASE("line_reader: separates lines from their ends") {
  const temp_dir dir;
  const auto lines_of = [&](const std::string& text) {
    return leat::block_on(read_all(dir.write("f", text)));
  };
  CHECK(lines_of("a\rb\n") == lines{"a\rb"});
  CHECK(lines_of("a\r\r\n") == lines{"a\r"});
  CHECK(lines_of("abc\r") == lines{"abc"});
  const std::string nul("x\0y\n", 4);
  CHECK(lines_of(nul) == lines{nul.substr(0, 3)});
  leat::block_on([](std::string path) -> task<> {
    auto reader = co_await leat::line_reader::open(path);
    leat::line_batch batch;
    REQUIRE(co_await reader->read_batch(batch));
    REQUIRE(batch.size() == 1);
    CHECK(batch[0].empty());
    CHECK(reader->key(batch.position(0)) == path + ":1");
  }(dir.write("f", "\n")));
}

TEST_CASE("line_reader: reads with buffers of any size, and the end repeats") {
  const temp_dir dir;
  const std::string path = dir.write("f", "line one\nline two\nline three\n");
  for (std::size_t size = 1; size <= 21; ++size) {
    leat::line_reader_options options;
    options.read.chunk_size = size <= 20 ? size : 65536;
    CHECK(leat::block_on(read_all(path, options)) == lines{"line one", "line two", "line three"});
    leat::block_on([](std::string p, leat::line_reader_options o) -> task<> {
      auto reader = co_await leat::line_reader::open(p, o);
      leat::line_batch batch;
      for (bool more = true; more;) more = co_await reader->read_batch(batch);
      for (int again = 0; again < 3; ++again) {
        CHECK_FALSE(co_await reader->read_batch(batch));
      }
    }(path, options));
  }
}

TEST_CASE("line_reader: every chunk size gives the same lines") {
  const temp_dir dir;
  const std::string path = dir.write("a", text_of(300) + "last");
  const lines expected = leat::block_on(read_all(path));
  CHECK(expected.size() == 301);
  for (const std::size_t size : {1U, 2U, 3U, 7U, 16U, 100U, 4096U, 5000U}) {
    for (const std::size_t depth : {1U, 4U}) {
      REQUIRE(leat::block_on(read_all(path, {.read = {.chunk_size = size, .depth = depth}})) ==
              expected);
    }
  }
}

TEST_CASE("line_reader: lines longer than many chunks") {
  const temp_dir dir;
  const std::string path =
      dir.write("a", std::string(100'000, 'x') + "\n" + std::string(50'000, 'y'));
  const lines got = leat::block_on(read_all(path, {.read = {.chunk_size = 1000}}));
  REQUIRE(got.size() == 2);
  CHECK(got[0].size() == 100'000);
  CHECK(got[1].size() == 50'000);
}

LEAT_REAL_TIME_TEST("line_reader: skips header lines, but counts them in positions") {
  const temp_dir dir;
  const std::string path = dir.write("a", "h1\nh2\nfirst\nsecond\n");
  auto reader = co_await leat::line_reader::open(path, {.skip_header_lines = 2});
  leat::line_batch batch;
  REQUIRE(co_await reader->read_batch(batch));
  CHECK(batch[0] == "first");
  CHECK(batch.position(0).index == 2);
  CHECK(batch.position(1).offset == 12);
  CHECK(batch.position(1).path == path);
  const lines none = co_await read_all(path, {.skip_header_lines = 9});
  CHECK(none.empty());
}

TEST_CASE("line_reader: a line above the limit is an error with its position after earlier lines") {
  const temp_dir dir;
  const std::string path = dir.write("a", "short\n" + std::string(50, 'x') + "\nshort\n");
  leat::block_on([](std::string p) -> task<> {
    auto reader = co_await leat::line_reader::open(p, {.max_line_size = 20});
    leat::line_batch batch;
    CHECK(co_await reader->read_batch(batch));
    CHECK(batch.size() == 1);
    for (int i = 0; i < 2; ++i) {
      const std::string what = co_await message_of(reader->read_batch(batch));
      CHECK(contains(what, "line 2 at offset 6"));
      CHECK(contains(what, "max_line_size"));
    }
  }(path));
  CHECK(contains(
      error_of(path, {.max_line_size = 20, .read = {.chunk_size = 8}}, errc::resource_exhausted),
      "line 2"));
}

TEST_CASE("line_reader: the limit applies to the line, not to chunks") {
  const temp_dir dir;
  const std::string fits = dir.write("fits", "abcd\r\nabcd\nabcd\r\n");
  const std::string does_not = dir.write("does_not", "abcd\r\nabcde\r\n");
  for (std::size_t chunk = 1; chunk < 12; ++chunk) {
    const leat::line_reader_options options{.max_line_size = 4, .read = {.chunk_size = chunk}};
    CHECK(leat::block_on(read_all(fits, options)) == lines{"abcd", "abcd", "abcd"});
    CHECK(contains(error_of(does_not, options, errc::resource_exhausted), "line 2 at offset 6"));
  }
}

TEST_CASE("line_reader: counts each skipped line for any chunks") {
  const temp_dir dir;
  const std::string path =
      dir.write("a", "1\n2 is too long\n3 is too long\n4 is too long\n5\n6 is too long\n");
  const auto places = [&](std::size_t chunk) -> task<lines> {
    lines all;
    leat::line_reader_options options{.max_line_size = 8, .read = {.chunk_size = chunk}};
    options.corruption.policy = leat::corruption_policy::skip_record;
    options.corruption.on_report = [&](const leat::corruption_report& r) {
      all.push_back("no line " + std::to_string(r.index) + " at " + std::to_string(r.offset) +
                    ", " + std::to_string(r.skipped));
    };
    auto reader = co_await leat::line_reader::open(path, options);
    leat::line_batch batch;
    while (co_await reader->read_batch(batch)) {
      for (std::size_t i = 0; i < batch.size(); ++i) {
        all.push_back(std::string(batch[i]) + ": " + leat::format_line_position(batch.position(i)));
      }
    }
    co_return all;
  };
  const lines expected = {"1: " + path + ":1 at offset 0",
                          "no line 1 at 2, 14",
                          "no line 2 at 16, 14",
                          "no line 3 at 30, 14",
                          "5: " + path + ":5 at offset 44",
                          "no line 5 at 46, 14"};
  for (std::size_t chunk = 1; chunk < 70; ++chunk) {
    INFO("chunks of " << chunk);
    CHECK(leat::block_on(places(chunk)) == expected);
  }
}

TEST_CASE("line_reader: an error of opening names the path") {
  const temp_dir dir;
  CHECK(contains(error_of(dir / "missing", {}, errc::not_found), "missing"));
  CHECK(contains(error_of(dir.path(), {}, errc::failed_precondition), dir.path()));
  CHECK(contains(error_of(dir.write("a", "x"), {.read = {.chunk_size = 0}}, errc::invalid_argument),
                 "chunk_size"));
}

TEST_CASE("line_reader: a pipe is read until it ends") {
  const temp_dir dir;
  const std::string path = dir / "pipe";
  REQUIRE(::mkfifo(path.c_str(), 0600) == 0);
  std::jthread writer([&] { std::ofstream(path) << text_of(2000); });
  CHECK(leat::block_on(read_all(path)).size() == 2000);
}

TEST_CASE("line_reader: a file that becomes shorter is an error") {
  const temp_dir dir;
  const std::string path = dir.write("a", text_of(1000));
  const auto read = [](std::string p) -> task<> {
    auto reader = co_await leat::line_reader::open(p, {.read = {.chunk_size = 512, .depth = 1}});
    leat::line_batch batch;
    co_await reader->read_batch(batch);
    std::filesystem::resize_file(p, 600);
    while (co_await reader->read_batch(batch)) {
    }
  };
  CHECK(contains(leat::block_on(message_of(read(path))), "became shorter"));
}

LEAT_REAL_TIME_TEST("line_reader: refuses a file that is truncated while it is read") {
  const temp_dir dir;
  std::string text;
  for (int i = 0; i < 100'000; ++i) text += std::to_string(1'000'000 + i) + "\n";
  const std::string path = dir.write("a", text);
  auto reader = co_await leat::line_reader::open(path, {.read = {.chunk_size = 4096, .depth = 4}});
  leat::line_batch batch;
  int next = 1'000'000;
  bool cut = false;
  std::string what;
  try {
    while (co_await reader->read_batch(batch)) {
      for (const std::string_view line : batch) REQUIRE(line == std::to_string(next++));
      if (next < 1'020'000) continue;
      std::filesystem::resize_file(
          path, cut ? 800'000 : static_cast<std::size_t>(next - 1'000'000) * 8 + 1000);
      cut = true;  // grows to its old size again, with zeros
    }
  } catch (const leat::failure& e) {
    CHECK(e.code() == errc::data_loss);
    what = e.what();
  }
  CHECK(contains(what, "shorter"));
}

TEST_CASE("line_reader: a file that grows from nothing is read in order") {
  const temp_dir dir;
  for (int round = 0; round < 20; ++round) {
    const std::string path = dir.write("log" + std::to_string(round), "");
    std::jthread writer([&] {
      std::ofstream out(path, std::ios::app);
      for (int i = 0; i < 3000; ++i) {
        out << 1'000'000 + i << '\n';
        if (i % 7 == 0) out.flush();
      }
    });
    const lines all = leat::block_on(read_all(path, {.read = {.chunk_size = 64}}));
    writer.join();
    // The lines up to the current end of the file: each in its position, the last one possibly cut.
    for (std::size_t i = 0; i + 1 < all.size(); ++i) {
      REQUIRE(all[i] == std::to_string(1'000'000 + i));
    }
  }
}

TEST_CASE("line_reader: names options out of range") {
  const temp_dir dir;
  const std::string path = dir.write("a", "one\ntwo\n");
  const auto minus_one = static_cast<std::size_t>(-1);
  CHECK(contains(error_of(path, {.skip_header_lines = minus_one}, errc::invalid_argument),
                 "skip_header_lines is 18446744073709551615"));
  CHECK(leat::block_on(read_all(path, {.skip_header_lines = minus_one / 2})).empty());
  CHECK(contains(error_of(path, {.max_line_size = 0}, errc::invalid_argument), "max_line_size"));
  for (const std::size_t wrong : {std::size_t{0}, SIZE_MAX, SIZE_MAX - 4095}) {
    CHECK(contains(error_of(path, {.read = {.chunk_size = wrong}}, errc::invalid_argument),
                   "chunk_size"));
    CHECK(contains(error_of(path, {.read = {.depth = wrong}}, errc::invalid_argument), "depth"));
  }
  const leat::line_reader_options whole{.read = {.chunk_size = std::size_t{1} << 30}};
  CHECK(leat::block_on(read_all(path, whole)) == lines{"one", "two"});
}

LEAT_REAL_TIME_TEST("line_reader: batches outlive their reader") {
  const temp_dir dir;
  const std::string path = dir.write("a", text_of(5000));
  std::vector<leat::line_batch> kept;
  {
    auto reader = co_await leat::line_reader::open(path, {.read = {.chunk_size = 4096}});
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
}

LEAT_REAL_TIME_TEST("line_reader: a stop ends a read that waits, and nothing is lost") {
  const temp_dir dir;
  const std::string path = dir / "pipe";
  REQUIRE(::mkfifo(path.c_str(), 0600) == 0);
  std::promise<void> may_end;
  std::jthread writer([&, end = may_end.get_future()]() mutable {
    const std::fstream both_ends(path);  // opening does not wait for the reader
    end.wait();
  });
  const auto read = [](std::string p, bool& opened, bool& cancelled) -> task<> {
    auto reader = co_await leat::line_reader::open(p);
    opened = true;
    leat::line_batch batch;
    cancelled = co_await code_of(reader->read_batch(batch)) == errc::cancelled;
  };
  bool opened = false;
  bool cancelled = false;
  leat::task_group g;
  g.spawn(read(path, opened, cancelled));
  while (!opened) co_await leat::this_task::yield();
  for (int i = 0; i < 10; ++i) co_await leat::this_task::yield();
  g.request_stop();
  co_await g.join();
  may_end.set_value();  // the abandoned read ends with the pipe
  CHECK(cancelled);
}

}  // namespace line_reader_test
