// Readers of damaged files, with each corruption policy.

#include "leat/io/reader/corruption.hpp"

#include <map>

#include <nlohmann/json.hpp>

#include "leat/io/reader/line_reader.hpp"
#include "leat/io/reader/quarantine_log.hpp"
#include "leat/io/reader/tfrecord_reader.hpp"
#include "leat/sim/world/world.hpp"
#include "support/leat_test.hpp"
#include "support/records/record_bytes.hpp"
#include "support/records/record_files.hpp"
#include "support/records/zlib_oracle.hpp"
#include "support/temp_dir.hpp"

namespace corruption_test {

using leat::corruption_policy;
using leat::corruption_report;
using leat_test::framed;
using leat_test::texts;

// Records of 100 bytes, which take 116 bytes each in the file.
constexpr std::size_t frame = 116;

texts records(int count) {
  texts all;
  for (int i = 0; i < count; ++i) all.emplace_back(100, static_cast<char>('a' + i));
  return all;
}

std::string without(const texts& all, std::initializer_list<std::size_t> left_out) {
  std::string initials;
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (std::find(left_out.begin(), left_out.end(), i) == left_out.end()) initials += all[i][0];
  }
  return initials;
}

struct outcome {
  std::string initials;  // of the records
  std::string error;
  std::vector<corruption_report> reports;
  leat::reader_statistics statistics;
};

template <class Reader>
task<> read_into(outcome& o, std::string path, typename Reader::options_type options) {
  options.corruption.on_report = [&o](const corruption_report& r) { o.reports.push_back(r); };
  auto reader = co_await Reader::open(path, options);
  typename Reader::batch_type batch;
  for (bool more = true; more;) {
    std::exception_ptr error;
    try {
      more = co_await reader->read_batch(batch);
    } catch (...) {
      error = std::current_exception();
    }
    o.statistics = reader->statistics();
    if (error) std::rethrow_exception(error);
    for (const auto r : batch) o.initials += r.empty() ? '-' : static_cast<char>(r[0]);
  }
}

template <class Reader = leat::tfrecord_reader>
outcome read(const std::string& path, typename Reader::options_type options) {
  outcome o;
  o.error = leat::block_on(message_of(read_into<Reader>(o, path, options)));
  return o;
}

// Like read(), but for a file in memory.
outcome read_bytes(const std::string& bytes, leat::tfrecord_reader_options options) {
  outcome o;
  leat::sim::world w(1);
  w.files().write_file("/f", bytes);
  w.run([&](leat::sim::world&) -> task<> {
    o.error = co_await message_of(read_into<leat::tfrecord_reader>(o, "/f", options));
  });
  return o;
}

leat::tfrecord_reader_options with(corruption_policy policy) {
  leat::tfrecord_reader_options o;
  o.corruption.policy = policy;
  return o;
}

TEST_CASE("corruption: skips and reports a corrupt payload") {
  const temp_dir dir;
  const texts all = records(5);
  std::string bytes = framed(all);
  bytes[2 * frame + 50] ^= 1;
  const std::string path = dir.write("f", bytes);
  for (const auto policy : {corruption_policy::skip_record, corruption_policy::resync}) {
    const outcome o = read(path, with(policy));
    CHECK(o.error.empty());
    CHECK(o.initials == without(all, {2}));
    REQUIRE(o.reports.size() == 1);
    const corruption_report& r = o.reports[0];
    CHECK(r.path == path);
    CHECK(r.offset == 2 * frame);
    CHECK(r.index == 2);
    CHECK(r.skipped == frame);
    CHECK(r.expected_crc);
    CHECK(r.actual_crc);
    CHECK(r.expected_crc != r.actual_crc);
    CHECK(contains(r.what, "payload"));
    CHECK_FALSE(r.transient);
    CHECK(o.statistics.records == 4);
    CHECK(o.statistics.reports == 1);
    CHECK(o.statistics.skipped == frame);
  }
}

LEAT_REAL_TIME_TEST("corruption: fails by default, and the error repeats") {
  const temp_dir dir;
  std::string bytes = framed(records(5));
  bytes[2 * frame + 50] ^= 1;
  const std::string path = dir.write("f", bytes);
  auto reader = co_await leat::tfrecord_reader::open(path);
  leat::record_batch batch;
  REQUIRE(co_await reader->read_batch(batch));
  CHECK(batch.size() == 2);
  const std::string said = co_await message_of(reader->read_batch(batch), errc::data_loss);
  CHECK(contains(said, "record 2 at offset 232"));
  CHECK(co_await message_of(reader->read_batch(batch), errc::data_loss) == said);
  CHECK(reader->position().index == 2);
}

