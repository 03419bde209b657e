#include "leat/io/index/tfrecord_index_file.hpp"

#include <filesystem>

#include "leat/base/random.hpp"
#include "leat/sim/world/world.hpp"
#include "support/effort.hpp"
#include "support/leat_test.hpp"
#include "support/records/record_bytes.hpp"
#include "support/records/record_files.hpp"
#include "support/records/zlib_oracle.hpp"
#include "support/temp_dir.hpp"

namespace tfrecord_index_file_test {

using leat::sim::fault;
using leat::sim::world;
using leat_test::framed;
using leat_test::outcome;
using leat_test::texts;

texts of_sizes(const std::vector<std::size_t>& sizes) {
  texts records;
  for (const std::size_t s : sizes) records.emplace_back(s, static_cast<char>('a' + s % 26));
  return records;
}

// Small records, large records, both in turn, in runs and with a huge one between them. Both
// methods of finding headers are used.
texts mixed_records() {
  leat::random_engine random(3);
  std::vector<std::size_t> sizes;
  for (int i = 0; i < 3000; ++i)
    sizes.push_back(static_cast<std::size_t>(random.uniform_below(200)));
  for (int i = 0; i < 30; ++i)
    sizes.push_back(20'000 + static_cast<std::size_t>(random.uniform_below(9)));
  for (int i = 0; i < 30; ++i) sizes.push_back(i % 2 == 0 ? 100'000 : 3);
  sizes.push_back(3 << 20);
  for (int i = 0; i < 3000; ++i)
    sizes.push_back(static_cast<std::size_t>(random.uniform_below(50)));
  return of_sizes(sizes);
}

void require_index_of(const leat::tfrecord_index& index, const texts& records) {
  REQUIRE(index.size() == records.size());
  std::uint64_t offset = 0;
  for (std::size_t i = 0; i < records.size(); ++i) {
    REQUIRE(index[i] == leat::tfrecord_index::entry{offset, records[i].size()});
    offset += records[i].size() + leat::tfrecord_overhead;
  }
  REQUIRE(index.fingerprint().size == offset);
}

outcome build_outcome(const std::string& path) {
  return outcome_of([&] { leat::block_on(leat::build_tfrecord_index(path)); });
}

outcome load_outcome(const std::string& path) {
  return outcome_of([&] { leat::block_on(leat::load_tfrecord_index(path)); });
}

task<> index_file(std::string path) {
  const leat::tfrecord_index index = co_await leat::build_tfrecord_index(path);
  co_await leat::save_tfrecord_index(path, index);
}

using file_time = std::filesystem::file_time_type;

TEST_CASE("tfrecord_index_file: the index has the offset of every record") {
  const temp_dir dir;
  for (const texts& records : {texts{}, texts{"abc", "defg"}, texts{""}, texts(5000, "x"),
                               of_sizes(std::vector<std::size_t>(60, 50'000)), mixed_records()}) {
    const std::string path = dir.write("a", framed(records));
    require_index_of(leat::block_on(leat::build_tfrecord_index(path)), records);
  }
}

TEST_CASE("tfrecord_index_file: metadata of the format's example") {
  const temp_dir dir;
  const auto index =
      leat::block_on(leat::build_tfrecord_index(dir.write("a", framed({"abc", "defg"}))));
  CHECK(index.size() == 2);
  CHECK(index.payload_size() == 7);
  CHECK(index.fingerprint().size == 39);
}

TEST_CASE("tfrecord_index_file: refuses a truncated file with the position") {
  const temp_dir dir;
  const std::string whole = framed({"hello", "", std::string(300, 'x'), "the end"});
  const std::vector<std::size_t> starts = {0, 21, 37, 353, 376};
  for (std::size_t size = 0; size < whole.size(); ++size) {
    const std::string path = dir.write("cut", whole.substr(0, size));
    std::size_t record = 0;
    while (starts[record + 1] <= size) ++record;
    const outcome o = build_outcome(path);
    if (size == starts[record]) {
      REQUIRE(o.code == errc{});
      continue;
    }
    REQUIRE(o.code == errc::data_loss);
    REQUIRE(contains(o.text, "cut, record " + std::to_string(record) + " at offset " +
                                 std::to_string(starts[record]) + ": truncated after "));
  }
}

TEST_CASE("tfrecord_index_file: refuses a corrupt header with the position in both scans") {
  const temp_dir dir;
  for (const std::size_t size : {100U, 50'000U}) {
    std::string bytes = framed(of_sizes(std::vector<std::size_t>(40, size)));
    const std::size_t offset = 30 * (size + 16);
    bytes[offset + 3] ^= 1;
    const outcome o = build_outcome(dir.write("damaged", bytes));
    CHECK(o.code == errc::data_loss);
    CHECK(contains(o.text, "damaged, record 30 at offset " + std::to_string(offset) +
                               ": checksum of the length is wrong"));
    bytes[offset + 3] ^= 1;
    bytes[offset + 50] ^= 1;  // flips a bit of a payload
    CHECK(build_outcome(dir.write("damaged", bytes)).code == errc{});
  }
  const outcome text = build_outcome(dir.write("text", std::string(100, 'a')));
  CHECK(contains(text.text, "the file may be compressed, or not a TFRecord file"));
  for (const bool gzip : {false, true}) {
    leat_test::zlib_options how;
    if (!gzip) how.window_bits = MAX_WBITS;
    const outcome o =
        build_outcome(dir.write("small", leat_test::zlib_deflated(framed({"abc"}), how)));
    CHECK(o.code == errc::invalid_argument);
    CHECK(contains(o.text, gzip ? "small: file is compressed with GZIP: only"
                                : "small: file is compressed with ZLIB: only"));
  }
}

TEST_CASE("tfrecord_index_file: refuses to index files that are not regular") {
  const temp_dir dir;
  CHECK(build_outcome("/dev/null").code == errc::failed_precondition);
  const outcome made_up = build_outcome("/proc/self/maps");  // a regular file of size 0
  CHECK(made_up.code == errc::failed_precondition);
  CHECK(contains(made_up.text, "/proc/self/maps: size of the file is unknown"));
  CHECK(build_outcome(dir.path()).code == errc::failed_precondition);
  CHECK(build_outcome(dir / "none").code == errc::not_found);
}

TEST_CASE("tfrecord_index_file: loads a saved index") {
  const temp_dir dir;
  const texts records = mixed_records();
  const std::string path = dir.write("a.tfrecord", framed(records));
  CHECK(load_outcome(path).code == errc::not_found);
  leat::block_on(index_file(path));
  CHECK(std::filesystem::exists(dir / "a.tfrecord.index"));
  const auto index = leat::block_on(leat::load_tfrecord_index(path));
  require_index_of(index, records);
  // The index may have any path.
  leat::block_on(leat::save_tfrecord_index(path, index, dir / "elsewhere"));
  CHECK(leat::block_on(leat::load_tfrecord_index(path, dir / "elsewhere")) == index);
  CHECK(std::distance(std::filesystem::directory_iterator(dir.path()), {}) == 3);
}

TEST_CASE("tfrecord_index_file: excludes indexes from a list of paths") {
  const temp_dir dir;
  const std::string records = framed({"a"});
  for (const char* name : {"a", "b", "b.index"}) dir.write(name, records);
  leat::block_on(index_file(dir / "a"));
  leat::block_on(index_file(dir / "b.index"));
  const std::string index = dir / "a.index";
  const auto kept = [](const texts& paths) {
    return leat::block_on(leat::exclude_tfrecord_indexes(paths));
  };
  CHECK(kept({}).empty());
  CHECK(kept({index, dir / "a"}) == texts{dir / "a"});
  CHECK(kept({index}) == texts{index});  // its data file is not listed
  // Files with the name of an index that are not one.
  CHECK(kept({dir / "b", dir / "b.index"}) == texts{dir / "b", dir / "b.index"});
  CHECK(kept({dir / "b", dir / "b.index", dir / "b.index.index"}) ==
        texts{dir / "b", dir / "b.index"});
  // A temporary file of another process may already be renamed.
  CHECK(kept({dir / "a", dir / "a.index.partial", dir / "a.index.partial1"}) == texts{dir / "a"});
  CHECK(kept({dir / "c", dir / "c.index"}).size() == 2);  // readers report the missing file
}

TEST_CASE("tfrecord_index_file: loads an index only for its unchanged file") {
  const temp_dir dir;
  const std::string bytes = framed({"hello", "world"});
  const std::string path = dir.write("a", bytes);
  leat::block_on(index_file(path));
  const file_time time = std::filesystem::last_write_time(path);

  dir.write("a", bytes + framed({"more"}));
  const auto load = [&] { return leat::block_on(leat::load_tfrecord_index(path)); };
  const outcome o = load_outcome(path);
  CHECK(o.code == errc::failed_precondition);
  CHECK(contains(o.text, "a.index: index does not match "));
  CHECK(contains(o.text, "the file has 62 bytes, but had 42 when it was indexed"));

  dir.write("a", bytes);
  std::filesystem::last_write_time(path, time + std::chrono::nanoseconds(1));
  CHECK_FAILS(errc::failed_precondition, "was changed after it was indexed", load());

  dir.write("a", framed({"hellO", "world"}));
  std::filesystem::last_write_time(path, time);
  CHECK_FAILS(errc::failed_precondition, "is not the one that was indexed", load());

  dir.write("a", bytes);
  std::filesystem::last_write_time(path, time);
  CHECK(load_outcome(path).code == errc{});
}

TEST_CASE("tfrecord_index_file: distinguishes a corrupt index, a later version and other files") {
  const temp_dir dir;
  const std::string path = dir.write("a", framed({"hello", "world"}));
  leat::block_on(index_file(path));
  std::string index = temp_dir::read(path + ".index");

  const auto load = [&] { return leat::block_on(leat::load_tfrecord_index(path)); };

  dir.write("a.index", index.substr(0, 70));
  CHECK_FAILS(errc::data_loss,
              "a.index: index is corrupt: size of the file does not match the sizes in the header",
              load());

  index[8] = 7;
  dir.write("a.index", index);
  CHECK_FAILS(errc::unimplemented, "a.index: index has version 7", load());

  dir.write("a.index", "0 21\n21 21\n");
  CHECK_REFUSED("a.index: file is not an index of a TFRecord file", load());

  // Longer than any index of this file can be, so it is not read to its end.
  dir.write("a.index", index + std::string(1 << 20, '\0'));
  CHECK(load_outcome(path).code == errc::unimplemented);
}

TEST_CASE("tfrecord_index_file: load_or_build uses a matching index or builds one") {
  const temp_dir dir;
  const texts records = {"hello", "world", "again"};
  std::string bytes = framed(records);
  const std::string path = dir.write("a", bytes);
  const auto load_or_build = [&] {
    return leat::block_on(leat::load_or_build_tfrecord_index(path));
  };
  require_index_of(load_or_build(), records);
  CHECK(load_outcome(path).code == errc{});

  // After damage to a header only the old index has all records, so the index is not rebuilt.
  const file_time time = std::filesystem::last_write_time(path);
  std::string padded = framed({std::string(5000, 'x'), "hello", std::string(5000, 'y')});
  dir.write("a", padded);
  static_cast<void>(load_or_build());
  const file_time padded_time = std::filesystem::last_write_time(path);
  padded[5016] ^= 1;  // outside the sample
  dir.write("a", padded);
  std::filesystem::last_write_time(path, padded_time);
  CHECK(load_or_build().size() == 3);

  // An outdated or damaged index is replaced.
  dir.write("a", bytes);
  std::filesystem::last_write_time(path, time);
  require_index_of(load_or_build(), records);
  dir.write("a.index", temp_dir::read(path + ".index").substr(0, 80));
  require_index_of(load_or_build(), records);
  CHECK(load_outcome(path).code == errc{});
}

TEST_CASE("tfrecord_index_file: load_or_build replaces only indexes") {
  const temp_dir dir;
  const texts records = {"hello", "world"};
  const std::string path = dir.write("a", framed(records));
  leat::block_on(index_file(path));
  std::string later = temp_dir::read(path + ".index");
  later[8] = 2;
  dir.write("a.index", later);
  require_index_of(leat::block_on(leat::load_or_build_tfrecord_index(path)), records);
  CHECK(temp_dir::read(path + ".index") == later);

  dir.write("a.index", "0 21\n21 21\n");
  CHECK(code_of([&] { leat::block_on(leat::load_or_build_tfrecord_index(path)); }) ==
        errc::invalid_argument);
  CHECK(temp_dir::read(path + ".index") == "0 21\n21 21\n");
}

TEST_CASE("tfrecord_index_file: a writer builds an index while it writes") {
  const temp_dir dir;
  const std::string path = dir / "a";
  const texts records = mixed_records();
  leat::block_on([](std::string to, const texts& all) -> task<> {
    auto writer = co_await leat::tfrecord_writer::open(to);
    leat::tfrecord_index_builder builder;
    for (const std::string& r : all) {
      co_await writer.write(leat::as_bytes(r));
      builder.add(r.size());
    }
    co_await writer.close();
    co_await leat::save_tfrecord_index(to, std::move(builder));
  }(path, records));
  require_index_of(leat::block_on(leat::load_tfrecord_index(path)), records);

  leat::tfrecord_index_builder too_few;
  too_few.add(3);
  CHECK(leat::block_on(code_of(leat::save_tfrecord_index(path, std::move(too_few)))) ==
        errc::failed_precondition);
}

// ------------------------------------------------------------------------------------- simulated

const leat::sim::fault_rates passing{
    .short_transfer = 0.3, .interrupted = 0.1, .again = 0.1, .cancelled_late = 0.1, .slow = 0.05};

TEST_CASE("tfrecord_index_file: builds the same index for any behaviour of the device") {
  const texts records = mixed_records();
  const std::string bytes = framed(records);
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    world w(seed, {.files = {.faults = passing}});
    w.files().write_file("/a", bytes);
    w.run([&](world&) -> task<> {
      const auto built = co_await leat::load_or_build_tfrecord_index("/a");
      require_index_of(built, records);
      REQUIRE(co_await leat::load_tfrecord_index("/a") == built);
    });
  }
}

TEST_CASE("tfrecord_index_file: rereads after a transient error, or reports it") {
  const texts records(200, "some record");
  std::size_t right = 0;
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    world w(seed, {.files = {.faults = {.bit_flip = 0.2}}});
    w.files().write_file("/a", framed(records));
    w.run([&](world&) -> task<> {
      try {
        const auto index = co_await leat::build_tfrecord_index("/a");
        require_index_of(index, records);
        ++right;
      } catch (const leat::failure& e) {
        REQUIRE(e.code() == errc::data_loss);
      }
    });
  }
  CHECK(right > 250);
}

TEST_CASE("tfrecord_index_file: refuses a file that changes while it is indexed") {
  const texts records(3000, std::string(1000, 'x'));
  const std::string bytes = framed(records);
  std::size_t aborted = 0;
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    world w(seed);
    w.files().write_file("/a", bytes);
    w.run([&](world& here) -> task<> {
      leat::task_group group;
      group.spawn([](world& there, const std::string& all) -> task<> {
        co_await leat::sleep_for(std::chrono::microseconds(there.random().uniform_below(3000)));
        there.files().truncate("/a",
                               all.size() + (there.random().uniform_below(2) == 0 ? 1000 : 0));
      }(here, bytes));
      try {
        const auto index = co_await leat::build_tfrecord_index("/a");
        require_index_of(index, records);
      } catch (const leat::failure& e) {
        REQUIRE((e.code() == errc::aborted || e.code() == errc::data_loss));
        if (e.code() == errc::aborted) ++aborted;
      }
      co_await group.join();
    });
  }
  CHECK(aborted > 10);
}

TEST_CASE("tfrecord_index_file: refuses a file that is replaced while it is indexed") {
  const texts records(300, std::string(1000, 'x'));
  const std::string bytes = framed(records);
  std::size_t aborted = 0;
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    world w(seed);
    w.files().write_file("/a", bytes);
    w.run([&](world& here) -> task<> {
      const leat::file_status then = co_await leat::get_status("/a");
      leat::task_group group;
      group.spawn([](world& there, const std::string& all, std::int64_t time) -> task<> {
        co_await leat::sleep_for(std::chrono::microseconds(there.random().uniform_below(3000)));
        there.files().set_time(there.now(), leat::wall_time_point(std::chrono::nanoseconds(time)));
        there.files().write_file("/a", all);
      }(here, bytes, then.modified_ns));
      if (co_await code_of(leat::build_tfrecord_index("/a")) == errc::aborted) ++aborted;
      co_await group.join();
    });
  }
  CHECK(aborted > 10);
}

TEST_CASE("tfrecord_index_file: a full disk leaves a usable index in memory and no file") {
  const texts records = of_sizes({1, 2, 3, 400});
  const std::string bytes = framed(records);
  world w(1, {.files = {.size = bytes.size() + 20}});
  w.files().write_file("/a", bytes);
  w.run([&](world& here) -> task<> {
    const auto index = co_await leat::load_or_build_tfrecord_index("/a");
    require_index_of(index, records);
    CHECK(here.files().files() == texts{"/a"});
    CHECK(co_await code_of(leat::save_tfrecord_index("/a", index)) == errc::resource_exhausted);
    CHECK(here.files().files() == texts{"/a"});
  });
}

TEST_CASE("tfrecord_index_file: a crash at any point leaves no index or a complete one") {
  const texts records(300, "some record");
  std::size_t crashes = 0;
  std::size_t whole = 0;
  for (const fault f : {fault::crash_before, fault::crash_after}) {
    bool reached = true;
    for (std::uint64_t n = 1; reached; ++n) {
      for (std::uint64_t seed = 0; seed < 10; ++seed) {
        world w(seed, {.files = {.plan = leat::sim::planned_fault{n, f}}});
        w.files().write_file("/a", framed(records));
        try {
          w.run([](world&) -> task<> { co_await index_file("/a"); });
        } catch (const leat::failure&) {
        }
        reached = w.files().calls() >= n;
        if (!w.files().crashed()) continue;
        ++crashes;
        w.files().restart();
        if (!w.files().read_file("/a.index")) continue;
        ++whole;
        w.run([&](world&) -> task<> {
          const auto index = co_await leat::load_tfrecord_index("/a");
          require_index_of(index, records);
        });
      }
    }
  }
  CHECK(crashes > 50);
  CHECK(whole > 10);
}

TEST_CASE("tfrecord_index_file: a stop at any point leaves no partial file") {
  const std::string file = framed(texts(3000, std::string(1000, 'x')));
  std::size_t stopped = 0;
  for (std::uint64_t seed = 0; seed < leat_test::scaled_count(200); ++seed) {
    world w(seed);
    w.files().write_file("/a", file);
    w.run([&](world& here) -> task<> {
      leat::task_group group;
      group.spawn(index_file("/a"));
      co_await leat::sleep_for(std::chrono::microseconds(here.random().uniform_below(20'000)));
      group.request_stop();
      co_await group.join();
      const texts files = here.files().files();
      REQUIRE((files == texts{"/a"} || files == texts{"/a", "/a.index"}));
      if (files.size() == 1) ++stopped;
    });
  }
  CHECK(stopped >= leat_test::scaled_count(20));
}

}  // namespace tfrecord_index_file_test
