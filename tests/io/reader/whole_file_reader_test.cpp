#include "leat/io/reader/whole_file_reader.hpp"

#include "leat/io/reader/identity_reader.hpp"
#include "support/leat_test.hpp"
#include "support/temp_dir.hpp"

namespace whole_file_reader_test {

task<std::string> read_one(std::string path, leat::whole_file_reader_options options = {}) {
  auto reader = co_await leat::whole_file_reader::open(path, options);
  leat::record_batch batch;
  const bool has_record = co_await reader->read_batch(batch);
  CHECK(has_record);
  REQUIRE(batch.size() == 1);
  CHECK(reader->key(batch.position(0)) == path);
  const std::string text(leat::as_text(batch[0]));
  CHECK_FALSE(co_await reader->read_batch(batch));
  co_return text;
}

TEST_CASE("whole_file_reader: each file is one record, also if it is empty") {
  const temp_dir dir;
  CHECK(leat::block_on(read_one(dir.write("a", "One\na\nb\n"))) == "One\na\nb\n");
  CHECK(leat::block_on(read_one(dir.write("b", ""))).empty());
  const std::string large(3'000'000, 'x');
  const std::string path = dir.write("c", large);
  CHECK(leat::block_on(read_one(path)) == large);
}

LEAT_REAL_TIME_TEST("whole_file_reader: a file without a size is read to its end") {
  auto reader = co_await leat::whole_file_reader::open("/proc/self/status");
  leat::record_batch batch;
  REQUIRE(co_await reader->read_batch(batch));
  CHECK(leat::as_text(batch[0]).starts_with("Name:"));
  CHECK_FALSE(co_await reader->read_batch(batch));
}

TEST_CASE("whole_file_reader: a file above the limit is refused") {
  const temp_dir dir;
  const std::string path = dir.write("a", std::string(1001, 'x'));
  const std::string said =
      error_of(read_one(path, {.max_file_size = 1000}), errc::resource_exhausted);
  CHECK(contains(said, path));
  CHECK(contains(said, "1001 bytes are above the limit max_file_size of 1000"));
}

LEAT_REAL_TIME_TEST("identity_reader: the name is the record") {
  auto reader = co_await leat::identity_reader::open("nowhere/a name");
  leat::record_batch batch;
  CHECK(co_await reader->read_batch(batch));
  REQUIRE(batch.size() == 1);
  CHECK(leat::as_text(batch[0]) == "nowhere/a name");
  CHECK(reader->key(batch.position(0)) == "nowhere/a name");
  CHECK_FALSE(co_await reader->read_batch(batch));
}

}  // namespace whole_file_reader_test
