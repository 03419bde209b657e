#include "leat/io/writer/sharded_tfrecord_writer.hpp"

#include <algorithm>
#include <filesystem>

#include "support/leat_test.hpp"
#include "support/records/record_bytes.hpp"
#include "support/records/texts.hpp"
#include "support/temp_dir.hpp"

namespace sharded_tfrecord_writer_test {

using leat::compression;
using leat_test::framed;
using leat_test::plain_of;
using options = leat::sharded_tfrecord_writer_options;
using texts = std::vector<std::string>;

texts numbered(int count, std::size_t size = 0) {
  texts all;
  for (int i = 0; i < count; ++i) {
    std::string record = std::to_string(i) + " ";
    if (size > 0) record += leat_test::noise(size - record.size(), static_cast<std::uint64_t>(i));
    all.push_back(std::move(record));
  }
  return all;
}

texts part(const texts& all, std::size_t begin, std::size_t end) {
  return {all.begin() + static_cast<std::ptrdiff_t>(begin),
          all.begin() + static_cast<std::ptrdiff_t>(std::min(end, all.size()))};
}

// Writes a set of files and returns their paths.
task<texts> write_set(std::string prefix, texts records, options o) {
  auto writer = co_await leat::sharded_tfrecord_writer::open(std::move(prefix), std::move(o));
  for (const std::string& r : records) co_await writer.write(leat::as_bytes(r));
  co_await writer.close();
  CHECK(writer.records_written() == records.size());
  CHECK(writer.bytes_written() == framed(records).size());
  co_return writer.paths();
}

texts written(const temp_dir& dir, const texts& records, const options& o) {
  return leat::block_on(write_set(dir / "set", records, o));
}

texts names_in(const temp_dir& dir) {
  texts names;
  for (const auto& entry : std::filesystem::directory_iterator(dir.path())) {
    names.push_back(entry.path().filename());
  }
  std::sort(names.begin(), names.end());
  return names;
}

TEST_CASE("shard_path: names sort like their numbers") {
  CHECK(leat::shard_path("data/a", 3, 10, ".tfrecord") == "data/a-00003-of-00010.tfrecord");
  CHECK(leat::shard_path("a", 0, 1, "") == "a-00000-of-00001");
  CHECK(leat::shard_path("a", 99'999, 100'000, "") == "a-099999-of-100000");
  CHECK(leat::shard_path("a", 12, 1'234'567, ".gz") == "a-0000012-of-1234567.gz");
}

TEST_CASE("sharded_tfrecord_writer: writes max_records to each file") {
  for (const int count : {0, 1, 9, 10, 11, 20, 95}) {
    const temp_dir dir;
    const texts records = numbered(count);
    const texts paths = written(dir, records, {.max_records = 10});
    REQUIRE(paths.size() == static_cast<std::size_t>(std::max(1, (count + 9) / 10)));
    for (std::size_t i = 0; i < paths.size(); ++i) {
      REQUIRE(paths[i] == leat::shard_path(dir / "set", i, paths.size(), ".tfrecord"));
      REQUIRE(temp_dir::read(paths[i]) == framed(part(records, 10 * i, 10 * i + 10)));
    }
    REQUIRE(names_in(dir).size() == paths.size());
  }
}

TEST_CASE("sharded_tfrecord_writer: an uncompressed file exceeds max_bytes only for one record") {
  const temp_dir dir;
  texts records = numbered(50, 84);  // 100 bytes with the frame
  records[20] = std::string(5000, 'x');
  std::string all;
  for (const std::string& path : written(dir, records, {.max_bytes = 1050, .suffix = ".rec"})) {
    const std::string bytes = temp_dir::read(path);
    CHECK((bytes.size() <= 1050 || bytes == framed({records[20]})));
    CHECK(path.ends_with(".rec"));
    all += bytes;
  }
  CHECK(all == framed(records));
  CHECK(names_in(dir).size() == 6);  // 1000, 1000, 5016, 1000, 1000, 900
}

TEST_CASE("sharded_tfrecord_writer: a compressed file ends when it reaches max_bytes") {
  for (const compression c : {compression::zlib, compression::gzip}) {
    const temp_dir dir;
    const texts records = numbered(200, 500);
    options o;
    o.max_bytes = 20'000;
    o.file = {.buffer_size = 1000, .compression = c, .output_buffer_size = 1000};
    std::string all;
    const texts paths = written(dir, records, o);
    for (const std::string& path : paths) {
      const std::string bytes = temp_dir::read(path);
      all += plain_of(c, bytes).value();
      // The compressor writes its pending output at the end, which is about one of its blocks.
      CHECK(bytes.size() < 20'000 + 70'000);
      CHECK((bytes.size() >= 20'000 || path == paths.back()));
    }
    CHECK(all == framed(records));
    CHECK(paths.size() > 1);
  }
}

TEST_CASE("sharded_tfrecord_writer: shard_count distributes records round robin") {
  for (const int count : {0, 2, 3, 10}) {
    const temp_dir dir;
    const texts records = numbered(count);
    const texts paths = written(dir, records, {.shard_count = 3});
    REQUIRE(paths.size() == 3);
    for (std::size_t i = 0; i < 3; ++i) {
      texts expected;
      for (std::size_t k = i; k < records.size(); k += 3) expected.push_back(records[k]);
      REQUIRE(temp_dir::read(paths[i]) == framed(expected));
    }
  }
}

LEAT_REAL_TIME_TEST("sharded_tfrecord_writer: no file has its name before close") {
  const temp_dir dir;
  const std::string prefix = dir / "set";
  options o;
  o.max_records = 2;
  auto writer = co_await leat::sharded_tfrecord_writer::open(prefix, std::move(o));
  for (int i = 0; i < 5; ++i) co_await writer.write(leat::as_bytes("record"));
  co_await writer.flush();
  CHECK(names_in(dir) == texts{"set-00000.tfrecord.partial", "set-00001.tfrecord.partial",
                               "set-00002.tfrecord.partial"});
  CHECK(temp_dir::read(prefix + "-00002.tfrecord.partial") == framed({"record"}));
  CHECK(writer.shard_count() == 3);
  co_await writer.close();
  co_await writer.close();
  CHECK(names_in(dir) == texts{"set-00000-of-00003.tfrecord", "set-00001-of-00003.tfrecord",
                               "set-00002-of-00003.tfrecord"});
  CHECK(co_await code_of(writer.write(leat::as_bytes("more"))) == errc::failed_precondition);
}

TEST_CASE("sharded_tfrecord_writer: leaves no file without a close") {
  const temp_dir dir;
  for (const std::size_t count : {std::size_t{0}, std::size_t{4}}) {
    leat::block_on([](std::string prefix, std::size_t n) -> task<> {
      options o;
      o.shard_count = n;
      if (n == 0) o.max_records = 2;
      auto writer = co_await leat::sharded_tfrecord_writer::open(prefix, std::move(o));
      for (int i = 0; i < 9; ++i) co_await writer.write(leat::as_bytes("record"));
    }(dir / "set", count));
    CHECK(names_in(dir).empty());
  }
}

LEAT_REAL_TIME_TEST("sharded_tfrecord_writer: if one file cannot be renamed, none is") {
  const temp_dir dir;
  const std::string in_the_way = dir / "set-00002-of-00003.tfrecord";
  const std::string prefix = dir / "set";
  std::filesystem::create_directory(in_the_way);
  options o;
  o.max_records = 2;
  auto writer = co_await leat::sharded_tfrecord_writer::open(prefix, std::move(o));
  for (int i = 0; i < 6; ++i) co_await writer.write(leat::as_bytes("record"));
  CHECK(contains(co_await message_of(writer.close()), "cannot rename to " + in_the_way));
  CHECK(names_in(dir) == texts{"set-00000.tfrecord.partial", "set-00001.tfrecord.partial",
                               "set-00002-of-00003.tfrecord", "set-00002.tfrecord.partial"});
  std::filesystem::remove(in_the_way);
  co_await writer.close();
  CHECK(temp_dir::read(in_the_way) == framed({"record", "record"}));
  CHECK(names_in(dir).size() == 3);
}

TEST_CASE("sharded_tfrecord_writer: refuses and names an option out of range") {
  const temp_dir dir;
  const auto refusal = [&](const options& o) {
    return leat_test::refusal([&] { return written(dir, {}, o); });
  };
  CHECK(contains(refusal({.max_records = 0}), "max_records is 0"));
  CHECK(contains(refusal({.max_bytes = 0}), "max_bytes is 0"));
  CHECK(contains(refusal({.shard_count = 10'001}), "shard_count is 10001, must be at most 10000"));
  CHECK(contains(refusal({.max_bytes = 10, .shard_count = 2}),
                 "set either shard_count, or max_records and max_bytes"));
  CHECK(contains(refusal({.suffix = "/a"}), "suffix is '/a', must not contain '/'"));
  CHECK(contains(refusal({.file = {.output_buffer_size = 1}}), "output_buffer_size"));
  CHECK(names_in(dir).empty());
}

}  // namespace sharded_tfrecord_writer_test
