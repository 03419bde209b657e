// An indexed_reader delivers each record once in each epoch, in the order of the permutation.

#include "leat/io/index/indexed_reader.hpp"

#include <algorithm>
#include <set>

#include "io/index/indexed_reader_support.hpp"
#include "leat/base/permutation.hpp"
#include "support/effort.hpp"
#include "support/temp_dir.hpp"

using namespace indexed_reader_test;
using leat_test::scaled_count;

namespace indexed_reader_test {

const numbers three_files = {40, 0, 7, 90};

indexed_reader_options some_epochs(std::uint64_t count) {
  indexed_reader_options o;
  o.num_epochs = count;
  o.seed = 17;
  o.batch_size = 16;
  o.records_ahead = 40;
  return o;
}

numbers expected_order(std::uint64_t records, std::uint64_t seed, std::uint64_t epochs) {
  numbers all;
  for (std::uint64_t e = 0; e < epochs; ++e) {
    const leat::permutation order(records, seed, e);
    for (std::uint64_t i = 0; i < records; ++i) all.push_back(order[i]);
  }
  return all;
}

TEST_CASE("indexed_reader: each epoch is a permutation of all records of all files") {
  in_world([](world& w) -> task<> {
    const data d = data::make(w, three_files);
    const auto reader = co_await open(d, some_epochs(3));
    REQUIRE(reader->size() == 137);
    REQUIRE(reader->seed() == 17);
    CHECK(reader->counts().records == 137);
    reading all;
    co_await read(*reader, d, all);
    CHECK(all.global_indexes == expected_order(137, 17, 3));
    for (std::size_t i = 0; i < all.epochs.size(); ++i) REQUIRE(all.epochs[i] == i / 137);
    CHECK(reader->statistics().records == 3 * 137);
    leat::record_selection batch;
    for (int again = 0; again < 2; ++again) {
      CHECK_FALSE(co_await reader->read_batch(batch));
    }
  });
}

TEST_CASE("indexed_reader: returns the position of each record") {
  in_world([](world& w) -> task<> {
    const data d = data::make(w, three_files);
    const auto reader = co_await open(d, some_epochs(1));
    const numbers firsts = {0, 40, 40, 47};
    leat::record_selection batch;
    while (co_await reader->read_batch(batch)) {
      REQUIRE(batch.size() <= 16);
      for (std::size_t i = 0; i < batch.size(); ++i) {
        const leat::record_position p = batch.position(i);
        const auto file = static_cast<std::size_t>(p.path[1] - '0');
        REQUIRE(p.path == d.paths[file]);
        REQUIRE(batch.global_index(i) == firsts[file] + p.index);
      }
    }
  });
}

TEST_CASE("indexed_reader: reads in the order of the files without shuffle") {
  in_world([](world& w) -> task<> {
    const data d = data::make(w, three_files);
    indexed_reader_options o = some_epochs(2);
    o.shuffle = false;
    const auto reader = co_await open(d, o);
    reading all;
    co_await read(*reader, d, all);
    REQUIRE(all.global_indexes.size() == 2 * 137);
    for (std::size_t i = 0; i < all.global_indexes.size(); ++i)
      REQUIRE(all.global_indexes[i] == i % 137);
  });
}

TEST_CASE("indexed_reader: returns the same batches for any behaviour of the device") {
  std::vector<numbers> sizes;  // sizes of the batches for each read-ahead
  for (std::uint64_t seed = 0; seed < scaled_count(100); ++seed) {
    in_world(
        [&](world& w) -> task<> {
          const data d = data::make(w, three_files);
          indexed_reader_options o = some_epochs(2);
          o.records_ahead = static_cast<std::size_t>(w.random().uniform_below(4) * 30);
          o.file.depth = static_cast<std::size_t>(1 + w.random().uniform_below(20));
          o.file.max_gap = static_cast<std::size_t>(w.random().uniform_below(2) * 500);
          const auto reader = co_await open(d, o);
          reading all;
          numbers batches;
          leat::record_selection batch;
          leat::record_selection kept;  // a copy keeps its records
          while (co_await reader->read_batch(batch)) {
            add_batch(all, *reader, batch, d);
            batches.push_back(batch.size());
            if (w.random().uniform_below(3) == 0) kept = batch;
            for (std::size_t i = 0; i < kept.size(); ++i) {
              const auto global_index = static_cast<std::size_t>(kept.global_index(i));
              REQUIRE(leat::as_text(kept[i]) == d.records[global_index]);
            }
          }
          REQUIRE(all.global_indexes == expected_order(137, 17, 2));
          if (sizes.empty()) sizes.push_back(batches);
          REQUIRE(batches == sizes[0]);
        },
        seed, {.files = {.faults = passing}});
  }
}

TEST_CASE("indexed_reader: a stop at any point loses no record") {
  std::size_t stops = 0;
  for (std::uint64_t seed = 0; seed < scaled_count(200); ++seed) {
    in_world(
        [&](world& w) -> task<> {
          const data d = data::make(w, three_files);
          const auto reader = co_await open(d, some_epochs(2));
          reading all;
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
          REQUIRE(all.global_indexes == expected_order(137, 17, 2));
        },
        seed, {.files = {.faults = {.short_transfer = 0.3, .interrupted = 0.1, .again = 0.1}}});
  }
  CHECK(stops > scaled_count(200));
}

TEST_CASE("indexed_reader: can be destroyed while it reads") {
  for (std::uint64_t seed = 0; seed < scaled_count(100); ++seed) {
    in_world(
        [](world& w) -> task<> {
          const data d = data::make(w, three_files);
          leat::record_selection batch;
          {
            const auto reader = co_await open(d, some_epochs(9));
            for (auto n = w.random().uniform_below(6); n > 0; --n) {
              static_cast<void>(co_await reader->read_batch(batch));
            }
          }
          for (std::size_t i = 0; i < batch.size(); ++i) {  // the batch outlives the reader
            REQUIRE(leat::as_text(batch[i]) ==
                    d.records[static_cast<std::size_t>(batch.global_index(i))]);
          }
        },
        seed, {.files = {.faults = passing}});
  }
}

TEST_CASE("indexed_reader: batches and reads ahead stay within max_bytes") {
  in_world([](world& w) -> task<> {
    const data d = data::make(w, numbers{50, 50}, 3000);
    indexed_reader_options o = some_epochs(1);
    o.batch_size = 1000;
    o.max_bytes = 8000;
    const auto reader = co_await open(d, o);
    leat::record_selection batch;
    std::size_t batches = 0;
    std::size_t alone = 0;
    reading all;
    while (co_await reader->read_batch(batch)) {
      add_batch(all, *reader, batch, d);
      std::size_t size = 0;
      for (const leat::byte_view r : batch) size += r.size() + leat::tfrecord_overhead;
      REQUIRE((size <= 4000 || batch.size() == 1));
      ++batches;
    }
    CHECK(all.global_indexes == expected_order(100, 17, 1));
    CHECK(batches > 30);
    o.max_bytes = 1;  // one record at a time
    const auto least = co_await open(d, o);
    while (co_await least->read_batch(batch)) {
      REQUIRE(batch.size() == 1);
      ++alone;
    }
    CHECK(alone == 100);
  });
}

TEST_CASE("indexed_reader: files without records") {
  in_world([](world& w) -> task<> {
    const data d = data::make(w, numbers{0, 0});
    indexed_reader_options o;  // infinite epochs
    const auto reader = co_await open(d, o);
    leat::record_selection batch;
    CHECK_FALSE(co_await reader->read_batch(batch));
    CHECK(reader->size() == 0);
  });
}

TEST_CASE("indexed_reader: without a seed each reader has its own order and returns its seed") {
  in_world([](world& w) -> task<> {
    const data d = data::make(w, three_files);
    indexed_reader_options o = some_epochs(1);
    o.seed.reset();
    std::set<std::uint64_t> seeds;
    for (int i = 0; i < 3; ++i) {
      const auto reader = co_await open(d, o);
      reading all;
      co_await read(*reader, d, all);
      CHECK(all.global_indexes == expected_order(137, reader->seed(), 1));
      seeds.insert(reader->seed());
    }
    CHECK(seeds.size() == 3);
  });
}

TEST_CASE("indexed_reader: refuses invalid options before it opens a file") {
  const auto said = [](const std::function<void(indexed_reader_options&)>& change) {
    std::string text;
    in_world([&](world& w) -> task<> {
      indexed_reader_options o;
      change(o);
      data d;
      d.paths.push_back("/missing");
      const auto calls = w.files().calls();
      text = co_await message_of(open(d, o), errc::invalid_argument);
      CHECK(w.files().calls() == calls);
    });
    return text;
  };
  CHECK(contains(said([](auto& o) { o.batch_size = 0; }), "indexed_reader: batch_size is 0"));
  CHECK(contains(said([](auto& o) { o.num_epochs = 0; }), "num_epochs is 0"));
  CHECK(contains(said([](auto& o) { o.file.depth = 0; }), "depth is 0, must be 1 to 1024"));
  CHECK(contains(said([](auto& o) { o.world.rank = 1; }), "rank is 1, must be below"));
  CHECK(contains(said([](auto& o) { o.corruption.policy = leat::corruption_policy::skip_file; }),
                 "use corruption_policy::skip_record"));
}

TEST_CASE("indexed_reader: refuses no files, and more ranks than records or files") {
  in_world([](world& w) -> task<> {
    const data d = data::make(w, numbers{2, 0, 1});
    const data no_files;
    indexed_reader_options o;
    std::string text = co_await message_of(open(no_files, o), errc::invalid_argument);
    CHECK(contains(text, "indexed_reader: no files"));
    o.world.world_size = 4;
    text = co_await message_of(open(d, o), errc::invalid_argument);
    CHECK(
        contains(text, "3 records for 4 ranks, so a rank would have no records: use fewer ranks"));
    o.world.world_size = 3;
    o.shard.by = leat::shard_by::files;
    text = co_await message_of(open(d, o), errc::invalid_argument);
    CHECK(contains(text, "indexed_reader: 2 files with records for 3 ranks"));
    CHECK(contains(text, "use shard_by::records"));
    o = {.world = {.rank = 1, .world_size = 2}};
    const auto reader = co_await open(d, o);
    leat::record_selection batch;
    text = co_await message_of(reader->read_batch(batch), errc::invalid_argument);
    CHECK(contains(text, "set the same seed in all ranks"));
  });
}

LEAT_REAL_TIME_TEST("indexed_reader: reads real files in the page cache") {
  const temp_dir dir;
  data d;
  for (int file = 0; file < 3; ++file) {
    texts records;
    for (int i = 0; i < 500; ++i) {
      records.push_back(std::to_string(d.records.size()) + std::string(500, '.'));
      d.records.push_back(records.back());
    }
    d.paths.push_back(dir.write("f" + std::to_string(file), leat_test::framed(records)));
  }
  const auto reader = co_await open(d, some_epochs(2));
  reading all;
  co_await read(*reader, d, all);
  CHECK(all.global_indexes == expected_order(1500, 17, 2));
}

}  // namespace indexed_reader_test