TEST_CASE("corruption: resync finds the next record after a corrupt length") {
  const temp_dir dir;
  const texts all = records(6);
  std::string bytes = framed(all);
  bytes[2 * frame + 1] ^= 1;
  const std::string path = dir.write("f", bytes);
  const outcome skipped = read(path, with(corruption_policy::skip_record));
  CHECK(skipped.initials == "ab");
  CHECK(contains(skipped.error, "corruption_policy::resync"));
  for (const std::size_t chunk : {7U, 100U, 256U, 1000U}) {
    auto options = with(corruption_policy::resync);
    options.read.chunk_size = chunk;
    const outcome o = read(path, options);
    REQUIRE(o.error.empty());
    REQUIRE(o.initials == without(all, {2}));
    REQUIRE(o.reports.size() == 1);
    CHECK(o.reports[0].offset == 2 * frame);
    CHECK(o.reports[0].skipped == frame);
    CHECK(o.statistics.skipped == frame);
  }
}

TEST_CASE("corruption: resync is not taken in by what only looks like a record") {
  const temp_dir dir;
  texts all = records(4);
  // The damaged record contains a header whose record would end after the following records.
  const std::string decoy = framed({std::string(150, '!')}).substr(0, 12);
  all[1].replace(20, decoy.size(), decoy);
  std::string bytes = framed(all);
  bytes[frame + 1] ^= 1;
  const outcome o = read(dir.write("f", bytes), with(corruption_policy::resync));
  CHECK(o.error.empty());
  CHECK(o.initials == without(all, {1}));
  REQUIRE(o.reports.size() == 1);
  CHECK(o.reports[0].skipped == frame);
}

TEST_CASE("corruption: resync finds records inside and after thousands of similar headers") {
  const texts all = records(4);
  const std::string header = framed({std::string(20000, '!')}).substr(0, 12);
  std::string decoys(12, '\xff');
  for (int i = 0; i < 4000; ++i) decoys += header;
  // The lengths in most of these headers end before c, in c or after d.
  const std::string good = framed({all[2], all[3]});
  const std::string bytes = framed({all[0], all[1]}) + decoys + good;
  // The lengths in all headers end after d, within the file.
  const std::string inside = framed({all[0], all[1]}) + std::string(12, '\xff') + header + header +
                             good + std::string(25000, '.');
  for (const std::size_t chunk : {1000U, 30000U, 1U << 20}) {
    auto options = with(corruption_policy::resync);
    options.read.chunk_size = chunk;
    const outcome behind = read_bytes(bytes, options);
    CHECK(behind.error.empty());
    CHECK(behind.initials == without(all, {}));
    REQUIRE(behind.reports.size() == 1);
    CHECK(behind.reports[0].skipped == decoys.size());
    const outcome within = read_bytes(inside, options);
    CHECK(within.error.empty());
    CHECK(within.initials == without(all, {}));
    REQUIRE(within.reports.size() == 2);
    CHECK(within.reports[0].skipped == 36);
    CHECK(within.reports[1].skipped == 25000);
  }
}

TEST_CASE("corruption: resync finds a record longer than one read") {
  for (const std::size_t size : {999U, 1000U, 1009U, 1024U, 1280U, 3000U, 5000U}) {
    texts all = {"a", std::string(size, 'b'), std::string(size, 'c'), "d", std::string(size, 'e')};
    std::string bytes = framed(all);
    bytes[1] ^= 1;                               // the length of a
    bytes[17 + 16 + size + 12 + size / 2] ^= 1;  // the payload of c
    bytes[17 + 2 * (16 + size)] ^= 1;            // the length of d
    for (const std::size_t chunk : {1U, 300U, 1000U}) {
      auto options = with(corruption_policy::resync);
      options.read.chunk_size = chunk;
      for (const bool direct : {false, true}) {
        options.read.direct = direct;
        const outcome o = read_bytes(bytes, options);
        REQUIRE(o.error.empty());
        REQUIRE(o.initials == "be");
        REQUIRE(o.reports.size() == 2);  // a; c and d, because no header follows c
      }
    }
  }
}

