// Writes TFRecord files with each compression on a file system that fails and crashes.

#include "leat/io/writer/tfrecord_writer.hpp"

#include <set>

#include "leat/sim/world/world.hpp"
#include "support/effort.hpp"
#include "support/insist.hpp"
#include "support/leat_test.hpp"
#include "support/records/record_bytes.hpp"
#include "support/records/texts.hpp"

namespace tfrecord_writer_test {

using leat::compression;
using leat::sim::fault;
using leat::sim::world;
using leat_test::framed;
using leat_test::plain_of;
using leat_test::retry_until_success;
using texts = std::vector<std::string>;

constexpr compression formats[] = {compression::none, compression::zlib, compression::gzip};

texts numbered(const std::string& what, int count) {
  texts all;
  for (int i = 0; i < count; ++i)
    all.push_back(what + leat_test::noise(30, static_cast<std::uint64_t>(i)));
  return all;
}

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
  while (!writer) {
    try {
      writer.emplace(co_await leat::tfrecord_writer::open("/a", small(c)));
    } catch (const leat::failure&) {
      ++failures;
    }
  }
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
  const texts records = numbered("record ", 60);
  for (const compression c : formats) {
    for (const fault f : {fault::io_error, fault::no_space}) {
      int failed = 0;
      int in_vain = 0;
      bool reached = true;
      for (std::uint64_t n = 1; reached; ++n) {
        world w(7, {.files = {.plan = leat::sim::planned_fault{n, f}}});
        const bool written = leat_test::succeeds(
            [&] { w.run([&](world&) { return write_and_insist(records, c, failed); }); });
        reached = w.files().calls() >= n;
        if (!written) {
          ++in_vain;
          REQUIRE(w.files().files().empty());
          continue;
        }
        REQUIRE(plain_of(c, w.files().read_file("/a").value()) == framed(records));
        REQUIRE(w.files().files().size() == 1);
      }
      CHECK(failed > 5);
      CHECK(in_vain == (f == fault::io_error ? 1 : 0));
    }
  }
}

TEST_CASE("tfrecord_writer: the old file remains after the n-th call fails without a retry") {
  const texts records = numbered("record ", 60);
  for (const compression c : formats) {
    std::size_t old_files = 0;
    bool reached = true;
    for (std::uint64_t n = 1; reached; ++n) {
      world w(7, {.files = {.plan = leat::sim::planned_fault{n, fault::io_error}}});
      w.files().write_file("/a", "old");
      bool failed = false;
      try {
        w.run([&](world&) { return write_all("/a", records, c); });
      } catch (const leat::failure&) {
        failed = true;
      }
      reached = w.files().calls() >= n;
      const std::string found = w.files().read_file("/a").value();
      // The directory is synced after the rename, so a failed write may leave the new file.
      REQUIRE((found == "old" || plain_of(c, found) == framed(records)));
      REQUIRE((failed || found != "old"));
      REQUIRE(w.files().files().size() == 1);
      if (found == "old") ++old_files;
    }
    CHECK(old_files > 5);
  }
}

TEST_CASE("tfrecord_writer: a full disk leaves only the old file") {
  for (const compression c : formats) {
    world w(1, {.files = {.size = 2000}});
    w.files().write_file("/a", "old");
    std::string what;
    try {
      w.run([&](world&) { return write_all("/a", numbered("record ", 1000), c); });
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
  const texts old_records = numbered("old ", 20);
  const texts new_records = numbered("new ", 45);
  constexpr std::uint64_t seeds = leat_test::slow_build ? 2 : 10;
  for (const compression c : {compression::zlib, compression::gzip}) {
    std::set<std::string> outcomes;
    for (const fault f : {fault::crash_before, fault::crash_after}) {
      bool reached = true;
      for (std::uint64_t n = 1; reached; ++n) {
        for (std::uint64_t seed = 0; seed < seeds; ++seed) {
          world w(seed, {.files = {.plan = leat::sim::planned_fault{n, f}}});
          bool published = false;
          try {
            w.run([&](world&) -> task<> {
              co_await write_all("/a", old_records, c);
              published = true;
              co_await write_all("/a", new_records, c);
            });
          } catch (const leat::failure&) {
          }
          reached = w.files().calls() >= n;
          if (!w.files().crashed()) continue;
          w.files().restart();
          const auto bytes = w.files().read_file("/a");
          REQUIRE((bytes || !published));
          if (!bytes) continue;
          const auto plain = plain_of(c, *bytes);
          REQUIRE((plain == framed(old_records) || plain == framed(new_records)));
          outcomes.insert(*plain);
        }
      }
    }
    CHECK(outcomes.size() == 2);
  }
}

}  // namespace tfrecord_writer_test
