// Tests the contents of the files that the writer of TFRecord files creates.

#include "leat/io/writer/tfrecord_writer.hpp"

#include <filesystem>

#include "leat/sim/world/world.hpp"
#include "support/leat_test.hpp"
#include "support/records/record_bytes.hpp"
#include "support/records/texts.hpp"
#include "support/records/zlib_oracle.hpp"
#include "support/temp_dir.hpp"

namespace tfrecord_writer_test {

using leat::compression;
using leat_test::framed;
using leat_test::plain_of;
using texts = std::vector<std::string>;

constexpr compression formats[] = {compression::none, compression::zlib, compression::gzip};

// The records of TensorFlow's tests.
texts seven(int file) {
  texts records;
  for (int i = 0; i < 7; ++i) {
    records.push_back("Record " + std::to_string(i) + " of file " + std::to_string(file));
  }
  return records;
}

task<> write_all(std::string path, texts records, leat::tfrecord_writer_options options) {
  auto writer = co_await leat::tfrecord_writer::open(std::move(path), options);
  for (const std::string& r : records) co_await writer.write(leat::as_bytes(r));
  co_await writer.close();
}

std::string written(const temp_dir& dir, const texts& records,
                    const leat::tfrecord_writer_options& options) {
  leat::block_on(write_all(dir / "a", records, options));
  return temp_dir::read(dir / "a");
}

// Writes to a simulated file, which needs no wait for a device.
std::string written_in_memory(const texts& records, const leat::tfrecord_writer_options& options) {
  leat::sim::world w(1);
  w.run([&](leat::sim::world&) { return write_all("/a", records, options); });
  return w.files().read_file("/a").value();
}

TEST_CASE("tfrecord_writer: writes the same records with every compression and buffer size") {
  const texts records = seven(0);
  for (const compression c : formats) {
    for (std::size_t size = 0; size <= 20; ++size) {
      for (const std::size_t output_size : {16U, 17U, 20U, 65536U}) {
        const std::string bytes = written_in_memory(
            records, {.buffer_size = size, .compression = c, .output_buffer_size = output_size});
        REQUIRE(plain_of(c, bytes) == framed(records));
      }
    }
    REQUIRE(plain_of(c, written_in_memory({}, {.compression = c})) == "");
  }
}

LEAT_REAL_TIME_TEST("tfrecord_writer: counts records, and bytes with and without frames") {
  const temp_dir dir;
  const std::string path = dir / "a";
  auto writer = co_await leat::tfrecord_writer::open(path);
  co_await writer.write(leat::as_bytes("abc"));
  co_await writer.write(leat::as_bytes("defg"));
  co_await writer.close();
  CHECK(writer.records_written() == 2);
  CHECK(writer.bytes_written() - 2 * leat::tfrecord_overhead == 7);
  CHECK(writer.file_size() == 39);
  CHECK(temp_dir::read(path).size() == 39);
}

TEST_CASE("tfrecord_writer: a ZLIB file equals zlib.compress() of the plain file") {
  const temp_dir dir;
  for (int file = 0; file < 2; ++file) {
    const std::string expected = leat_test::zlib_deflated(
        framed(seven(file)), {.window_bits = leat_test::zlib_window, .level = 6});
    CHECK(written(dir, seven(file), {.compression = compression::zlib}) == expected);
  }
}

TEST_CASE("tfrecord_writer: passes the options of the compressor") {
  const temp_dir dir;
  const texts records = {leat_test::prose(100'000)};
  const std::string stored =
      written(dir, records, {.compression = compression::gzip, .deflate = {.level = 0}});
  CHECK(stored.size() > 100'000);
  const std::string best = written(
      dir, records, {.compression = compression::gzip, .deflate = {.level = 9, .window_bits = 9}});
  CHECK(best == leat_test::zlib_deflated(framed(records),
                                         {.window_bits = 9 + 16, .level = 9, .mem_level = 9}));
}

TEST_CASE("tfrecord_writer: a record of 5 MB is written in any compression") {
  const temp_dir dir;
  std::string large;
  for (const std::string part = leat_test::prose(100'000); large.size() < 5'000'000;) large += part;
  const texts records = {"first", large, leat_test::noise(1'000'000), "last"};
  for (const compression c : formats) {
    const std::string bytes = written(dir, records, {.compression = c, .deflate = {.level = 1}});
    CHECK(plain_of(c, bytes) == framed(records));
  }
}

TEST_CASE("tfrecord_writer: a flushed file contains the records so far") {
  const temp_dir dir;
  for (const compression c : formats) {
    for (const auto mode : {leat::deflate_flush::sync, leat::deflate_flush::full}) {
      leat::block_on([](std::string path, compression how, leat::deflate_flush m) -> task<> {
        const leat::tfrecord_writer_options options{.compression = how, .flush_mode = m};
        auto writer = co_await leat::tfrecord_writer::open(path, options);
        texts so_far;
        for (const std::string& r : seven(1)) {
          so_far.push_back(r);
          co_await writer.write(leat::as_bytes(r));
          co_await writer.flush();
          co_await writer.flush();  // no new data
          const std::string bytes = temp_dir::read(path + ".partial");
          REQUIRE(leat_test::plain_so_far(how, bytes) == framed(so_far));
          REQUIRE(writer.file_size() == bytes.size());
          REQUIRE(writer.bytes_written() == framed(so_far).size());
          REQUIRE(writer.records_written() == so_far.size());
        }
        co_await writer.close();
        REQUIRE(plain_of(how, temp_dir::read(path)) == framed(so_far));
        REQUIRE(writer.file_size() == temp_dir::read(path).size());
      }(dir / "a", c, mode));
    }
  }
}

LEAT_REAL_TIME_TEST("tfrecord_writer: without a flush mode the compressor keeps its buffer") {
  const temp_dir dir;
  const std::string path = dir / "a";
  const leat::tfrecord_writer_options options{.compression = compression::gzip,
                                              .flush_mode = leat::deflate_flush::none};
  auto writer = co_await leat::tfrecord_writer::open(path, options);
  co_await writer.write(leat::as_bytes("record"));
  co_await writer.flush();
  const std::string bytes = temp_dir::read(path + ".partial");
  CHECK(leat_test::plain_so_far(compression::gzip, bytes).empty());
  co_await writer.close();
  CHECK(plain_of(compression::gzip, temp_dir::read(path)) == framed({"record"}));
}

TEST_CASE("tfrecord_writer: after a close only another close is allowed") {
  const temp_dir dir;
  for (const compression c : formats) {
    leat::block_on([](std::string path, compression how) -> task<> {
      const leat::tfrecord_writer_options options{.compression = how};
      auto writer = co_await leat::tfrecord_writer::open(path, options);
      co_await writer.write(leat::as_bytes("record"));
      co_await writer.close();
      CHECK(co_await code_of(writer.write(leat::as_bytes("more"))) == errc::failed_precondition);
      CHECK(co_await code_of(writer.flush()) == errc::failed_precondition);
      co_await writer.close();
      CHECK(writer.records_written() == 1);
    }(dir / "a", c));
    CHECK(plain_of(c, temp_dir::read(dir / "a")) == framed({"record"}));
  }
}

// Without close() the file is not finished, because the owner of the writer may have
// failed.
TEST_CASE("tfrecord_writer: destruction without close keeps the old file") {
  const temp_dir dir;
  for (const compression c : formats) {
    dir.write("a", "before");
    leat::block_on([](std::string path, compression how) -> task<> {
      const leat::tfrecord_writer_options options{.buffer_size = 50, .compression = how};
      auto writer = co_await leat::tfrecord_writer::open(path, options);
      for (int i = 0; i < 20; ++i) co_await writer.write(leat::as_bytes("record"));
    }(dir / "a", c));
    CHECK(temp_dir::read(dir / "a") == "before");
    CHECK_FALSE(std::filesystem::exists(dir / "a.partial"));
  }
}

TEST_CASE("tfrecord_writer: an option out of range is refused before there is a file") {
  const temp_dir dir;
  const auto refusal = [&](const leat::tfrecord_writer_options& options) {
    return leat_test::refusal([&] { leat::block_on(write_all(dir / "a", {}, options)); });
  };
  const std::size_t large = (std::size_t{1} << 30) + 1;
  CHECK(contains(refusal({.buffer_size = large}), "buffer_size is 1073741825, must be 0 to"));
  CHECK(contains(refusal({.output_buffer_size = 15}), "output_buffer_size is 15, must be 16 to"));
  CHECK(contains(refusal({.output_buffer_size = large}), "output_buffer_size is"));
  CHECK(contains(refusal({.flush_mode = leat::deflate_flush::finish}), "flush_mode"));
  CHECK(contains(refusal({.compression = compression::zlib, .deflate = {.level = 11}}),
                 "deflate_options::level is 11"));
  CHECK(std::filesystem::is_empty(dir.path()));
}

}  // namespace tfrecord_writer_test