TEST_CASE("corruption: max_held limits the memory of resync in a compressed file") {
  const temp_dir dir;
  texts all = {"a", std::string(3000, 'b'), std::string(2000, 'c')};
  std::string bytes = framed(all);
  bytes[1] ^= 1;  // the length of a
  for (const std::uint64_t held : {1999U, 2000U, 2999U, 3000U}) {
    auto options = with(corruption_policy::resync);
    options.corruption.max_held = held;
    CHECK(read(dir.write("plain", bytes), options).initials == "bc");
    options.compression = leat::compression::gzip;
    const outcome o = read(dir.write("gzip", leat_test::zlib_deflated(bytes)), options);
    CHECK(o.error.empty());
    CHECK(o.initials == (held >= 3000 ? "bc" : held >= 2000 ? "c" : ""));
    REQUIRE(o.reports.size() == 1);
    CHECK(o.reports[0].skipped == (held >= 3000 ? 17U : held >= 2000 ? 17U + 3016U : bytes.size()));
    const std::string said =
        "; possible record at offset 17 is above the limit "
        "corruption_options::max_held: the search continues inside it";
    CHECK(o.reports[0].what.ends_with(said) == (held < 3000));
  }
}

TEST_CASE("corruption: resync with damage at the end") {
  const temp_dir dir;
  const texts all = records(3);
  std::string bytes = framed(all);
  bytes[2 * frame] ^= 1;
  const outcome o = read(dir.write("f", bytes), with(corruption_policy::resync));
  CHECK(o.error.empty());
  CHECK(o.initials == "ab");
  REQUIRE(o.reports.size() == 1);
  CHECK(o.reports[0].skipped == frame);
  const outcome cut =
      read(dir.write("cut", framed(all).substr(0, 2 * frame + 5)), with(corruption_policy::resync));
  CHECK(cut.initials == "ab");
  REQUIRE(cut.reports.size() == 1);
  CHECK(cut.reports[0].skipped == 5);
}

TEST_CASE("corruption: skip_file skips the rest of the file") {
  const temp_dir dir;
  std::string bytes = framed(records(5));
  bytes[frame + 50] ^= 1;
  const outcome o = read(dir.write("f", bytes), with(corruption_policy::skip_file));
  CHECK(o.error.empty());
  CHECK(o.initials == "a");
  REQUIRE(o.reports.size() == 1);
  CHECK(o.reports[0].skipped == 4 * frame);
}

TEST_CASE("corruption: skips a record above the limit") {
  const temp_dir dir;
  texts all = records(4);
  all[1] = std::string(1000, 'b');
  auto options = with(corruption_policy::skip_record);
  options.max_record_size = 500;
  const outcome o = read(dir.write("f", framed(all)), options);
  CHECK(o.initials == "acd");
  REQUIRE(o.reports.size() == 1);
  CHECK(o.reports[0].skipped == 1016);
}

TEST_CASE("corruption: fails after max_reports reports") {
  const temp_dir dir;
  std::string bytes = framed(records(6));
  for (const std::size_t i : {1U, 2U, 4U}) bytes[i * frame + 50] ^= 1;
  auto options = with(corruption_policy::skip_record);
  options.corruption.max_reports = 2;
  const outcome o = read(dir.write("f", bytes), options);
  CHECK(o.initials == "ad");
  CHECK(o.reports.size() == 2);
  CHECK(contains(o.error, "2 earlier reports reach the limit corruption_options::max_reports"));
}

TEST_CASE("corruption: skips a line above the limit to its end") {
  const temp_dir dir;
  const std::string path =
      dir.write("f", "a\n" + std::string(5000, 'b') + "\nc\r\n" + std::string(100, 'd') + "\ne");
  leat::line_reader_options options;
  options.max_line_size = 99;
  options.corruption.policy = corruption_policy::skip_record;
  for (const std::size_t chunk : {3U, 64U, 1000U, 1U << 20}) {
    options.read.chunk_size = chunk;
    const outcome o = read<leat::line_reader>(path, options);
    REQUIRE(o.error.empty());
    REQUIRE(o.initials == "ace");
    REQUIRE(o.reports.size() == 2);
    CHECK(o.reports[0].offset == 2);
    CHECK(o.reports[0].skipped == 5001);
    CHECK(o.reports[1].index == 3);
    CHECK(o.reports[1].skipped == 101);
  }
}

TEST_CASE("corruption: resync loses no record and returns no wrong one for any flipped bit") {
  const texts all = records(4);
  const std::string whole = framed(all);
  for (std::size_t bit = 0; bit < 8 * whole.size(); ++bit) {
    std::string bytes = whole;
    bytes[bit / 8] = static_cast<char>(bytes[bit / 8] ^ (1 << bit % 8));
    const outcome o = read_bytes(bytes, with(corruption_policy::resync));
    REQUIRE(o.error.empty());
    REQUIRE(o.initials == without(all, {bit / 8 / frame}));
    REQUIRE(o.reports.size() == 1);
    REQUIRE(o.reports[0].offset == bit / 8 / frame * frame);
  }
}

