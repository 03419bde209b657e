// Tests the reader and the writer of TFRecord files with each other and with damage.

#include "leat/io/reader/tfrecord_reader.hpp"

#include <filesystem>

#include "leat/codec/tfrecord/tfrecord.hpp"
#include "leat/io/file/file.hpp"
#include "leat/io/writer/sharded_tfrecord_writer.hpp"
#include "leat/io/writer/tfrecord_writer.hpp"
#include "leat/sim/world/world.hpp"
#include "support/hex.hpp"
#include "support/leat_test.hpp"
#include "support/records/record_bytes.hpp"
#include "support/records/record_files.hpp"
#include "support/temp_dir.hpp"

namespace tfrecord_file_test {

using leat_test::texts;

task<> write_all(std::string path, texts records) {
  return leat_test::write_records(std::move(path), std::move(records), 100);
}

// Returns the number of records before the error, and the error.
task<std::pair<std::size_t, std::string>> read_until_error(std::string path,
                                                           leat::tfrecord_reader_options options,
                                                           errc expected) {
  auto reader = co_await leat::tfrecord_reader::open(path, options);
  leat::record_batch batch;
  std::size_t count = 0;
  std::string what = "no error";
  try {
    while (co_await reader->read_batch(batch)) {
      count += batch.size();
    }
  } catch (const leat::failure& e) {
    CHECK(e.code() == expected);
    what = e.what();
  }
  co_return std::pair(count, what);
}

// Like read_until_error(), but for a file in memory.
std::pair<std::size_t, std::string> read_bytes(const std::string& bytes,
                                               leat::tfrecord_reader_options options) {
  std::pair<std::size_t, std::string> result;
  leat::sim::world w(1);
  w.files().write_file("/cut", bytes);
  w.run([&](leat::sim::world&) -> task<> {
    result = co_await read_until_error("/cut", options, errc::data_loss);
  });
  return result;
}

const texts sample = {"hello", "", std::string(1000, 'x'), "the end"};

std::string sample_file(const temp_dir& dir) {
  const std::string path = dir / "a.tfrecord";
  leat::block_on(write_all(path, sample));
  return path;
}

TEST_CASE("tfrecord_reader: reads what tfrecord_writer wrote, with every chunk size") {
  const temp_dir dir;
  const std::string path = sample_file(dir);
  CHECK(std::filesystem::file_size(path) == 5 + 0 + 1000 + 7 + 4 * 16);
  CHECK(leat::block_on(leat_test::read_records(path)) == sample);
  for (const std::size_t size : {1U, 5U, 12U, 13U, 16U, 64U, 4096U}) {
    REQUIRE(leat::block_on(leat_test::read_records(
                path, {.read = {.chunk_size = size, .depth = 3}})) == sample);
  }
}

TEST_CASE("tfrecord_reader: a record has a position") {
  const temp_dir dir;
  leat::block_on([](std::string p) -> task<> {
    auto reader = co_await leat::tfrecord_reader::open(p);
    leat::record_batch batch;
    co_await reader->read_batch(batch);
    REQUIRE(batch.size() == 4);
    CHECK(batch.position(0).offset == 0);
    CHECK(batch.position(2).offset == 21 + 16);
    CHECK(batch.position(2).index == 2);
  }(sample_file(dir)));
}

TEST_CASE("tfrecord_reader: every truncation is an error at its record") {
  const temp_dir dir;
  const std::string path = sample_file(dir);
  const std::string whole = temp_dir::read(path);
  const std::vector<std::size_t> ends = {0, 21, 37, 1053, 1076};
  for (std::size_t size = 0; size < whole.size(); ++size) {
    const std::string cut = whole.substr(0, size);
    std::size_t records = 0;
    while (ends[records + 1] <= size) ++records;
    const auto [count, what] = read_bytes(cut, {.read = {.chunk_size = 700}});
    REQUIRE(count == records);
    if (size == ends[records]) {
      REQUIRE(what == "no error");
      continue;
    }
    REQUIRE(contains(
        what, "record " + std::to_string(records) + " at offset " + std::to_string(ends[records])));
    REQUIRE(contains(what, "truncated"));
    const auto [tolerated, none] = read_bytes(cut, {.tolerate_truncated_tail = true});
    REQUIRE(tolerated == records);
    REQUIRE(none == "no error");
  }
}

TEST_CASE("tfrecord_reader: reports position and checksums of a corrupt record") {
  const temp_dir dir;
  std::string bytes = temp_dir::read(sample_file(dir));
  bytes[40 + 20] ^= 1;
  const auto [count, what] =
      leat::block_on(read_until_error(dir.write("damaged", bytes), {}, errc::data_loss));
  CHECK(count == 2);
  CHECK(contains(what, "damaged, record 2 at offset 37: checksum of the payload"));
  CHECK(contains(what, "expected 0x"));
}

TEST_CASE("tfrecord_reader: keys are offsets, and the end repeats") {
  const temp_dir dir;
  for (const texts& records : {texts{"foo", "bar", "", "xxxx"}, texts{}}) {
    const std::string f = dir / "f";
    leat::block_on(write_all(f, records));
    CHECK(std::filesystem::file_size(f) == (records.empty() ? 0 : 74));
    leat::block_on([](std::string path, const texts& expected) -> task<> {
      auto reader = co_await leat::tfrecord_reader::open(path);
      leat::record_batch batch;
      texts found;
      texts keys;
      while (co_await reader->read_batch(batch)) {
        for (std::size_t i = 0; i < batch.size(); ++i) {
          found.emplace_back(leat::as_text(batch[i]));
          keys.push_back(reader->key(batch.position(i)));
        }
      }
      CHECK(found == expected);
      if (!expected.empty()) {
        CHECK(keys == texts{path + ":0", path + ":19", path + ":38", path + ":54"});
      }
      CHECK_FALSE(co_await reader->read_batch(batch));
    }(f, records));
  }
}

TEST_CASE("tfrecord_reader: reads a hundred thousand records") {
  const temp_dir dir;
  texts records;
  for (int i = 0; i < 100'000; ++i) records.push_back(std::to_string(i) + ".");
  const std::string path = dir / "f";
  leat::block_on(write_all(path, records));
  const texts found = leat::block_on(leat_test::read_records(path));
  REQUIRE(found.size() == records.size());
  CHECK(found == records);
}

TEST_CASE("tfrecord_reader: refuses the corrupt files of TensorFlow at record 0") {
  struct damaged {
    const char* id;
    std::string bytes;
    const char* what;
  };
  using leat_test::from_hex;
  const std::string of_123 = leat_test::framed({"123"});
  CHECK(of_123.substr(0, 14) == from_hex("0300000000000000b099490e3132"));
  const char* const length = "checksum of the length";
  const damaged files[] = {
      {"K14", from_hex("0300000000006400b099490e666f6f618abefe"), length},
      {"K15", from_hex("0300000000000000b099ad0e666f6f618abefe"), length},
      {"K17", from_hex("0300000000000000b099490e666f6f618abe08"), "checksum of the payload"},
      {"K18", of_123.substr(0, 14), "truncated"},
      {"K20", of_123.substr(0, 12), "truncated"},
      {"K20", of_123.substr(0, 18), "truncated"},
      {"K21", std::string(16, '\0'), length},
  };
  for (const damaged& d : files) {
    INFO(d.id);
    const auto [count, what] = read_bytes(d.bytes, {});  // expects data_loss
    CHECK(count == 0);
    CHECK(contains(what, "record 0 at offset 0: " + std::string(d.what)));
  }
}

TEST_CASE("tfrecord_reader: names a file of another format") {
  const temp_dir dir;
  const auto [count, what] = leat::block_on(
      read_until_error(dir.write("text", std::string(100, 'a')), {}, errc::data_loss));
  CHECK(count == 0);
  CHECK(contains(what, "or not a TFRecord file"));
}

TEST_CASE("tfrecord_reader: a record above the limit is refused") {
  const temp_dir dir;
  const auto [count, what] = leat::block_on(
      read_until_error(sample_file(dir), {.max_record_size = 500}, errc::resource_exhausted));
  CHECK(count == 2);
  CHECK(contains(what, "max_record_size"));
}

TEST_CASE("tfrecord_reader: a crafted length allocates no memory") {
  const temp_dir dir;
  const std::uint64_t lengths[] = {std::uint64_t{1} << 30, std::uint64_t{1} << 31,
                                   std::uint64_t{1} << 62, std::uint64_t{1} << 63,
                                   UINT64_MAX - 16,        UINT64_MAX};
  for (const std::uint64_t length : lengths) {
    const std::string path = dir.write("a", leat_test::header_of(length) + std::string(1000, 'x'));
    for (const std::uint64_t limit : {std::uint64_t{1} << 30, UINT64_MAX}) {
      const leat::tfrecord_reader_options options{.max_record_size = limit};
      // With any limit, a record that is longer than its file is corrupt.
      const auto [count, what] = leat::block_on(read_until_error(path, options, errc::data_loss));
      INFO(length << " " << limit << ": " << what);
      CHECK(count == 0);
      CHECK(contains(what, path));
    }
  }
}

TEST_CASE("tfrecord_reader: a length of 2^63-1 in a file of 12 bytes is corruption") {
  const temp_dir dir;
  const std::string path = dir.write("a", leat_test::header_of((std::uint64_t{1} << 63) - 1));
  for (const bool tolerated : {false, true}) {
    const auto [count, what] = leat::block_on(
        read_until_error(path, {.tolerate_truncated_tail = tolerated}, errc::data_loss));
    CHECK(count == 0);
    CHECK(contains(what, "truncated after 12 of 9223372036854775823 bytes"));
  }
}

TEST_CASE("tfrecord_writer: an empty path fails at open") {
  CHECK(error_of(leat::tfrecord_writer::open(""), errc::invalid_argument)
            .starts_with("'': cannot write a file with an empty path"));
  CHECK(contains(error_of(leat::sharded_tfrecord_writer::open("", {}), errc::invalid_argument),
                 "prefix of the paths is empty"));
  CHECK_THROWS_WITH(leat::block_on(leat::file::open("")), Catch::Contains("with an empty path"));
}

LEAT_REAL_TIME_TEST("tfrecord_writer: the last of two writers to close wins completely") {
  const temp_dir dir;
  const std::string path = dir / "a";
  auto first = co_await leat::tfrecord_writer::open(path);
  auto second = co_await leat::tfrecord_writer::open(path);
  for (int i = 0; i < 10; ++i) co_await first.write(leat::as_bytes("first"));
  for (int i = 0; i < 3; ++i) co_await second.write(leat::as_bytes("second"));
  co_await first.close();
  CHECK(co_await leat_test::read_records(path) == texts(10, "first"));
  co_await second.close();
  CHECK(co_await leat_test::read_records(path) == texts(3, "second"));
  CHECK_FALSE(std::filesystem::exists(dir / "a.partial"));
  CHECK_FALSE(std::filesystem::exists(dir / "a.partial1"));
}

LEAT_REAL_TIME_TEST("tfrecord_writer: the file appears when it is complete") {
  const temp_dir dir;
  const std::string path = dir / "a.tfrecord";
  auto writer = co_await leat::tfrecord_writer::open(path);
  co_await writer.write(leat::as_bytes("x"));
  co_await writer.flush();
  CHECK_FALSE(std::filesystem::exists(path));
  co_await writer.close();
  co_await writer.close();
  CHECK(std::filesystem::exists(path));
  CHECK(co_await code_of(writer.write(leat::as_bytes("y"))) == errc::failed_precondition);
  CHECK(co_await leat_test::read_records(path) == texts(1, "x"));
}

TEST_CASE("tfrecord_writer: leaves no file without a close") {
  const temp_dir dir;
  dir.write("a.tfrecord", "what was there before");
  leat::block_on([](std::string p) -> task<> {
    auto writer = co_await leat::tfrecord_writer::open(p);
    co_await writer.write(leat::as_bytes("x"));
  }(dir / "a.tfrecord"));
  CHECK(temp_dir::read(dir / "a.tfrecord") == "what was there before");
  CHECK_FALSE(std::filesystem::exists(dir / "a.tfrecord.partial"));
}

}  // namespace tfrecord_file_test
