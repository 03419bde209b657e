// Writes TFRecord files with each compression on a file system that fails and crashes.

#include "leat/io/writer/tfrecord_writer.hpp"

#include <set>

#include "leat/sim/world/world.hpp"
#include "sim/file_system/faulty_runs.hpp"
#include "support/effort.hpp"
#include "support/records/record_bytes.hpp"

namespace tfrecord_writer_test {

using leat::compression;
using leat::sim::fault;
using leat::sim::world;
using leat_test::for_each_operation;
using leat_test::framed;
using leat_test::noisy;
using leat_test::plain_of;
using leat_test::retry_until_success;
using leat_test::texts;

constexpr compression formats[] = {compression::none, compression::zlib, compression::gzip};

// Small buffers cause many writes.
leat::tfrecord_writer_options small(compression c) {
  return {.buffer_size = 600, .compression = c, .output_buffer_size = 500};
}

task<> write_all(std::string path, texts records, compression c) {
  auto writer = co_await leat::tfrecord_writer::open(std::move(path), small(c));
  for (const std::string& r : records) co_await writer.write(leat::as_bytes(r));
  co_await writer.close();
}

task<> write_and_insist(texts records, compression c, int& failures) {
  std::optional<leat::tfrecord_writer> writer;
  const auto open = [&]() -> task<> {
    writer.emplace(co_await leat::tfrecord_writer::open("/a", small(c)));
  };
  co_await retry_until_success(open, failures);
  for (const std::string& r : records) {
    // The writer accepts the record, even if a write fails.
    const std::uint64_t before = writer->records_written();
    if (co_await throws<leat::failure>(writer->write(leat::as_bytes(r)))) ++failures;
    REQUIRE(writer->records_written() == before + 1);
    if (before % 10 == 5) co_await retry_until_success([&] { return writer->flush(); }, failures);
  }
  co_await retry_until_success([&] { return writer->close(); }, failures);
}

TEST_CASE("tfrecord_writer: a retry writes all once after the n-th call fails, except a sync") {
  const texts records = noisy("record ", 60);
  for (const compression c : formats) {
    for (const fault f : {fault::io_error, fault::no_space}) {
      int failed = 0;
      int in_vain = 0;
      const auto run = [&](world& w) {
        w.run([&](world&) { return write_and_insist(records, c, failed); });
      };
      for_each_operation({f}, {}, run, [&](world& w, bool written) {
        if (!written) {
          ++in_vain;
          REQUIRE(w.files().files().empty());
          return;
        }
        REQUIRE(plain_of(c, w.files().read_file("/a").value()) == framed(records));
        REQUIRE(w.files().files().size() == 1);
      });
      CHECK(failed > 5);
      CHECK(in_vain == (f == fault::io_error ? 1 : 0));
    }
  }
}

TEST_CASE("tfrecord_writer: the old file remains after the n-th call fails without a retry") {
  const texts records = noisy("record ", 60);
  for (const compression c : formats) {
    std::size_t old_files = 0;
    const auto run = [&](world& w) {
      w.files().write_file("/a", "old");
      w.run([&](world&) { return write_all("/a", records, c); });
    };
    for_each_operation({fault::io_error}, {}, run, [&](world& w, bool succeeded) {
      const std::string found = w.files().read_file("/a").value();
      // The directory is synced after the rename, so a failed write may leave the new file.
      REQUIRE((found == "old" || plain_of(c, found) == framed(records)));
      REQUIRE((!succeeded || found != "old"));
      REQUIRE(w.files().files().size() == 1);
      if (found == "old") ++old_files;
    });
    CHECK(old_files > 5);
  }
}

TEST_CASE("tfrecord_writer: a full disk leaves only the old file") {
  for (const compression c : formats) {
    world w(1, {.files = {.size = 2000}});
    w.files().write_file("/a", "old");
    std::string what;
    try {
      w.run([&](world&) { return write_all("/a", noisy("record ", 1000), c); });
    } catch (const leat::failure& e) {
      CHECK(e.code() == errc::resource_exhausted);
      what = e.what();
    }
    CHECK(contains(what, "/a.partial"));
    CHECK(w.files().files() == texts{"/a"});
    CHECK(w.files().read_file("/a") == "old");
  }
}

TEST_CASE(
    "tfrecord_writer: a compressed file is unchanged or complete after a crash at any point") {
  const texts old_records = noisy("old ", 20);
  const texts new_records = noisy("new ", 45);
  constexpr std::uint64_t seeds = leat_test::slow_build ? 2 : 10;
  for (const compression c : {compression::zlib, compression::gzip}) {
    std::set<std::string> outcomes;
    bool published = false;
    const auto run = [&](world& w) {
      published = false;
      w.run([&](world&) -> task<> {
        co_await write_all("/a", old_records, c);
        published = true;
        co_await write_all("/a", new_records, c);
      });
    };
    const auto check = [&](world& w, bool) {
      if (!w.files().crashed()) return;
      w.files().restart();
      const auto bytes = w.files().read_file("/a");
      REQUIRE((bytes || !published));
      if (!bytes) return;
      const auto plain = plain_of(c, *bytes);
      REQUIRE((plain == framed(old_records) || plain == framed(new_records)));
      outcomes.insert(*plain);
    };
    for_each_operation({fault::crash_before, fault::crash_after}, {0, seeds}, run, check);
    CHECK(outcomes.size() == 2);
  }
}

}  // namespace tfrecord_writer_test