TEST_CASE("corruption: errors and reports do not contain record data") {
  const temp_dir dir;
  const std::string secret = "PASSWORD";
  std::string bytes = framed({secret, secret, secret});
  bytes[3 * 24 - 1] ^= 1;  // checksum of the third payload
  bytes[24] ^= 1;          // length of the second
  const std::string damaged = dir.write("damaged", bytes);
  const std::string cut = dir.write("cut", framed({secret}).substr(0, 20));
  const std::string text = dir.write("text", secret + secret + secret + "\n");
  std::vector<outcome> all;
  for (const auto policy : {corruption_policy::fail, corruption_policy::resync}) {
    for (const std::string& path : {damaged, cut, text}) all.push_back(read(path, with(policy)));
    leat::line_reader_options lines;
    lines.max_line_size = 10;
    lines.corruption.policy = policy;
    all.push_back(read<leat::line_reader>(text, lines));
  }
  std::size_t told = 0;
  for (const outcome& o : all) {
    CHECK_FALSE(contains(o.error, secret));
    if (!o.error.empty()) ++told;
    for (const corruption_report& r : o.reports) {
      CHECK_FALSE(contains(r.what, secret));
      ++told;
    }
  }
  CHECK(told == 8);
}

TEST_CASE("corruption: a transient error is reread, delivered and reported") {
  const texts all = records(20);
  std::uint64_t healed = 0;
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    leat::sim::world w(seed, {.files = {.faults = {.bit_flip = 0.2}}});
    w.files().write_file("/f", framed(all));
    outcome o;
    w.run([&](leat::sim::world&) -> task<> {
      leat::tfrecord_reader_options options;
      options.read.chunk_size = 300;
      o.error = co_await message_of(read_into<leat::tfrecord_reader>(o, "/f", options));
    });
    // A bit may flip in both reads of a record. Then the reader reports an error, as for a damaged
    // file.
    if (o.error.empty()) REQUIRE(o.initials == without(all, {}));
    REQUIRE(without(all, {}).starts_with(o.initials));
    REQUIRE(o.reports.size() == o.statistics.transient);
    for (const corruption_report& r : o.reports) {
      REQUIRE(r.transient);
      REQUIRE(r.offset % frame == 0);
    }
    healed += o.statistics.transient;
  }
  CHECK(healed > 50);
}

TEST_CASE("quarantine_log: appends a line of JSON for each report") {
  const temp_dir dir;
  std::string bytes = framed(records(5));
  bytes[frame + 50] ^= 1;
  bytes[3 * frame + 1] ^= 1;
  const std::string path = dir.write("f\n\"x\"", bytes);
  const std::string log_path = dir / "log.jsonl";
  for (int round = 0; round < 2; ++round) {
    leat::block_on([](std::string file, std::string where) -> task<> {
      leat::tfrecord_reader_options options;
      options.corruption.policy = corruption_policy::resync;
      options.corruption.log = co_await leat::quarantine_log::open(where);
      auto reader = co_await leat::tfrecord_reader::open(file, options);
      leat::record_batch batch;
      for (bool more = true; more;) more = co_await reader->read_batch(batch);
      CHECK(options.corruption.log->reports() == 2);
    }(path, log_path));
  }
  std::vector<nlohmann::json> lines;
  for (const std::string& line : leat::block_on(leat_test::read_lines(log_path))) {
    lines.push_back(nlohmann::json::parse(line));
  }
  REQUIRE(lines.size() == 4);
  CHECK(lines[0] == lines[2]);
  CHECK(lines[0]["path"] == path);
  CHECK(lines[0]["offset"] == frame);
  CHECK(lines[0]["record"] == 1);
  CHECK(lines[0]["skipped"] == frame);
  CHECK(lines[0]["transient"] == false);
  CHECK(lines[0]["expected"].get<std::string>().starts_with("0x"));
  CHECK(lines[1]["record"] == 3);
}

TEST_CASE("corruption: memory limits of a search are settings of the reader") {
  leat::tfrecord_reader_options o;
  o.corruption.max_held = 9;
  const auto settings = [&o] {
    std::map<std::string, std::uint64_t> all;
    leat::tfrecord_reader::for_each_setting(
        o, [&all](const char* name, std::uint64_t value) { all[name] = value; });
    return all;
  };
  CHECK(settings().at("max_record_size") == o.max_record_size);
  CHECK(settings().at("corruption.policy") == 0);
  CHECK(!settings().contains("corruption.max_held"));
  o.corruption.policy = corruption_policy::resync;
  CHECK(settings().at("corruption.max_held") == 9);
}

}  // namespace corruption_test
