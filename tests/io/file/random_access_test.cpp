// Reads records of a TFRecord file in any order: by index, in selections and by seeking.

#include "leat/io/index/tfrecord_file.hpp"

#include <algorithm>
#include <numeric>

#include "leat/base/random.hpp"
#include "leat/io/index/tfrecord_index_file.hpp"
#include "leat/sim/world/world.hpp"
#include "support/effort.hpp"
#include "support/leat_test.hpp"
#include "support/records/record_bytes.hpp"
#include "support/records/record_files.hpp"
#include "support/temp_dir.hpp"

namespace random_access_test {

using leat::sim::world;
using leat_test::framed;
using leat_test::outcome;
using leat_test::texts;
using indices = std::vector<std::uint64_t>;

// Returns records that start with their index and have a random length.
texts numbered(std::size_t count, std::size_t below, std::uint64_t seed = 1) {
  leat::random_engine random(seed);
  texts records;
  for (std::size_t i = 0; i < count; ++i) {
    records.push_back(std::to_string(i) + "." +
                      std::string(static_cast<std::size_t>(random.uniform_below(below)), 'x'));
  }
  return records;
}

task<std::unique_ptr<leat::tfrecord_file>> open_with(std::string path,
                                                     leat::tfrecord_file_options options) {
  co_return co_await leat::tfrecord_file::open(std::move(path), options);
}

leat::tfrecord_index index_of(const texts& records) {
  leat::tfrecord_index_builder builder;
  for (const std::string& r : records) builder.add(r.size());
  return std::move(builder).finish({.size = builder.end_offset()});
}

task<std::unique_ptr<leat::tfrecord_file>> open_indexed(std::string path, texts records,
                                                        std::size_t depth) {
  leat::file f = co_await leat::file::open(std::move(path));
  leat::tfrecord_file_options options;
  options.depth = depth;
  co_return std::make_unique<leat::tfrecord_file>(std::move(f), index_of(records), options);
}

// Checks that the selection has the records in `wanted`.
void require_selection(const leat::record_selection& selection, const indices& wanted,
                       const texts& records, const leat::tfrecord_index& index) {
  REQUIRE(selection.size() == wanted.size());
  for (std::size_t k = 0; k < wanted.size(); ++k) {
    const std::uint64_t i = wanted[k];
    REQUIRE(leat::as_text(selection[k]) == records[static_cast<std::size_t>(i)]);
    REQUIRE(selection.position(k).index == i);
    REQUIRE(selection.position(k).offset == index[i].offset);
  }
}

indices some(std::uint64_t count, std::uint64_t below, leat::random_engine& random) {
  indices all(count);
  for (std::uint64_t& i : all) i = random.uniform_below(below);
  return all;
}

task<> read_at(leat::tfrecord_file& file, std::uint64_t i) {
  static_cast<void>(co_await file.at(i));
}

LEAT_REAL_TIME_TEST("tfrecord_file: gives each record by its index, forwards and backwards") {
  const temp_dir dir;
  const texts records = numbered(300, 3000);
  const std::string path = dir.write("a", framed(records));
  const auto file = co_await leat::tfrecord_file::open(path);
  REQUIRE(file->size() == records.size());
  for (std::size_t k = 0; k < 2 * records.size(); ++k) {
    const std::size_t i = k < records.size() ? k : 2 * records.size() - 1 - k;
    const leat::owned_record r = co_await file->at(i);
    REQUIRE(leat::as_text(r.payload()) == records[i]);
    REQUIRE(r.position().index == i);
    REQUIRE(r.position().offset == file->index()[i].offset);
    REQUIRE(r.position().path == path);
  }
  REQUIRE(file->statistics().records == 2 * records.size());
  CHECK(std::filesystem::exists(path + ".index"));
}

LEAT_REAL_TIME_TEST(
    "tfrecord_file: reads selections in the order asked for, with every depth and gap") {
  const temp_dir dir;
  const texts records = numbered(2000, 300);
  const std::string path = dir.write("a", framed(records));
  for (const std::size_t depth : {1U, 2U, 64U, 1024U}) {
    for (const std::size_t gap : {std::size_t{0}, std::size_t{500}, std::size_t{1} << 30}) {
      leat::tfrecord_file_options options;
      options.depth = depth;
      options.max_gap = gap;
      const auto file = co_await open_with(path, options);
      leat::record_selection selection;
      leat::random_engine random(depth + gap);
      for (const std::uint64_t count : indices{0, 1, 2, 64, 700}) {
        const indices wanted = some(count, records.size(), random);  // some of them twice
        co_await file->read(wanted, selection);
        require_selection(selection, wanted, records, file->index());
      }
    }
  }
}

LEAT_REAL_TIME_TEST("tfrecord_file: reads ranges") {
  const temp_dir dir;
  const texts records = numbered(3000, 1000);
  const std::string p = dir.write("a", framed(records));
  const auto file = co_await leat::tfrecord_file::open(p);
  leat::record_selection selection;
  for (const std::uint64_t first : indices{0, 1, 1000, 2999, 3000}) {
    indices wanted(static_cast<std::size_t>(records.size() - first));
    std::iota(wanted.begin(), wanted.end(), first);
    co_await file->read_range(first, wanted.size(), selection);
    require_selection(selection, wanted, records, file->index());
  }
  for (const std::uint64_t first : indices{1, 3000, 3001, UINT64_MAX}) {
    const outcome o = co_await outcome_of(file->read_range(first, records.size(), selection));
    CHECK(o.code == errc::out_of_range);
    CHECK(selection.empty());
  }
  CHECK(co_await code_of(file->read_range(5, UINT64_MAX, selection)) == errc::out_of_range);
}

LEAT_REAL_TIME_TEST(
    "tfrecord_file: selections, copies and slices outlive the file and the next read") {
  const temp_dir dir;
  const std::string p = dir.write("a", framed({"zero", "one", "two"}));
  leat::record_selection selection;
  leat::record_selection copy;
  {
    const auto file = co_await leat::tfrecord_file::open(p);
    const indices both{1, 0};
    co_await file->read(both, selection);
    copy = selection;
    const indices other{2, 2};
    co_await file->read(other, selection);
  }
  CHECK(leat::as_text(copy[0]) == "one");
  CHECK(leat::as_text(copy[1]) == "zero");
  CHECK(copy.path() == p);
  CHECK(leat::as_text(selection[1]) == "two");
  leat::record_selection part = copy.slice(1, 1);
  CHECK(copy.slice(2, 0).empty());
  copy.clear();
  REQUIRE(part.size() == 1);
  CHECK(leat::as_text(part[0]) == "zero");
  CHECK(part.position(0).index == 0);
  CHECK(part.path() == p);
}

LEAT_REAL_TIME_TEST("tfrecord_file: refuses missing and too large records and invalid options") {
  const temp_dir dir;
  const std::string p = dir.write("a", framed({"zero", "first"}));
  auto file = co_await leat::tfrecord_file::open(p);
  outcome o = co_await outcome_of(read_at(*file, 2));
  CHECK(o.code == errc::out_of_range);
  CHECK(contains(o.text, "a: record 2 is out of range: the file has 2 records"));
  leat::record_selection selection;
  const indices wanted{0, 1, UINT64_MAX};
  o = co_await outcome_of(file->read(wanted, selection));
  CHECK(o.code == errc::out_of_range);
  CHECK(selection.empty());

  leat::tfrecord_file_options options;
  options.max_record_size = 4;
  file = co_await open_with(p, options);
  co_await read_at(*file, 0);
  o = co_await outcome_of(read_at(*file, 1));
  CHECK(o.code == errc::resource_exhausted);
  CHECK(contains(o.text, "a, record 1 at offset 20: length of 5 bytes is above the limit"));
  for (const std::size_t depth : {std::size_t{0}, std::size_t{1025}}) {
    options.depth = depth;
    CHECK(contains(co_await message_of(open_with(p, options), errc::invalid_argument), "depth"));
  }
}

LEAT_REAL_TIME_TEST("tfrecord_file: refuses a selection above max_selection_size") {
  const temp_dir dir;
  const std::string path = dir.write("a", framed(texts(100, std::string(10'000, 'x'))));
  leat::tfrecord_file_options options;
  options.max_selection_size = 10 * (10'000 + leat::tfrecord_overhead);
  const auto file = co_await open_with(path, options);
  leat::record_selection selection;
  co_await file->read_range(0, 10, selection);
  CHECK(selection.size() == 10);
  const outcome o = co_await outcome_of(file->read_range(0, 11, selection));
  CHECK(o.code == errc::resource_exhausted);
  CHECK(contains(o.text,
                 "a: selection of 11 records has 110176 bytes, above the limit max_selection_size "
                 "of 100160"));
  CHECK(selection.empty());
  const indices twice(1000, 7);  // read only once
  co_await file->read(twice, selection);
  CHECK(selection.size() == 1000);

  options.max_selection_size = 0;  // a single record is always delivered
  const auto least = co_await open_with(path, options);
  const indices one{5};
  co_await least->read(one, selection);
  CHECK(selection.size() == 1);
}

LEAT_REAL_TIME_TEST(
    "tfrecord_file: reports the position of a corrupt record and reads the others") {
  const temp_dir dir;
  const texts records = numbered(50, 100);
  const leat::tfrecord_index index = index_of(records);
  std::string bytes = framed(records);
  bytes[static_cast<std::size_t>(index[20].offset) + 13] ^= 1;
  const std::string path = dir.write("a", bytes);
  const auto file = co_await open_indexed(path, records, 64);
  const auto [offset, size] = file->index()[20];
  outcome o = co_await outcome_of(read_at(*file, 20));
  CHECK(o.code == errc::data_loss);
  const std::string text = "a, record 20 at offset " + std::to_string(offset) +
                           ": checksum of the payload of " + std::to_string(size) +
                           " bytes is wrong: expected 0x";
  CHECK(contains(o.text, text));
  leat::record_selection selection;
  const indices with{3, 20, 21};
  o = co_await outcome_of(file->read(with, selection));
  CHECK(o.code == errc::data_loss);
  CHECK(contains(o.text, text));
  CHECK(selection.empty());
  const indices without{21, 19};
  co_await file->read(without, selection);
  require_selection(selection, without, records, file->index());
  CHECK(file->statistics().transient == 0);
}

LEAT_REAL_TIME_TEST("tfrecord_file: detects an index of other records at the first read") {
  const temp_dir dir;
  const std::string p = dir.write("a", framed({"abcd", "ef"}));
  const std::string other = dir.write("b", framed({"ab", "cdef"}));
  leat::tfrecord_index index = co_await leat::build_tfrecord_index(other);
  CHECK(contains(co_await message_of(leat::tfrecord_file::open(p, std::move(index)),
                                     errc::failed_precondition),
                 "build the index again"));
  const texts as_indexed{"ab", "cdef"};
  const auto file = co_await open_indexed(p, as_indexed, 64);
  outcome o = co_await outcome_of(read_at(*file, 0));  // longer than the index states
  CHECK(o.code == errc::failed_precondition);
  CHECK(contains(o.text,
                 "length of 4 bytes differs from the index, which has 2; build the index again"));
  o = co_await outcome_of(read_at(*file, 1));
  CHECK(o.code == errc::data_loss);
}

// --------------------------------------------------------------------------------------- by offset

task<texts> read_rest(leat::tfrecord_reader& reader) {
  texts all;
  leat::record_batch batch;
  while (co_await reader.read_batch(batch)) {
    for (const leat::byte_view r : batch) all.emplace_back(leat::as_text(r));
  }
  co_return all;
}

// Unlike leat, TensorFlow's sequential reader refuses to seek backwards.
TEST_CASE("tfrecord_reader: seeks to the offset of any record, forwards and backwards") {
  const temp_dir dir;
  texts records;
  for (int i = 0; i < 10; ++i) records.push_back(std::to_string(i) + ".");
  const std::string path = dir.write("a", framed(records));
  for (const std::size_t chunk : {16U, 1024U, 262144U}) {
    leat::block_on([](std::string p, const texts& all, std::size_t size) -> task<> {
      const auto file = co_await leat::tfrecord_file::open(p);
      const auto& index = file->index();
      leat::tfrecord_reader_options options;
      options.read.chunk_size = size;
      const auto reader = co_await leat::tfrecord_reader::open(p, options);
      texts got = co_await read_rest(*reader);
      CHECK(got == all);
      leat::record_batch batch;
      for (const std::uint64_t i : indices{3, 8, 0, 9}) {
        reader->seek(index[i].offset, i);
        REQUIRE(co_await reader->read_batch(batch));
        CHECK(leat::as_text(batch[0]) == all[static_cast<std::size_t>(i)]);
        CHECK(batch.position(0).index == i);
        const std::uint64_t next = batch.position(0).offset + batch[0].size() + 16;
        CHECK(next == (i + 1 < all.size() ? index[i + 1].offset : index.fingerprint().size));
      }
      for (const std::uint64_t beyond : indices{0, 5}) {
        reader->seek(index.fingerprint().size + beyond, all.size());
        for (int again = 0; again < 2; ++again) {
          CHECK_FALSE(co_await reader->read_batch(batch));
        }
      }
    }(path, records, chunk));
  }
}

// --------------------------------------------------------------------------------------- simulated

const leat::sim::fault_rates passing{
    .short_transfer = 0.3, .interrupted = 0.1, .again = 0.1, .cancelled_late = 0.1, .slow = 0.05};

TEST_CASE("tfrecord_file: reads the same records for any behaviour of the device") {
  const texts records = numbered(500, 8000);
  const std::string bytes = framed(records);
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    world w(seed, {.files = {.faults = passing}});
    w.files().write_file("/a", bytes);
    w.run([&](world& here) -> task<> {
      const auto file = co_await open_indexed("/a", records, 1 + here.random().uniform_below(20));
      leat::task_group group;  // several concurrent reads
      for (int reader = 0; reader < 3; ++reader) {
        group.spawn([](leat::tfrecord_file& from, const texts& all, world& there) -> task<> {
          leat::record_selection selection;
          for (int round = 0; round < 3; ++round) {
            const indices wanted = some(40, all.size(), there.random());
            co_await from.read(wanted, selection);
            require_selection(selection, wanted, all, from.index());
          }
        }(*file, records, here));
      }
      co_await group.join();
    });
  }
}

TEST_CASE("tfrecord_file: rereads a record after a transient error, or reports it") {
  const texts records = numbered(100, 2000);
  std::size_t healed = 0;
  std::size_t told = 0;
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    world w(seed, {.files = {.faults = {.bit_flip = 0.2}}});
    w.files().write_file("/a", framed(records));
    w.run([&](world& here) -> task<> {
      const auto file = co_await open_indexed("/a", records, 8);
      leat::record_selection selection;
      const indices wanted = some(10, records.size(), here.random());
      const outcome o = co_await outcome_of(file->read(wanted, selection));
      if (o.code == errc{}) {
        require_selection(selection, wanted, records, file->index());
        if (file->statistics().transient > 0) ++healed;
      } else {
        REQUIRE(o.code == errc::data_loss);
        ++told;
      }
    });
  }
  CHECK(healed > 20);
  CHECK(told > 5);
}

TEST_CASE("tfrecord_file: reports a failed system call and stays usable, for every call") {
  const texts records = numbered(100, 20'000);
  const std::string bytes = framed(records);
  std::size_t failed = 0;
  bool reached = true;
  for (std::uint64_t n = 1; reached; ++n) {
    world w(n, {.files = {.plan = leat::sim::planned_fault{n, leat::sim::fault::io_error}}});
    w.files().write_file("/a", bytes);
    std::unique_ptr<leat::tfrecord_file> file;
    w.run([&](world& here) -> task<> {
      const outcome opened = co_await outcome_of([](auto& to, const texts& all) -> task<> {
        to = co_await open_indexed("/a", all, 8);
      }(file, records));
      if (!file) {
        REQUIRE(opened.code != errc{});
        co_return;
      }
      const indices wanted = some(20, records.size(), here.random());
      leat::record_selection selection;
      const outcome o = co_await outcome_of(file->read(wanted, selection));
      if (o.code != errc{}) {
        ++failed;
        REQUIRE(contains(o.text, "/a, record "));
        REQUIRE(contains(o.text, "cannot read"));
        REQUIRE(selection.empty());
        co_await file->read(wanted, selection);
      }
      require_selection(selection, wanted, records, file->index());
      file.reset();
    });
    reached = w.files().calls() >= n;
  }
  CHECK(failed > 5);
}

TEST_CASE("tfrecord_file: a stop at any point ends the read, and the next read is complete") {
  const texts records = numbered(200, 20'000);
  const std::string bytes = framed(records);
  std::size_t stopped = 0;
  for (std::uint64_t seed = 0; seed < leat_test::scaled_count(200); ++seed) {
    world w(seed, {.files = {.faults = passing}});
    w.files().write_file("/a", bytes);
    w.run([&](world& here) -> task<> {
      const auto file = co_await open_indexed("/a", records, 1 + here.random().uniform_below(30));
      const indices wanted = some(60, records.size(), here.random());
      leat::record_selection selection;
      leat::task_group group;
      outcome o;
      group.spawn([](leat::tfrecord_file& from, const indices& which, leat::record_selection& to,
                     outcome& how) -> task<> {
        how = co_await outcome_of(from.read(which, to));
      }(*file, wanted, selection, o));
      co_await leat::sleep_for(std::chrono::microseconds(here.random().uniform_below(3000)));
      group.request_stop();
      co_await group.join();
      if (o.code != errc{}) {
        REQUIRE(o.code == errc::cancelled);
        REQUIRE(selection.empty());
        ++stopped;
        co_await file->read(wanted, selection);
      }
      require_selection(selection, wanted, records, file->index());
    });
  }
  CHECK(stopped >= leat_test::scaled_count(20));
}

TEST_CASE("tfrecord_file: reports a file that becomes shorter") {
  const texts records = numbered(100, 1000);
  const std::string bytes = framed(records);
  world w(3);
  w.files().write_file("/a", bytes);
  w.run([&](world& here) -> task<> {
    const auto file = co_await open_indexed("/a", records, 8);
    here.files().truncate("/a", bytes.size() / 2);
    leat::record_selection selection;
    const indices wanted{99, 0};
    outcome o = co_await outcome_of(file->read(wanted, selection));
    CHECK(o.code == errc::data_loss);
    CHECK(contains(o.text, "/a, record 99 at offset "));
    CHECK(contains(o.text, "file became shorter"));
    o = co_await outcome_of(read_at(*file, 99));
    CHECK(o.code == errc::data_loss);
    co_await read_at(*file, 0);
  });
}

}  // namespace random_access_test
