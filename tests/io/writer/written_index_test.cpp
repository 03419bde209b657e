// The indexes that the writers and the appender of TFRecord files create next to the files.

#include <filesystem>
#include <iterator>
#include <set>

#include "leat/io/index/detail/sidecar_index.hpp"
#include "leat/io/index/tfrecord_index_file.hpp"
#include "leat/io/writer/sharded_tfrecord_writer.hpp"
#include "leat/io/writer/tfrecord_appender.hpp"
#include "leat/io/writer/tfrecord_writer.hpp"
#include "leat/sim/world/world.hpp"
#include "support/insist.hpp"
#include "support/leat_test.hpp"
#include "support/records/record_bytes.hpp"
#include "support/records/texts.hpp"
#include "support/temp_dir.hpp"

namespace written_index_test {

using leat::sim::fault;
using leat::sim::world;
using leat_test::framed;
using leat_test::retry_until_success;
using texts = std::vector<std::string>;

texts records(std::size_t count) {
  texts all;
  for (std::size_t i = 0; i < count; ++i) all.push_back(leat_test::noise(i * 37 % 101, i));
  return all;
}

leat::tfrecord_writer_options with_index() { return {.buffer_size = 600, .index = true}; }

leat::sharded_tfrecord_writer_options shards_with_index(bool dealt) {
  leat::sharded_tfrecord_writer_options o;
  if (dealt) o.shard_count = 3;
  if (!dealt) o.max_records = 3;
  o.file = with_index();
  return o;
}

task<> write_file(std::string path, texts all) {
  auto writer = co_await leat::tfrecord_writer::open(path, with_index());
  for (const std::string& r : all) co_await writer.write(leat::as_bytes(r));
  co_await writer.close();
}

task<texts> write_set(std::string prefix, texts all, bool dealt) {
  auto writer = co_await leat::sharded_tfrecord_writer::open(prefix, shards_with_index(dealt));
  for (const std::string& r : all) co_await writer.write(leat::as_bytes(r));
  co_await writer.close();
  co_return writer.paths();
}

// Returns true if the file has an index, and checks that a scan builds an equal one.
task<bool> has_index(std::string path) {
  std::optional<leat::tfrecord_index> index;
  try {
    index = co_await leat::load_tfrecord_index(path);
  } catch (const leat::failure& e) {
    if (e.code() != leat::errc::not_found && e.code() != leat::errc::failed_precondition) throw;
  }
  if (!index) co_return false;
  const leat::tfrecord_index scanned = co_await leat::build_tfrecord_index(path);
  CHECK(*index == scanned);
  co_return true;
}

TEST_CASE("tfrecord_writer: its index equals the index of a scan") {
  const temp_dir dir;
  for (const std::size_t count : {0U, 1U, 127U, 128U, 129U, 1000U}) {
    leat::block_on(write_file(dir / "a", records(count)));
    CHECK(leat::block_on(has_index(dir / "a")));
    for (const bool dealt : {false, true}) {
      const texts all = records(std::min<std::size_t>(count, 20));
      const texts paths = leat::block_on(write_set(dir / "set", all, dealt));
      for (const std::string& path : paths) CHECK(leat::block_on(has_index(path)));
    }
  }
  for (const auto& entry : std::filesystem::directory_iterator(dir.path())) {
    CHECK_FALSE(contains(entry.path().string(), ".partial"));
  }
}

TEST_CASE("tfrecord_writer: leaves no index without its file or without a close") {
  const temp_dir dir;
  leat::block_on([](std::string path) -> task<> {
    auto writer = co_await leat::tfrecord_writer::open(path, with_index());
    co_await writer.write(leat::as_bytes("record"));
  }(dir / "a"));
  CHECK(std::filesystem::is_empty(dir.path()));
}

TEST_CASE("tfrecord_writer: a compressed file can have no index") {
  const temp_dir dir;
  leat::tfrecord_writer_options options = with_index();
  options.compression = leat::compression::gzip;
  CHECK_REFUSED("tfrecord_writer_options::index is not supported for a compressed file",
                leat::block_on(leat::tfrecord_writer::open(dir / "a", options)));
  CHECK(std::filesystem::is_empty(dir.path()));
}

// ----------------------------------------------------------------------------------- of an append

constexpr leat::tfrecord_appender_options append_with_index{.buffer_size = 600, .index = true};

task<> append(std::string path, texts all, leat::tfrecord_appender_options how, bool close = true) {
  auto appender = co_await leat::tfrecord_appender::open(std::move(path), how);
  for (const std::string& r : all) co_await appender.write(leat::as_bytes(r));
  if (close) co_await appender.close();
}

TEST_CASE("tfrecord_appender: its index equals the index of a scan for any old index") {
  const temp_dir dir;
  for (const std::size_t before : {0U, 1U, 128U, 300U}) {
    for (const std::size_t more : {0U, 1U, 129U}) {
      for (const std::string_view beside : {"nothing", "its index", "something else"}) {
        std::filesystem::remove(dir / "a.index");
        if (beside == "its index") leat::block_on(write_file(dir / "a", records(before)));
        if (beside != "its index") dir.write("a", framed(records(before)));
        if (beside == "something else") dir.write("a.index", "no index");
        leat::block_on(append(dir / "a", records(more), append_with_index));
        CHECK(leat::block_on(has_index(dir / "a")));
      }
    }
  }
  const auto entries = std::filesystem::directory_iterator(dir.path());
  CHECK(std::distance(begin(entries), end(entries)) == 2);
}

TEST_CASE("tfrecord_appender: an old index is refused after an append") {
  const temp_dir dir;
  leat::block_on(write_file(dir / "a", records(20)));
  leat::block_on(append(dir / "a", records(1), {}));
  CHECK(std::filesystem::exists(dir / "a.index"));
  CHECK_FALSE(leat::block_on(has_index(dir / "a")));
}

TEST_CASE("tfrecord_appender: leaves no index without a close") {
  const temp_dir dir;
  const std::string path = dir.write("a", framed(records(20)));
  leat::block_on(append(path, records(20), append_with_index, false));
  CHECK(temp_dir::read(path) == framed(records(20)));
  CHECK_FALSE(std::filesystem::exists(path + ".index"));
}

// --------------------------------------------------------- on a file system that fails and crashes

TEST_CASE("tfrecord_writer: a repeated close after any failed call writes file and index") {
  const texts all = records(40);
  int failed = 0;
  bool reached = true;
  for (std::uint64_t n = 3; reached; ++n) {
    world w(7, {.files = {.plan = leat::sim::planned_fault{n, fault::no_space}}});
    w.run([&](world& here) -> task<> {
      auto writer = co_await leat::tfrecord_writer::open("/a", with_index());
      for (const std::string& r : all) {
        try {
          co_await writer.write(leat::as_bytes(r));
        } catch (const leat::failure&) {
          ++failed;  // the record is accepted
        }
      }
      co_await retry_until_success([&] { return writer.close(); }, failed);
      reached = here.files().calls() >= n;
      CHECK(co_await has_index("/a"));
    });
    REQUIRE(w.files().read_file("/a").value() == framed(all));
    REQUIRE(w.files().files().size() == 2);
  }
  CHECK(failed > 5);
}

TEST_CASE("sharded_tfrecord_writer: any failed call leaves all files and indexes or none") {
  for (const bool dealt : {false, true}) {
    std::set<std::size_t> outcomes;
    bool reached = true;
    for (std::uint64_t n = 1; reached; ++n) {
      world w(7, {.files = {.plan = leat::sim::planned_fault{n, fault::io_error}}});
      try {
        w.run([&](world&) -> task<> {
          static_cast<void>(co_await write_set("/set", records(8), dealt));
        });
      } catch (const leat::failure&) {
      }
      reached = w.files().calls() >= n;
      outcomes.insert(w.files().files().size());
    }
    CHECK(outcomes == std::set<std::size_t>{0, 6});
  }
}

TEST_CASE("tfrecord_appender: any failed call leaves records and index or neither") {
  const std::string old_file = framed(records(20));
  const std::string new_file = old_file + framed(records(30));
  std::set<std::string> outcomes;
  for (const fault f : {fault::io_error, fault::no_space, fault::cancelled_late}) {
    bool reached = true;
    for (std::uint64_t n = 1; reached; ++n) {
      world w(7, {.files = {.plan = leat::sim::planned_fault{n, f}}});
      w.files().write_file("/a", old_file);
      bool failed = false;
      try {
        w.run([](world&) { return append("/a", records(30), append_with_index); });
      } catch (const leat::failure&) {
        failed = true;
      }
      reached = w.files().calls() >= n;
      const std::string found = w.files().read_file("/a").value();
      REQUIRE((failed || found == new_file));
      if (!reached) break;  // the fault would affect the checks below
      bool fits = false;
      w.run([&](world&) -> task<> { fits = co_await has_index("/a"); });
      REQUIRE(found == (fits ? new_file : old_file));
      REQUIRE(w.files().files().size() == (fits ? 2 : 1));
      outcomes.insert(found);
    }
  }
  CHECK(outcomes.size() == 2);
}

TEST_CASE("tfrecord_appender: a repeated close writes records and index") {
  int failed = 0;
  bool reached = true;
  for (std::uint64_t n = 1; reached; ++n) {
    world w(7, {.files = {.plan = leat::sim::planned_fault{n, fault::no_space}}});
    w.files().write_file("/a", framed(records(20)));
    w.run([&](world& here) -> task<> {
      std::optional<leat::tfrecord_appender> appender;
      while (!appender) {
        try {
          appender.emplace(co_await leat::tfrecord_appender::open("/a", append_with_index));
        } catch (const leat::failure&) {
          ++failed;
        }
      }
      for (const std::string& r : records(30)) {
        try {
          co_await appender->write(leat::as_bytes(r));
        } catch (const leat::failure&) {
          ++failed;  // the record is accepted
        }
      }
      const auto close = [&] { return appender->close(); };
      co_await retry_until_success(close, failed);
      reached = here.files().calls() >= n;
      CHECK(co_await has_index("/a"));
    });
    REQUIRE(w.files().read_file("/a").value() == framed(records(20)) + framed(records(30)));
    REQUIRE(w.files().files().size() == 2);
  }
  CHECK(failed > 5);
}

TEST_CASE("tfrecord_appender: after any crash the index matches its file or is refused") {
  const std::string old_file = framed(records(20));
  const std::string new_file = old_file + framed(records(30));
  std::set<std::string> outcomes;
  for (const fault f : {fault::crash_before, fault::crash_after}) {
    bool reached = true;
    for (std::uint64_t n = 1; reached; ++n) {
      for (std::uint64_t seed = 0; seed < 4; ++seed) {
        world w(seed, {.files = {.plan = leat::sim::planned_fault{n, f}}});
        bool written = false;
        bool appended = false;
        try {
          w.run([&](world&) -> task<> {
            co_await write_file("/a", records(20));
            written = true;
            co_await append("/a", records(30), append_with_index);
            appended = true;
          });
        } catch (const leat::failure&) {
        }
        reached = w.files().calls() >= n;
        if (!w.files().crashed()) continue;
        w.files().restart();
        if (!written) continue;
        w.run([](world&) -> task<> { co_await leat::roll_back_append("/a"); });
        const std::string found = w.files().read_file("/a").value();
        REQUIRE((found == old_file || found == new_file));
        bool fits = false;
        w.run([&](world&) -> task<> { fits = co_await has_index("/a"); });
        REQUIRE((fits || !appended));
        outcomes.insert(found + (fits ? "with" : "without"));
      }
    }
  }
  CHECK(outcomes.size() >= 2);
}

TEST_CASE("tfrecord_writer: after any crash the index matches its file or is refused") {
  const texts old_records = records(20);
  const texts new_records = records(45);
  std::set<std::string> outcomes;
  for (const fault f : {fault::crash_before, fault::crash_after}) {
    bool reached = true;
    for (std::uint64_t n = 1; reached; ++n) {
      for (std::uint64_t seed = 0; seed < 4; ++seed) {
        world w(seed, {.files = {.plan = leat::sim::planned_fault{n, f}}});
        bool written = false;
        try {
          w.run([&](world&) -> task<> {
            co_await write_file("/a", old_records);
            co_await write_file("/a", new_records);
            written = true;
          });
        } catch (const leat::failure&) {
        }
        reached = w.files().calls() >= n;
        if (!w.files().crashed()) continue;
        w.files().restart();
        const auto bytes = w.files().read_file("/a");
        if (!bytes) continue;
        REQUIRE((*bytes == framed(old_records) || *bytes == framed(new_records)));
        bool fits = false;
        w.run([&](world&) -> task<> { fits = co_await has_index("/a"); });
        REQUIRE((fits || !written));
        outcomes.insert(*bytes + (fits ? "with" : "without"));
      }
    }
  }
  CHECK(outcomes.size() >= 3);
}

}  // namespace written_index_test
