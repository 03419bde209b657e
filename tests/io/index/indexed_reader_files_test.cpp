// An indexed_reader for more files than may be open concurrently.

#include "leat/io/index/indexed_reader.hpp"

#include <algorithm>
#include <cstdio>
#include <fstream>

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include "io/file/open_file_cache.hpp"
#include "io/index/indexed_reader_support.hpp"
#include "support/effort.hpp"
#include "support/temp_dir.hpp"

using namespace indexed_reader_test;
using leat_test::scaled_count;

namespace indexed_reader_files_test {

indexed_reader_options with_files(std::size_t max_open_files, std::uint64_t epochs = 2) {
  indexed_reader_options o;
  o.num_epochs = epochs;
  o.seed = 17;
  o.batch_size = 16;
  o.records_ahead = 40;
  o.max_open_files = max_open_files;
  return o;
}

constexpr leat::sim::fault_rates without_delay{
    .short_transfer = 0.3, .interrupted = 0.1, .again = 0.1};

// Reads with a reader that may have all files open.
task<> read_unlimited(const data& d, std::uint64_t epochs, reading& to) {
  const auto reader = co_await open(d, with_files(1000, epochs));
  co_await read(*reader, d, to);
}

TEST_CASE("indexed_reader: never has more files open than max_open_files") {
  for (std::uint64_t seed = 0; seed < scaled_count(60); ++seed) {
    in_world(
        [](world& w) -> task<> {
          const data d = data::make(w, numbers(30, 4));
          reading expected;
          co_await read_unlimited(d, 2, expected);
          const auto most = static_cast<std::size_t>(1 + w.random().uniform_below(6));
          indexed_reader_options o = with_files(most);
          o.file.depth = static_cast<std::size_t>(1 + w.random().uniform_below(20));
          const auto reader = co_await open(d, o);
          co_await leat::sleep_for(std::chrono::hours(1));  // earlier files are closed by then
          REQUIRE(w.files().open_files() <= most);
          reading all;
          leat::record_selection batch;
          for (bool more = true; more;) {
            more = co_await reader->read_batch(batch);
            REQUIRE(w.files().open_files() <= most);
            add_batch(all, *reader, batch, d);
            co_await leat::sleep_for(std::chrono::microseconds(w.random().uniform_below(300)));
            REQUIRE(w.files().open_files() <= most);
          }
          REQUIRE(all.global_indexes == expected.global_indexes);
        },
        seed, {.files = {.faults = passing}});
  }
}

TEST_CASE("indexed_reader: reads a thousand shards with at most 32 open files") {
  in_world([](world& w) -> task<> {
    const data d = data::make(w, numbers(1000, 2), 20);
    indexed_reader_options o = with_files(32, 1);
    o.batch_size = 128;
    o.records_ahead = 1024;
    const auto reader = co_await open(d, o);
    reading all;
    leat::record_selection batch;
    for (bool more = true; more;) {
      more = co_await reader->read_batch(batch);
      REQUIRE(w.files().open_files() <= 32);
      add_batch(all, *reader, batch, d);
    }
    std::ranges::sort(all.global_indexes);
    REQUIRE(all.global_indexes.size() == 2000);
    for (std::size_t i = 0; i < 2000; ++i) REQUIRE(all.global_indexes[i] == i);
  });
}

TEST_CASE("indexed_reader: keeps fewer files open if descriptors are short") {
  for (std::uint64_t seed = 0; seed < scaled_count(60); ++seed) {
    in_world(
        [](world& w) -> task<> {
          const data d = data::make(w, numbers(20, 4));
          const auto reader = co_await open(d, with_files(256));
          reading all;
          co_await read(*reader, d, all);
          REQUIRE(all.global_indexes.size() == 160);
        },
        seed, {.files = {.faults = without_delay, .max_open_files = 6 + seed % 5}});
  }
}

TEST_CASE("indexed_reader: reopens files after stops and leaves none open") {
  std::size_t stops = 0;
  for (std::uint64_t seed = 0; seed < scaled_count(100); ++seed) {
    in_world(
        [&](world& w) -> task<> {
          const data d = data::make(w, numbers(20, 4));
          reading expected;
          co_await read_unlimited(d, 2, expected);
          reading all;
          {
            const auto reader = co_await open(d, with_files(3));
            for (bool ended = false; !ended;) {
              leat::task_group group;
              group.spawn(
                  [](indexed_reader& from, const data& of, reading& to, bool& whole) -> task<> {
                    co_await read(from, of, to);
                    whole = true;
                  }(*reader, d, all, ended));
              co_await leat::sleep_for(std::chrono::microseconds(w.random().uniform_below(3000)));
              group.request_stop();
              co_await group.join();
              if (!ended) ++stops;
            }
          }
          REQUIRE(all.global_indexes == expected.global_indexes);
          const auto left = co_await open(d, with_files(3, 9));  // destroyed while it reads
          leat::record_selection batch;
          for (auto n = w.random().uniform_below(6); n > 0; --n) {
            static_cast<void>(co_await left->read_batch(batch));
          }
        },
        seed, {.files = {.faults = without_delay}});
  }
  CHECK(stops > scaled_count(50));
}

task<> check_records(leat::tfrecord_file& file, const data& d, std::uint64_t first) {
  for (std::uint64_t i = 0; i < file.size(); ++i) {
    const leat::owned_record r = co_await file.at(i);
    REQUIRE(leat::as_text(r.payload()) == d.records[static_cast<std::size_t>(first + i)]);
  }
  leat::record_selection all;
  co_await file.read_range(0, file.size(), all);
  REQUIRE(all.size() == file.size());
  REQUIRE(leat::as_text(all[0]) == d.records[static_cast<std::size_t>(first)]);
}

TEST_CASE("indexed_reader: files() can be read at any time, even if they are closed") {
  for (std::uint64_t seed = 0; seed < scaled_count(60); ++seed) {
    in_world(
        [](world& w) -> task<> {
          const data d = data::make(w, numbers(12, 5));
          const auto reader = co_await open(d, with_files(2));
          {
            leat::task_group group;
            for (std::size_t n = 0; n < 12; ++n) {
              group.spawn(check_records(*reader->files()[n], d, 5 * n));
              group.spawn(check_records(*reader->files()[n], d, 5 * n));
            }
            co_await group.join();
          }
          co_await leat::sleep_for(std::chrono::hours(1));
          REQUIRE(w.files().open_files() <= 2);
          co_await check_records(*reader->files()[3], d, 15);
          reading all;
          co_await read(*reader, d, all);
          REQUIRE(all.global_indexes.size() == 120);
          REQUIRE(w.files().open_files() <= 2);
        },
        seed, {.files = {.faults = passing}});
  }
}

TEST_CASE("indexed_reader: a file that was replaced while it was closed is refused") {
  in_world([](world& w) -> task<> {
    const data d = data::make(w, numbers{3, 3, 3});
    indexed_reader_options o = with_files(1);
    o.shuffle = false;
    o.batch_size = 3;
    o.records_ahead = 0;
    const auto reader = co_await open(d, o);
    reading all;
    co_await read(*reader, d, all, 1);
    w.files().write_file(d.paths[1], leat_test::framed({"another", "file"}));
    for (int again = 0; again < 2; ++again) {
      const outcome got = co_await outcome_of(read(*reader, d, all, 1));
      CHECK(got.code == errc::failed_precondition);
      CHECK(contains(got.text,
                     "/1.tfrecord: file was changed or replaced after the reader opened "
                     "it"));
    }
    CHECK(co_await code_of(check_records(*reader->files()[1], d, 3)) == errc::failed_precondition);
    co_await leat::remove_file(d.paths[1]);
    const outcome gone = co_await outcome_of(read(*reader, d, all, 1));
    CHECK(gone.code == errc::not_found);
    CHECK(contains(gone.text, "/1.tfrecord"));
    CHECK(all.global_indexes == numbers{0, 1, 2});
  });
}

// Replaces a file by another one of equal size and modification time.
void replace_unnoticed(const std::string& path, const std::string& bytes) {
  struct stat before{};
  REQUIRE(::stat(path.c_str(), &before) == 0);
  const std::string other = path + ".other";
  std::ofstream(other, std::ios::binary) << bytes;
  const timespec times[] = {before.st_mtim, before.st_mtim};
  REQUIRE(::utimensat(AT_FDCWD, other.c_str(), times, 0) == 0);
  REQUIRE(::rename(other.c_str(), path.c_str()) == 0);
  struct stat after{};
  REQUIRE(::stat(path.c_str(), &after) == 0);
  REQUIRE(after.st_size == before.st_size);
  REQUIRE(after.st_mtim.tv_nsec == before.st_mtim.tv_nsec);
}

TEST_CASE("indexed_reader: refuses a replaced file of equal size and time") {
  const temp_dir dir;
  data d;
  for (const char* record : {"first", "second"}) {
    d.records.emplace_back(record);
    d.paths.push_back(dir.write(record, leat_test::framed({record})));
  }
  const auto read_both = [](const data& from) -> task<std::string> {
    indexed_reader_options o = with_files(1, 1);
    o.shuffle = false;
    o.batch_size = 1;
    o.records_ahead = 0;
    const auto reader = co_await open(from, o);
    reading all;
    co_await read(*reader, from, all, 1);
    replace_unnoticed(from.paths[1], leat_test::framed({"SECOND"}));
    const outcome got = co_await outcome_of(read(*reader, from, all, 1));
    CHECK(got.code == errc::failed_precondition);
    co_return got.text;
  };
  CHECK(contains(leat::block_on(read_both(d)),
                 d.paths[1] + ": file was changed or replaced after the reader opened it"));
}

TEST_CASE("indexed_reader: ignores inodes on file systems that number files on lookup") {
  const temp_dir dir;
  struct statfs on{};
  REQUIRE(::statfs(dir.path().c_str(), &on) == 0);
  on.f_type = 0xEF53;  // ext4
  CHECK(leat::detail::has_stable_inodes(on));
  for (const std::uint32_t type : {0x65735546U, 0xFF534D42U, 0xFE534D42U}) {
    on.f_type = static_cast<decltype(on.f_type)>(type);
    CHECK_FALSE(leat::detail::has_stable_inodes(on));
    on.f_type = static_cast<std::int32_t>(type);  // as on a 32-bit kernel
    CHECK_FALSE(leat::detail::has_stable_inodes(on));
  }
}

TEST_CASE("indexed_reader: refuses max_open_files of 0") {
  in_world([](world& w) -> task<> {
    const data d = data::make(w, numbers{3});
    CHECK(contains(co_await message_of(open(d, with_files(0)), errc::invalid_argument),
                   "max_open_files is 0, must be 1 or more"));
  });
}

task<std::size_t> count_records(const data& d) {
  const auto reader = co_await open(d, with_files(256, 1));
  reading all;
  co_await read(*reader, d, all);
  co_return all.global_indexes.size();
}

TEST_CASE("indexed_reader: a thousand real shards with few descriptors") {
  const temp_dir dir;
  data d;
  for (int file = 0; file < 1000; ++file) {
    d.records.push_back(std::to_string(file));
    d.paths.push_back(dir.write("f" + std::to_string(file), leat_test::framed({d.records.back()})));
  }
  const std::string said = leat_test::run_in_child([&] {
    const rlimit few{32, 32};
    ::setrlimit(RLIMIT_NOFILE, &few);
    return std::to_string(leat::block_on(count_records(d)));
  });
  CHECK(said == "1000");
}

}  // namespace indexed_reader_files_test
