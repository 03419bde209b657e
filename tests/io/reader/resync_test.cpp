// Resync continues after records that are torn, above the limit, or have a damaged payload. It
// finds the records that a slow reader by the definition finds, in plain files, compressed files
// and pipes.

#include <iterator>

#include "leat/base/random.hpp"
#include "leat/io/reader/tfrecord_reader.hpp"
#include "leat/sim/world/world.hpp"
#include "support/effort.hpp"
#include "support/leat_test.hpp"
#include "support/records/record_bytes.hpp"
#include "support/records/slow_readers.hpp"
#include "support/records/texts.hpp"
#include "support/records/zlib_oracle.hpp"

namespace resync_test {

using leat::corruption_policy;
using leat_test::framed;
using leat_test::header_of;
using leat_test::left_out;

enum class way { plain, gzip, pipe };
constexpr way ways[] = {way::plain, way::gzip, way::pipe};

struct outcome {
  leat_test::read_outcome read;
  std::vector<left_out> reports;
  std::vector<std::string> said;
  std::uint64_t calls = 0;  // calls of the file system
};

outcome read(const std::string& bytes, way how, leat::tfrecord_reader_options options,
             corruption_policy policy = corruption_policy::resync) {
  outcome o;
  options.corruption.policy = policy;
  options.corruption.on_report = [&o](const leat::corruption_report& r) {
    o.reports.push_back({r.offset, r.index, r.skipped});
    o.said.push_back(r.what);
  };
  leat::sim::world w(1);
  if (how == way::pipe) {
    w.files().make_pipe("/f");
    w.files().write_pipe("/f", bytes);
    w.files().close_pipe("/f");
  } else {
    w.files().write_file("/f", how == way::gzip ? leat_test::zlib_deflated(bytes) : bytes);
  }
  if (how == way::gzip) options.compression = leat::compression::gzip;
  w.run([&](leat::sim::world&) -> task<> {
    o.read = co_await leat_test::read_outcome_of<leat::tfrecord_reader>("/f", options);
  });
  o.calls = w.files().calls();
  return o;
}

std::string torn(std::size_t size, std::size_t there) {
  return framed({std::string(size, 'z')}).substr(0, there);
}

const std::vector<std::string> behind = {"one", "two", "three", "four"};

// Checks that damage after the first record causes no other loss.
void check_all_but(const std::string& damage, const std::string& told,
                   leat::tfrecord_reader_options options = {}, bool above_limit = false) {
  const std::string first = framed({"first"});
  const std::string bytes = first + damage + framed(behind);
  for (const way how : ways) {
    for (const std::size_t chunk : {1U, 50U, 4096U, 1U << 19}) {
      INFO(told << ", way " << static_cast<int>(how) << ", chunks of " << chunk);
      options.read.chunk_size = chunk;
      const outcome o = read(bytes, how, options);
      REQUIRE(o.read.error.empty());
      REQUIRE(o.read.records == std::vector<std::string>{"first", "one", "two", "three", "four"});
      REQUIRE(o.read.indices == std::vector<std::uint64_t>{0, 2, 3, 4, 5});
      REQUIRE(o.reports == std::vector<left_out>{{first.size(), 1, damage.size()}});
      const bool is_beyond_end = o.said[0].starts_with("truncated after ");  // the size is known
      REQUIRE((o.said[0].starts_with(told) || (above_limit && is_beyond_end)));
    }
  }
}

TEST_CASE("resync: a torn record that exceeds the file loses no other record") {
  check_all_but(torn(1000000, 1000), "truncated after ");
  check_all_but(torn(5000, 100), "truncated after ");
  check_all_but(torn(5000, leat::tfrecord_header_size), "truncated after ");
  check_all_but(torn(5000, 100) + torn(6000, 300), "truncated after ");
}

TEST_CASE("resync: a record torn within the file loses no other record") {
  check_all_but(torn(100, 50), "checksum of the payload of 100 bytes is wrong");
  check_all_but(torn(100, 50) + torn(80, 30), "checksum of the payload of 100 bytes is wrong");
}

TEST_CASE("resync: a record with a torn header loses no other record") {
  check_all_but(torn(100, 7), "checksum of the length is wrong");
}

TEST_CASE("resync: a length above the limit loses no other record") {
  const std::string some(1000, 'z');
  const std::string above = " bytes is above the limit max_record_size of ";
  constexpr std::uint64_t gib = std::uint64_t{1} << 30;
  check_all_but(header_of(2 * gib) + some, "length of 2147483648" + above, {}, true);
  check_all_but(header_of(4 * gib * gib) + some, "length of 4611686018427387904" + above, {}, true);
  check_all_but(header_of(UINT64_MAX) + some, "length of 18446744073709551615" + above, {}, true);
  check_all_but(header_of(UINT64_MAX - 20) + some, "length of 18446744073709551595" + above, {},
                true);
  check_all_but(header_of(1003) + some, "length of 1003" + above, {.max_record_size = 900});
  check_all_but(header_of(4 * gib * gib) + some, "truncated after ",
                {.max_record_size = UINT64_MAX});
  check_all_but(header_of(UINT64_MAX - 20) + some, "truncated after ",
                {.max_record_size = UINT64_MAX});
}

// Without the checksum of the payload, a torn record inside the file would not be detected.
TEST_CASE("resync: loses no other record if only headers are checked") {
  check_all_but(torn(5000, 100), "truncated after ",
                {.checks = leat::tfrecord_checks::header_only});
}

TEST_CASE("resync: accepts no record inside a record with a valid header") {
  const std::string inner = framed({"within"});
  const std::string first = framed({"first"});
  std::string damaged = framed({inner + "!"});
  damaged[damaged.size() - 5] = '?';
  const std::string large = framed({inner + std::string(2000, '!')});
  for (const way how : ways) {
    for (const std::string& last : {framed({"last"}), framed({std::string(3000, 'l')})}) {
      const outcome o = read(first + damaged + large + last, how, {.max_record_size = 1000});
      const bool delivered = last.size() < 1000;
      CHECK(o.read.records.size() == (delivered ? 2 : 1));
      std::vector<left_out> expected = {{first.size(), 1, damaged.size()},
                                        {first.size() + damaged.size(), 2, large.size()}};
      if (!delivered) {
        expected.push_back({first.size() + damaged.size() + large.size(), 3, last.size()});
      }
      CHECK(o.reports == expected);
    }
  }
}

TEST_CASE("resync: searches inside a record above max_held in a compressed file or a pipe") {
  const std::string large = framed({framed({"within"}) + std::string(5000, '!')});
  const std::string bytes = large + framed({"last"});
  leat::tfrecord_reader_options options{.max_record_size = 1000};
  options.read.chunk_size = 100;
  for (const way how : ways) {
    options.corruption.max_held = large.size();
    CHECK(read(bytes, how, options).read.records == std::vector<std::string>{"last"});
    options.corruption.max_held = large.size() - 1;
    const outcome o = read(bytes, how, options);
    if (how == way::plain) {
      CHECK(o.read.records == std::vector<std::string>{"last"});
    } else {
      CHECK(o.read.records == std::vector<std::string>{"within", "last"});
      REQUIRE(o.reports.size() == 2);
      CHECK(o.reports[0] == left_out{0, 0, leat::tfrecord_header_size});
      CHECK(
          o.said[0].ends_with("; possible record at offset 0 is above the limit "
                              "corruption_options::max_held: the search continues inside it"));
    }
  }
}

TEST_CASE("resync: skip_record reports the skipped size, not the length in the header") {
  const std::string bytes = framed({"first"}) + header_of(std::uint64_t{1} << 40) + "abc";
  for (const way how : ways) {
    const outcome o = read(bytes, how, {}, corruption_policy::skip_record);
    CHECK(o.read.error.empty());
    CHECK(o.read.records.size() == 1);
    CHECK(o.reports == std::vector<left_out>{{21, 1, 15}});
  }
  const std::string two = framed({"first", std::string(1000, 'b'), std::string(2000, 'c'), "d"});
  std::string wrong = two;
  wrong[wrong.size() - 5] ^= 1;
  leat::tfrecord_reader_options options{.max_record_size = 900};
  options.read.chunk_size = 100;
  const std::vector<left_out> both = {{21, 1, 1016}, {1037, 2, 2016}};
  const std::vector<left_out> all = {{21, 1, 1016}, {1037, 2, 2016}, {3053, 3, 17}};
  for (const way how : ways) {
    CHECK(read(two, how, options, corruption_policy::skip_record).reports == both);
    CHECK(read(wrong, how, options, corruption_policy::skip_record).reports == all);
  }
}

// Only statistics().left_over reports a tolerated tail.
TEST_CASE("resync: a torn record before intact records is not a tolerated tail") {
  for (const std::string& damage :
       {torn(1000000, 1000), torn(5000, 100), torn(5000, leat::tfrecord_header_size),
        torn(5000, 100) + torn(6000, 300)}) {
    check_all_but(damage, "truncated after ", {.tolerate_truncated_tail = true});
  }
}

TEST_CASE("resync: does not skip a record above max_held after a torn one") {
  leat::tfrecord_reader_options options;
  options.corruption.max_held = 100;
  const std::string large(3000, 'l');
  const std::string damage = torn(1'000'000, 50);
  for (const bool tolerated : {false, true}) {
    options.tolerate_truncated_tail = tolerated;
    for (const way how : ways) {
      const outcome o = read(framed({"first"}) + damage + framed({large, "last"}), how, options);
      INFO("way " << static_cast<int>(how) << ", tolerated " << tolerated);
      CHECK(o.read.error.empty());
      CHECK(o.read.records == std::vector<std::string>{"first", large, "last"});
      CHECK(o.reports == std::vector<left_out>{{21, 1, damage.size()}});
    }
  }
}

TEST_CASE("resync: a torn record before other torn records is not a tolerated tail") {
  std::string wrong = framed({"wrong"});
  wrong.back() ^= 1;
  for (const std::string& tail :
       {torn(1000000, 1000), torn(5000, 13), torn(5000, 12), torn(5000, 5),
        torn(5000, 100) + torn(6000, 300), torn(9000, 4000) + wrong, torn(9000, 40) + wrong}) {
    for (const way how : ways) {
      for (const std::size_t chunk : {1U, 50U, 4096U, 1U << 19}) {
        leat::tfrecord_reader_options options{.tolerate_truncated_tail = true};
        options.read.chunk_size = chunk;
        options.corruption.max_reports = 0;
        const outcome o = read(framed(behind) + tail, how, options);
        INFO("tail of " << tail.size() << ", way " << static_cast<int>(how) << "; "
                        << o.read.error);
        REQUIRE(o.read.error.empty());
        REQUIRE(o.read.records == behind);
        REQUIRE(o.reports.empty());
        REQUIRE(o.read.statistics.left_over == tail.size());
        REQUIRE(o.read.statistics.reports == 0);
        REQUIRE(o.read.end == framed(behind).size() + tail.size());
        REQUIRE(o.read.end_index == behind.size());
      }
    }
  }
}

TEST_CASE("resync: corruption after a torn record counts for max_reports") {
  leat::tfrecord_reader_options options{.tolerate_truncated_tail = true};
  options.corruption.max_reports = 1;
  const std::string bytes =
      framed({"first"}) + torn(100, 50) + framed(behind) + torn(5000, 100) + framed({"last"});
  for (const way how : ways) {
    const outcome o = read(bytes, how, options);
    CHECK(o.read.records == std::vector<std::string>{"first", "one", "two", "three", "four"});
    INFO(o.read.error);
    CHECK(
        contains(o.read.error,
                 "/f, record 6 at offset 150: truncated after 120 of 5016 bytes; 1 earlier reports "
                 "reach the limit corruption_options::max_reports: raise it to skip more"));
  }
}

TEST_CASE("resync: a stop during the search leaves the position at the corruption") {
  std::vector<left_out> reports;
  leat::tfrecord_reader_options options;
  options.corruption.policy = corruption_policy::resync;
  options.corruption.on_report = [&reports](const leat::corruption_report& r) {
    reports.push_back({r.offset, r.index, r.skipped});
  };
  leat::sim::world w(1);
  w.files().make_pipe("/f");
  w.files().write_pipe("/f", framed({"first"}) + std::string(50, 'z'));
  w.run([&](leat::sim::world& here) -> task<> {
    const auto reader = co_await leat::tfrecord_reader::open("/f", options);
    leat::record_batch batch;
    REQUIRE(co_await reader->read_batch(batch));
    const auto read_on = [](leat::tfrecord_reader& r, leat::record_batch& to) -> task<> {
      static_cast<void>(co_await r.read_batch(to));
    };
    leat::task_group group;
    group.spawn(read_on(*reader, batch));
    co_await leat::sleep_for(1s);  // virtual time; the reader waits for data
    group.request_stop();
    co_await group.join();
    CHECK(reader->position().offset == 21);
    CHECK(reader->position().index == 1);
    CHECK(reader->statistics().reports == 0);
    here.files().write_pipe("/f", framed(behind));
    here.files().close_pipe("/f");
    CHECK(co_await reader->read_batch(batch));
    CHECK(batch.size() == behind.size());
    CHECK(batch.position(0).offset == 71);
    CHECK(batch.position(0).index == 2);
    CHECK(reader->statistics().reports == 1);
  });
  CHECK(reports == std::vector<left_out>{{21, 1, 50}});
}

// Each of the following records is within the length that all previous headers state.
TEST_CASE("resync: the cost of torn records is proportional to the file, not to their lengths") {
  const std::string garbage(12, '\xff');
  struct workload {
    std::string damage;
    std::size_t promise;
    std::size_t chunk;
    std::uint64_t calls;  // calls for each damage
  };
  for (const auto& [damage, promise, chunk, calls] :
       {workload{garbage, 0, 1000, 2}, workload{header_of(100'000) + "zzz", 100'000, 1000, 5},
        workload{garbage + header_of(2'000'000) + "zzz", 2'000'000, 100'000, 6}}) {
    std::string bytes;
    for (int i = 0; i < 200; ++i) bytes += damage + framed({"whole"});
    bytes += std::string(promise, '.');
    for (const way how : ways) {
      leat::tfrecord_reader_options options;
      options.read.chunk_size = chunk;
      const outcome o = read(bytes, how, options);
      CHECK(o.read.error.empty());
      CHECK(o.read.records == std::vector<std::string>(200, "whole"));
      CHECK(o.reports.size() == (promise > 0 ? 201 : 200));
      CHECK(o.calls < 200 * calls + 5 * bytes.size() / chunk);
    }
  }
}

// Adds one of many kinds of damage, more than once.
std::string damaged_at_random(leat::random_engine& random) {
  std::string bytes;
  for (std::uint64_t i = 0, n = 1 + random.uniform_below(12); i < n; ++i) {
    std::string record = framed(
        {random.uniform_below(5) == 0
             ? framed({leat_test::noise(random.uniform_below(60), random()), "inner"})
             : leat_test::noise(random.uniform_below(random.uniform_below(4) == 0 ? 700 : 40),
                                random())});
    switch (random.uniform_below(7)) {
      case 0: record.resize(random.uniform_below(record.size())); break;
      case 1: record[random.uniform_below(record.size())] ^= 1; break;
      case 2: record = header_of(random.uniform_below(1500)); break;
      case 3: record = header_of(random()); break;
      default: break;
    }
    bytes += record;
  }
  return bytes;
}

// Returns true if the skipped rest of a file is a truncated record: either a part of a header, or a
// header with the length of a record that exceeds the file.
bool is_cut_off(std::string_view rest, std::uint64_t left_out, std::uint64_t max_record_size) {
  if (left_out < rest.size()) return false;
  if (rest.size() < leat::tfrecord_header_size) return true;
  const auto length = leat_test::tfrecord_length_in_front(rest);
  return length && *length <= max_record_size && *length + leat::tfrecord_overhead > rest.size();
}

TEST_CASE("resync: reads files with many kinds of corruption as defined") {
  leat::random_engine random(17);
  leat::tfrecord_reader_options options{.max_record_size = 600};
  for (std::uint64_t i = 0; i < leat_test::scaled_count(3000); ++i) {
    const std::string bytes = damaged_at_random(random);
    std::vector<left_out> reports;
    const auto expected = leat_test::slow_resync(bytes, options.max_record_size, reports);
    options.read.chunk_size =
        1 + static_cast<std::size_t>(random.uniform_below(random.uniform_below(2000) + 1));
    for (const way how : ways) {
      const outcome o = read(bytes, how, options);
      INFO("file " << i << ", way " << static_cast<int>(how) << "; " << o.read.error);
      REQUIRE(o.read.error.empty());
      REQUIRE(o.read.same_records(expected));
      REQUIRE(o.reports == reports);
    }
    // Repeats the test with a tolerated truncated record at the end.
    leat::tfrecord_reader_options tolerant = options;
    tolerant.tolerate_truncated_tail = true;
    std::uint64_t left_over = 0;
    if (!reports.empty() && is_cut_off(std::string_view(bytes).substr(reports.back().offset),
                                       reports.back().skipped, options.max_record_size)) {
      left_over = reports.back().skipped;
      reports.pop_back();
    }
    const outcome o = read(bytes, ways[i % std::size(ways)], tolerant);
    INFO("file " << i << " of " << bytes.size() << " bytes; " << o.read.error);
    REQUIRE(o.read.error.empty());
    REQUIRE(o.read.same_records(expected));
    REQUIRE(o.reports == reports);
    REQUIRE(o.read.statistics.left_over == left_over);
    REQUIRE(o.read.end == bytes.size());
  }
}

// The header at the end has 12 bytes. None of them are in view after they become part of the tail,
// and the memory ends with the file.
TEST_CASE("resync: does not read after the end of a torn tail") {
  const leat::detail::tfrecord_framing framing({}, "f");
  CHECK_FALSE(framing.declared_size({}, 0));
  leat::tfrecord_reader_options options{.tolerate_truncated_tail = true};
  const std::string first = framed({std::string(3900, 'f')});
  const std::string tail = torn(5000, 4096 - first.size() - 12) + header_of(20);
  const outcome o = read(first + tail, way::plain, options);
  CHECK(o.read.error.empty());
  CHECK(o.read.records.size() == 1);
  CHECK(o.read.statistics.left_over == tail.size());
}

}  // namespace resync_test
