// Every reader and writer with paths that are not readable files, and with files that change during
// a read.

#include <filesystem>

#include <sys/stat.h>

#include "leat/io/index/tfrecord_file.hpp"
#include "leat/io/reader/fixed_length_reader.hpp"
#include "leat/io/reader/line_reader.hpp"
#include "leat/io/reader/tfrecord_reader.hpp"
#include "leat/io/reader/whole_file_reader.hpp"
#include "leat/io/writer/sharded_tfrecord_writer.hpp"
#include "leat/io/writer/tfrecord_appender.hpp"
#include "leat/io/writer/tfrecord_writer.hpp"
#include "leat/sim/world/world.hpp"
#include "support/leat_test.hpp"
#include "support/records/record_bytes.hpp"
#include "support/records/slow_readers.hpp"
#include "support/records/zlib_oracle.hpp"
#include "support/temp_dir.hpp"

namespace hostile_files_test {

template <class Reader>
task<> read_all(std::string path, typename Reader::options_type options = {}) {
  auto reader = co_await Reader::open(path, options);
  typename Reader::batch_type batch;
  for (bool more = true; more;) more = co_await reader->read_batch(batch);
}

template <class Writer>
task<> write_one(std::string path) {
  auto writer = co_await Writer::open(path, {});
  co_await writer.write(leat::as_bytes("a record"));
  co_await writer.close();
}

task<> open_by_index(std::string path) { co_await leat::tfrecord_file::open(path); }

std::string error_of(task<> t) { return leat::block_on(message_of(std::move(t))); }

// Returns the message for a file of the wrong kind.
std::string precondition_of(task<> t) {
  return leat_test::error_of(std::move(t), errc::failed_precondition);
}

TEST_CASE("files: readers and writers refuse a directory") {
  const temp_dir dir;
  const std::string path = dir / "folder";
  REQUIRE(::mkdir(path.c_str(), 0700) == 0);
  leat::fixed_length_reader_options lengths;
  lengths.record_size = 3;
  CHECK(contains(precondition_of(read_all<leat::tfrecord_reader>(path)), path));
  CHECK(contains(precondition_of(read_all<leat::line_reader>(path)), path));
  CHECK(contains(precondition_of(read_all<leat::whole_file_reader>(path)), path));
  CHECK(contains(precondition_of(read_all<leat::fixed_length_reader>(path, lengths)), path));
  CHECK(contains(error_of(open_by_index(path)), path));
  CHECK(contains(error_of(write_one<leat::tfrecord_appender>(path)), path));
  CHECK(contains(error_of(write_one<leat::tfrecord_writer>(path)), path));
  CHECK(leat::block_on(leat::list_directory(dir.path())) == std::vector<std::string>{"folder"});
}

TEST_CASE("files: refuses a pipe for random access and never replaces it") {
  const temp_dir dir;
  const std::string path = dir / "pipe";
  REQUIRE(::mkfifo(path.c_str(), 0600) == 0);
  CHECK(contains(error_of(open_by_index(path)), path));
  CHECK(contains(error_of(write_one<leat::tfrecord_appender>(path)), path));
  CHECK(contains(error_of(write_one<leat::tfrecord_writer>(path)), path + ": not a regular file"));
  CHECK(std::filesystem::is_fifo(path));
  CHECK(leat::block_on(leat::list_directory(dir.path())) == std::vector<std::string>{"pipe"});
}

template <class Reader>
void check_regular_only(const temp_dir& dir, typename Reader::options_type options = {}) {
  options.read.regular_only = true;
  for (const std::string& path : {dir / "pipe", std::string("/dev/zero"), dir / "to pipe"}) {
    CHECK(precondition_of(read_all<Reader>(path, options))
              .starts_with(path + ": not a regular file, but read_options::regular_only"));
  }
  leat::block_on(read_all<Reader>(dir / "empty", options));
}

TEST_CASE("files: regular_only refuses pipes and devices") {
  const temp_dir dir;
  REQUIRE(::mkfifo((dir / "pipe").c_str(), 0600) == 0);
  std::filesystem::create_symlink("pipe", dir / "to pipe");
  dir.write("empty", "");
  check_regular_only<leat::tfrecord_reader>(dir);
  check_regular_only<leat::line_reader>(dir);
  check_regular_only<leat::whole_file_reader>(dir);
  check_regular_only<leat::fixed_length_reader>(dir, {.record_size = 3});
}

// Names are used unchanged (see SECURITY.md).
TEST_CASE("files: resolves dots in a path, also out of a directory") {
  const temp_dir dir;
  REQUIRE(::mkdir((dir / "folder").c_str(), 0700) == 0);
  const std::string path = dir.write("f", leat_test::framed({"a record"}));
  std::string to_root;
  for (int i = 0; i < 50; ++i) to_root += "/..";
  for (const std::string& to_it :
       {dir / "folder/../f", dir / "folder/.././folder/../f", dir.path() + to_root + path}) {
    const auto read = leat::block_on(leat_test::read_outcome_of<leat::tfrecord_reader>(to_it, {}));
    CHECK(read.records == std::vector<std::string>{"a record"});
  }
  CHECK(contains(error_of(read_all<leat::tfrecord_reader>(dir / "none/../f")), "none/../f"));
  CHECK(contains(error_of(read_all<leat::tfrecord_reader>(dir / "f/../f")), "f/../f"));
  leat::block_on(write_one<leat::tfrecord_writer>(dir / "folder/../g"));
  CHECK(std::filesystem::is_regular_file(dir / "g"));
  CHECK(std::filesystem::is_empty(dir / "folder"));
}

// Returns the error of a reader whose file is truncated after the first batch.
template <class Reader>
std::string error_of_shrinking(const std::string& bytes, typename Reader::options_type options) {
  options.read.chunk_size = 64;
  options.read.depth = 1;
  std::string what;
  leat::sim::world w(1);
  w.files().write_file("/f", bytes);
  w.run([&](leat::sim::world& here) -> task<> {
    auto reader = co_await Reader::open("/f", options);
    typename Reader::batch_type batch;
    const auto read_on = [&]() -> task<> {
      while (co_await reader->read_batch(batch)) here.files().truncate("/f", bytes.size() - 20);
    };
    what = co_await message_of(read_on(), errc::data_loss);
  });
  return what;
}

TEST_CASE("files: every reader reports a file that becomes shorter") {
  const std::string records = leat_test::framed(std::vector<std::string>(50, "a record"));
  std::string text;
  for (int i = 0; i < 100; ++i) text += "line " + std::to_string(i * 7919) + "\n";
  leat::fixed_length_reader_options lengths;
  lengths.record_size = 10;
  leat::line_reader_options gzip;
  gzip.compression = leat::compression::gzip;
  gzip.read.chunk_size = 64;
  for (const std::string& said :
       {error_of_shrinking<leat::tfrecord_reader>(records, {}),
        error_of_shrinking<leat::line_reader>(text, {}),
        error_of_shrinking<leat::fixed_length_reader>(text, lengths),
        error_of_shrinking<leat::line_reader>(leat_test::zlib_deflated(text), gzip)}) {
    CHECK(contains(said, "/f: file became shorter while it was read"));
  }
}

TEST_CASE("files: an open file keeps its old contents after it is replaced") {
  leat::sim::world w(1);
  const std::string old_text = std::string(100, 'o') + "\n" + std::string(100, 'o') + "\n";
  w.files().write_file("/f", old_text);
  w.run([&](leat::sim::world& here) -> task<> {
    leat::line_reader_options options;
    options.read.chunk_size = 32;
    auto reader = co_await leat::line_reader::open("/f", options);
    leat::line_batch batch;
    co_await reader->read_batch(batch);
    here.files().write_file("/f", "new\n");
    REQUIRE(co_await reader->read_batch(batch));
    CHECK(batch[0] == std::string(100, 'o'));
    reader->seek(0, 0);
    REQUIRE(co_await reader->read_batch(batch));
    CHECK(batch[0] == std::string(100, 'o'));
    const auto next = co_await leat_test::read_outcome_of<leat::line_reader>("/f", options);
    CHECK(next.records == std::vector<std::string>{"new"});
  });
}

TEST_CASE("files: an index goes with its file, not with the one that replaced it") {
  leat::sim::world w(1);
  w.files().write_file("/f", leat_test::framed({"one", "two"}));
  w.run([&](leat::sim::world& here) -> task<> {
    auto before = co_await leat::tfrecord_file::open("/f");
    const leat::tfrecord_index old_index = before->index();
    here.files().write_file("/f", leat_test::framed({"three", "x"}));
    const leat::owned_record record = co_await before->at(1);
    CHECK(leat::as_text(record.payload()) == "two");
    CHECK(contains(
        co_await message_of(leat::tfrecord_file::open("/f", old_index), errc::failed_precondition),
        "/f"));
    auto after = co_await leat::tfrecord_file::open("/f");
    CHECK(after->index()[0].size == 5);
  });
}

}  // namespace hostile_files_test
