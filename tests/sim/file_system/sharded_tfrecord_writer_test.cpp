// Writes a set of TFRecord files on a file system that fails and crashes.

#include "leat/io/writer/sharded_tfrecord_writer.hpp"

#include <map>
#include <set>

#include "leat/sim/world/world.hpp"
#include "sim/file_system/faulty_runs.hpp"
#include "support/effort.hpp"
#include "support/records/record_bytes.hpp"

namespace sharded_tfrecord_writer_test {

using leat::compression;
using leat::sim::fault;
using leat::sim::world;
using leat_test::for_each_operation;
using leat_test::framed;
using leat_test::noisy;
using leat_test::plain_of;
using leat_test::texts;

// One way to divide 60 records among 4 files.
struct way {
  std::size_t shard_count;
  compression format;
};
constexpr way ways[] = {{0, compression::none}, {0, compression::gzip}, {4, compression::none}};

leat::sharded_tfrecord_writer_options options_of(const way& how) {
  leat::sharded_tfrecord_writer_options o;
  o.shard_count = how.shard_count;
  if (how.shard_count == 0) o.max_records = 15;
  o.file = {.buffer_size = 300, .compression = how.format, .output_buffer_size = 300};
  return o;
}

// Returns the expected files for these records, by name.
std::map<std::string, std::string> expected_files(const texts& records, const way& how) {
  texts shards[4];
  for (std::size_t i = 0; i < records.size(); ++i) {
    shards[how.shard_count > 0 ? i % 4 : i / 15].push_back(records[i]);
  }
  std::map<std::string, std::string> files;
  for (std::size_t i = 0; i < 4; ++i) {
    files[leat::shard_path("/set", i, 4, ".tfrecord")] = framed(shards[i]);
  }
  return files;
}

// Returns the files that have their final names, and checks that each is complete.
std::map<std::string, std::string> published(world& w, const way& how) {
  std::map<std::string, std::string> files;
  for (const std::string& path : w.files().files()) {
    if (path.find(".partial") != std::string::npos) continue;
    files[path] = plain_of(how.format, w.files().read_file(path).value()).value_or("not whole");
  }
  return files;
}

task<> write_set(texts records, way how) {
  auto writer = co_await leat::sharded_tfrecord_writer::open("/set", options_of(how));
  for (const std::string& r : records) co_await writer.write(leat::as_bytes(r));
  co_await writer.close();
}

task<> write_set_and_insist(const texts& records, way how, int& failures) {
  const auto open = [how] { return leat::sharded_tfrecord_writer::open("/set", options_of(how)); };
  return leat_test::write_and_insist<leat::sharded_tfrecord_writer>(open, records, failures);
}

TEST_CASE("sharded_tfrecord_writer: a retry writes all after the n-th call fails, except a sync") {
  const texts records = noisy("r ", 60);
  for (const way& how : ways) {
    int failed = 0;
    int in_vain = 0;
    const auto run = [&](world& w) {
      w.run([&](world&) { return write_set_and_insist(records, how, failed); });
    };
    for_each_operation({fault::io_error}, {}, run, [&](world& w, bool written) {
      if (!written) {
        ++in_vain;
        REQUIRE(w.files().files().empty());
        return;
      }
      REQUIRE(published(w, how) == expected_files(records, how));
      REQUIRE(w.files().files().size() == 4);
    });
    CHECK(failed > 20);
    CHECK(in_vain == 4);  // one for each shard
  }
}

TEST_CASE(
    "sharded_tfrecord_writer: no files or all exist after the n-th call fails without a retry") {
  const texts records = noisy("r ", 60);
  for (const way& how : ways) {
    const auto run = [&](world& w) { w.run([&](world&) { return write_set(records, how); }); };
    const auto check = [&](world& w, bool succeeded) {
      const auto files = published(w, how);
      REQUIRE((files.empty() || files == expected_files(records, how)));
      REQUIRE((!succeeded || !files.empty()));
      REQUIRE(w.files().files().size() == files.size());
    };
    for_each_operation({fault::io_error, fault::no_space}, {}, run, check);
  }
}

TEST_CASE(
    "sharded_tfrecord_writer: files are complete after a crash, and all exist after close() "
    "succeeded") {
  const texts records = noisy("r ", 60);
  constexpr std::uint64_t seeds = leat_test::slow_build ? 2 : 10;
  for (const way& how : ways) {
    const auto expected = expected_files(records, how);
    std::set<std::size_t> outcomes;
    const auto run = [&](world& w) { w.run([&](world&) { return write_set(records, how); }); };
    const auto check = [&](world& w, bool closed) {
      leat_test::crash_and_restart(w);
      const auto files = published(w, how);
      for (const auto& [path, content] : files) REQUIRE(content == expected.at(path));
      REQUIRE((!closed || files == expected));
      outcomes.insert(files.size());
    };
    for_each_operation({fault::crash_before, fault::crash_after}, {0, seeds}, run, check);
    CHECK(outcomes.contains(0));
    CHECK(outcomes.contains(4));
    CHECK(outcomes.size() > 2);  // partial sets after a crash between renames
  }
}

}  // namespace sharded_tfrecord_writer_test
