#include "leat/io/writer/tfrecord_appender.hpp"

#include <filesystem>

#include "leat/io/index/tfrecord_index_file.hpp"
#include "support/leat_test.hpp"
#include "support/records/record_bytes.hpp"
#include "support/records/zlib_oracle.hpp"
#include "support/temp_dir.hpp"

namespace tfrecord_appender_test {

using leat_test::framed;
using texts = std::vector<std::string>;

// Appends records, and closes unless `close` is false.
task<> append(std::string path, texts records, bool close = true,
              leat::tfrecord_appender_options options = {}) {
  auto appender = co_await leat::tfrecord_appender::open(std::move(path), options);
  for (const std::string& r : records) co_await appender.write(leat::as_bytes(r));
  if (close) co_await appender.close();
}

// Returns the message with which an append is refused.
std::string refusal(const std::string& path, errc expected,
                    const leat::tfrecord_appender_options& options = {}) {
  return leat_test::error_of(append(path, {"x"}, true, options), expected);
}

TEST_CASE("tfrecord_appender: new records follow the old ones") {
  const temp_dir dir;
  for (const std::size_t size : {0U, 20U, 100'000U}) {
    const std::string path = dir.write("a", framed({"one", "two"}));
    leat::block_on(append(path, {"three", ""}, true, {.buffer_size = size}));
    leat::block_on(append(path, {}));
    leat::block_on(append(path, {"four"}));
    CHECK(temp_dir::read(path) == framed({"one", "two", "three", "", "four"}));
    CHECK_FALSE(std::filesystem::exists(path + ".append"));
  }
  const std::string empty = dir.write("empty", "");
  leat::block_on(append(empty, {"first"}));
  CHECK(temp_dir::read(empty) == framed({"first"}));
}

LEAT_REAL_TIME_TEST("tfrecord_appender: counts old and new records") {
  const temp_dir dir;
  const std::string path = dir.write("a", framed({"one", "two"}));
  auto appender = co_await leat::tfrecord_appender::open(path);
  CHECK(appender.original_record_count() == 2);
  CHECK(appender.original_size() == 38);
  CHECK(temp_dir::read(path + ".append") == "38\n");
  co_await appender.write(leat::as_bytes("three"));
  CHECK(temp_dir::read(path) == framed({"one", "two"}));
  co_await appender.flush();
  CHECK(temp_dir::read(path) == framed({"one", "two", "three"}));
  CHECK(appender.records_written() == 1);
  CHECK(appender.bytes_written() == 21);
  co_await appender.close();
  co_await appender.close();
  CHECK(co_await code_of(appender.write(leat::as_bytes("x"))) == errc::failed_precondition);
  CHECK(co_await code_of(appender.flush()) == errc::failed_precondition);
}

TEST_CASE("tfrecord_appender: destruction without close keeps the old file") {
  const temp_dir dir;
  const std::string path = dir.write("a", framed({"one", "two"}));
  for (const std::size_t size : {0U, 100'000U}) {
    leat::block_on(append(path, {"three", "four"}, false, {.buffer_size = size}));
    CHECK(temp_dir::read(path) == framed({"one", "two"}));
    CHECK_FALSE(std::filesystem::exists(path + ".append"));
  }
}

TEST_CASE("tfrecord_appender: refuses a torn file with the position") {
  const temp_dir dir;
  const std::string whole = framed({"one", "two"});
  for (std::size_t size = 20; size < whole.size(); ++size) {
    const std::string path = dir.write("a", whole.substr(0, size));
    const std::string what = refusal(path, errc::data_loss);
    REQUIRE(contains(what, "record 1 at offset 19: truncated"));
    REQUIRE(contains(what, "copy the intact records to a new file"));
    REQUIRE(temp_dir::read(path) == whole.substr(0, size));
    REQUIRE_FALSE(std::filesystem::exists(path + ".append"));
  }
  std::string damaged = whole;
  damaged[14] ^= 1;
  const std::string path = dir.write("a", damaged);
  CHECK(contains(refusal(path, errc::data_loss), "record 0 at offset 0: checksum of the payload"));
  leat::block_on(append(path, {"three"}, true, {.checks = leat::tfrecord_checks::header_only}));
  CHECK(temp_dir::read(path) == damaged + framed({"three"}));
}

TEST_CASE("tfrecord_appender: refuses files that are compressed or not TFRecord") {
  const temp_dir dir;
  const std::string gzip = dir.write("gzip", leat_test::zlib_deflated(framed({"one"})));
  CHECK(contains(refusal(gzip, errc::invalid_argument), "compressed with GZIP"));
  const std::string zlib = dir.write(
      "zlib", leat_test::zlib_deflated(framed({"one"}), {.window_bits = leat_test::zlib_window}));
  CHECK(contains(refusal(zlib, errc::invalid_argument), "compressed with ZLIB"));
  CHECK(contains(refusal(dir / "none", errc::not_found), "none"));
  CHECK(contains(refusal(dir.write("a", ""), errc::invalid_argument,
                         {.buffer_size = (std::size_t{1} << 30) + 1}),
                 "tfrecord_appender_options::buffer_size is"));
  CHECK_FALSE(std::filesystem::exists(dir / "none.append"));
}

TEST_CASE("tfrecord_appender: refuses an index path that is not a regular file") {
  const temp_dir dir;
  const std::string path = dir.write("a", framed({"one"}));
  const std::string index = leat::tfrecord_index_path(path);
  std::filesystem::create_directory(index);
  bool is_open = false;
  const auto open = [&]() -> task<> {
    leat::tfrecord_appender_options options;
    options.index = true;
    const auto appender = co_await leat::tfrecord_appender::open(path, options);
    is_open = true;
  };
  CHECK_THROWS_AS(leat::block_on(open()), leat::failure);
  CHECK_FALSE(is_open);
  CHECK(contains(refusal(path, errc::invalid_argument, {.index = true}), index));
  leat::block_on(append(path, {"two"}));
  CHECK(temp_dir::read(path) == framed({"one", "two"}));
}

LEAT_REAL_TIME_TEST("tfrecord_appender: the note of an append refuses a second appender") {
  const temp_dir dir;
  const std::string path = dir.write("a", framed({"one"}));
  auto first = co_await leat::tfrecord_appender::open(path);
  texts other(1, "x");
  CHECK(contains(co_await message_of(append(path, std::move(other)), errc::already_exists),
                 path + ".append; if it was interrupted, call roll_back_append()"));
  co_await first.write(leat::as_bytes("two"));
  co_await first.close();
  texts later(1, "three");
  co_await append(path, std::move(later));
  CHECK(temp_dir::read(path) == framed({"one", "two", "three"}));
}

TEST_CASE("roll_back_append: restores the size in the note") {
  const temp_dir dir;
  const std::string old = framed({"one"});
  const std::string path = dir.write("a", old + framed({"two"}).substr(0, 7));
  CHECK_FALSE(leat::block_on(leat::roll_back_append(path)));
  dir.write("a.append", std::to_string(old.size()) + "\n");
  CHECK_FALSE(refusal(path, errc::already_exists).empty());
  CHECK(leat::block_on(leat::roll_back_append(path)));
  CHECK(temp_dir::read(path) == old);
  CHECK_FALSE(std::filesystem::exists(path + ".append"));
  CHECK_FALSE(leat::block_on(leat::roll_back_append(path)));
}

TEST_CASE("roll_back_append: a partial note means that nothing was appended") {
  const temp_dir dir;
  const std::string old = framed({"one"});
  for (const std::string& text : {std::string(), std::string("1"), std::string(5, '\0')}) {
    const std::string path = dir.write("a", old);
    dir.write("a.append", text);
    CHECK(leat::block_on(leat::roll_back_append(path)));
    CHECK(temp_dir::read(path) == old);
    CHECK_FALSE(std::filesystem::exists(path + ".append"));
  }
}

TEST_CASE("roll_back_append: does not truncate because of an invalid note") {
  const temp_dir dir;
  const std::string path = dir.write("a", "as it is");
  for (const char* text :
       {"q\n", "-3\n", "3 \n", "3\n\n", "\n", "3\nx", "3x", "99999999999999999999\n",
        "000000000000000000000000000000000000000003\n"}) {
    INFO(text);
    dir.write("a.append", text);
    const std::string what = leat_test::error_of(leat::roll_back_append(path), errc::data_loss);
    CHECK(contains(
        what, path + ".append: invalid size in the note of an append: the file was not truncated"));
    CHECK(temp_dir::read(path) == "as it is");
    CHECK(std::filesystem::exists(path + ".append"));
  }
}

TEST_CASE("roll_back_append: does not extend a file that became shorter") {
  const temp_dir dir;
  const std::string path = dir.write("a", "short");
  dir.write("a.append", "1000\n");
  const std::string what = leat_test::error_of(leat::roll_back_append(path), errc::data_loss);
  CHECK(contains(what, "has 5 bytes, but had 1000"));
  CHECK(temp_dir::read(path) == "short");
  CHECK(std::filesystem::exists(path + ".append"));
}

}  // namespace tfrecord_appender_test
