// An indexed_reader and records that it cannot deliver.

#include <algorithm>
#include <set>

#include "io/index/indexed_reader_support.hpp"
#include "leat/base/permutation.hpp"
#include "leat/io/reader/quarantine_log.hpp"
#include "support/effort.hpp"

using namespace indexed_reader_test;
using leat_test::scaled_count;

namespace indexed_reader_damage_test {

constexpr std::uint64_t records = 60;
constexpr std::uint64_t seed = 5;

indexed_reader_options one_epoch(leat::corruption_policy policy) {
  indexed_reader_options o;
  o.num_epochs = 1;
  o.seed = seed;
  o.batch_size = 10;
  o.corruption.policy = policy;
  return o;
}

// Returns the position of a record in the epoch.
std::uint64_t place_of(std::uint64_t global_index) {
  return leat::permutation(records, seed).index_of(global_index);
}

// Flips a bit in the payload of each damaged record. A damaged header would prevent even an index.
data make_damaged(world& w, const numbers& damaged) {
  data d = data::make(w, numbers{20, 40});
  std::size_t global_index = 0;
  for (const std::string& path : d.paths) {
    std::string bytes = w.files().read_file(path).value();
    for (std::size_t at = 0; at < bytes.size(); ++global_index) {
      if (std::ranges::count(damaged, global_index) > 0)
        bytes[at + leat::tfrecord_header_size] ^= 1;
      at += leat::tfrecord_overhead + d.records[global_index].size();
    }
    w.files().write_file(path, bytes);
  }
  return d;
}

numbers order_without(const numbers& left_out) {
  numbers all;
  for (std::uint64_t i = 0; i < records; ++i) {
    const std::uint64_t global_index = leat::permutation(records, seed)[i];
    if (std::ranges::count(left_out, global_index) == 0) all.push_back(global_index);
  }
  return all;
}

TEST_CASE("indexed_reader: delivers the records before a corrupt one, then reports it") {
  for (std::uint64_t global_index = 0; global_index < records; ++global_index) {
    in_world([&](world& w) -> task<> {
      const data d = make_damaged(w, numbers{global_index});
      const auto reader = co_await open(d, one_epoch(leat::corruption_policy::fail));
      reading before;
      for (int again = 0; again < 3; ++again) {
        const outcome o = co_await outcome_of(read(*reader, d, before));
        REQUIRE(o.code == errc::data_loss);
        const std::string record =
            std::to_string(global_index < 20 ? global_index : global_index - 20);
        REQUIRE(contains(
            o.text, d.paths[global_index < 20 ? 0 : 1] + ", record " + record + " at offset "));
        REQUIRE(contains(o.text, "checksum of the payload of "));
        numbers expected = order_without({});
        expected.resize(static_cast<std::size_t>(place_of(global_index)));
        REQUIRE(before.global_indexes == expected);
        REQUIRE(reader->state().position == place_of(global_index));
      }
    });
  }
}

TEST_CASE("indexed_reader: skips and reports corrupt records") {
  for (const auto policy :
       {leat::corruption_policy::skip_record, leat::corruption_policy::resync}) {
    in_world([&](world& w) -> task<> {
      const numbers damaged = {3, 4, 25, 59};
      const data d = make_damaged(w, damaged);
      std::vector<leat::corruption_report> reports;
      indexed_reader_options o = one_epoch(policy);
      o.corruption.on_report = [&](const leat::corruption_report& r) { reports.push_back(r); };
      o.corruption.log = co_await leat::quarantine_log::open("/log");
      const auto reader = co_await open(d, o);
      reading all;
      co_await read(*reader, d, all);
      CHECK(all.global_indexes == order_without(damaged));
      CHECK(reader->statistics().reports == 4);
      CHECK(reader->statistics().records == records - 4);
      REQUIRE(reports.size() == 4);
      CHECK(o.corruption.log->reports() == 4);
      std::set<std::string> places;
      for (const leat::corruption_report& r : reports) {
        places.insert(r.path + " " + std::to_string(r.index));
        CHECK(r.expected_crc != r.actual_crc);
        CHECK(r.skipped > leat::tfrecord_overhead);
        CHECK_FALSE(r.transient);
      }
      const std::set<std::string> expected = {"/0.tfrecord 3", "/0.tfrecord 4", "/1.tfrecord 5",
                                              "/1.tfrecord 39"};
      CHECK(places == expected);
    });
  }
}

TEST_CASE("indexed_reader: skips a batch of corrupt records up to max_reports") {
  in_world([](world& w) -> task<> {
    numbers damaged;
    for (std::uint64_t i = 10; i < 33; ++i) damaged.push_back(leat::permutation(records, seed)[i]);
    const data d = make_damaged(w, damaged);
    indexed_reader_options o = one_epoch(leat::corruption_policy::skip_record);
    const auto whole = co_await open(d, o);
    reading all;
    co_await read(*whole, d, all);
    CHECK(all.global_indexes == order_without(damaged));

    o.corruption.max_reports = 12;
    const auto limited = co_await open(d, o);
    reading some;
    const outcome r = co_await outcome_of(read(*limited, d, some));
    CHECK(r.code == errc::data_loss);
    CHECK(contains(r.text, "; 12 earlier reports reach the limit"));
    CHECK(some.global_indexes.size() == 10);
    CHECK(limited->statistics().reports == 12);
    CHECK(limited->state().position == 22);
  });
}

TEST_CASE("indexed_reader: a record above the limit is refused without being read") {
  in_world([](world& w) -> task<> {
    data d = data::make(w, numbers{20, 40});
    d.records[30] = std::string(5000, 'x');
    const texts second(d.records.begin() + 20, d.records.end());
    w.files().write_file(d.paths[1], leat_test::framed(second));
    indexed_reader_options o = one_epoch(leat::corruption_policy::fail);
    o.file.max_record_size = 1000;
    const auto strict = co_await open(d, o);
    reading some;
    const outcome r = co_await outcome_of(read(*strict, d, some));
    CHECK(r.code == errc::resource_exhausted);
    CHECK(contains(r.text, "/1.tfrecord, record 10 at offset "));
    CHECK(contains(r.text, "length of 5000 bytes is above the limit max_record_size of 1000"));
    CHECK(some.global_indexes.size() == place_of(30));

    o.corruption.policy = leat::corruption_policy::skip_record;
    const auto tolerant = co_await open(d, o);
    reading all;
    co_await read(*tolerant, d, all);
    CHECK(all.global_indexes == order_without({30}));
  });
}

TEST_CASE("indexed_reader: reports a file that was replaced after it was indexed") {
  in_world([](world& w) -> task<> {
    const data d = data::make(w, numbers{20, 40});
    leat::tfrecord_index_builder builder;
    for (std::size_t i = 0; i < 20; ++i) builder.add(d.records[i].size() + (i == 7 ? 1 : 0));
    leat::file f = co_await leat::file::open(d.paths[0]);
    const leat::tfrecord_fingerprint fingerprint{.size = builder.end_offset()};
    std::vector<std::unique_ptr<leat::tfrecord_file>> files;
    files.push_back(std::make_unique<leat::tfrecord_file>(
        std::move(f), std::move(builder).finish(fingerprint), leat::tfrecord_file_options{}));
    indexed_reader reader(std::move(files), one_epoch(leat::corruption_policy::skip_record));
    leat::record_selection batch;
    outcome o;
    std::size_t given = 0;
    for (bool more = true; more;) {
      more = false;
      o = co_await outcome_of(
          [](indexed_reader& from, leat::record_selection& to, bool& again) -> task<> {
            again = co_await from.read_batch(to);
          }(reader, batch, more));
      given += batch.size();
    }
    CHECK(o.code == errc::data_loss);  // the last record exceeds the file
    CHECK(contains(o.text, "file became shorter while it was read"));
    CHECK(given < 20);
  });
}

TEST_CASE("indexed_reader: delivers a record after a transient error") {
  std::uint64_t transient = 0;
  std::uint64_t told = 0;
  for (std::uint64_t s = 0; s < scaled_count(200); ++s) {
    in_world(
        [&](world& w) -> task<> {
          const data d = data::make(w, numbers{20, 40});
          std::vector<std::unique_ptr<leat::tfrecord_file>> files;
          for (std::size_t n = 0; n < 2; ++n) {  // without reads, which could have faults
            leat::tfrecord_index_builder builder;
            for (std::size_t i = n * 20; i < 20 + n * 40; ++i) builder.add(d.records[i].size());
            leat::file f = co_await leat::file::open(d.paths[n]);
            const leat::tfrecord_fingerprint fingerprint{.size = builder.end_offset()};
            files.push_back(std::make_unique<leat::tfrecord_file>(
                std::move(f), std::move(builder).finish(fingerprint),
                leat::tfrecord_file_options{}));
          }
          std::uint64_t reported = 0;
          indexed_reader_options o = one_epoch(leat::corruption_policy::skip_record);
          o.corruption.on_report = [&](const leat::corruption_report& r) {
            if (r.transient) ++reported;
          };
          indexed_reader reader(std::move(files), o);
          reading all;
          co_await read(reader, d, all);
          const leat::indexed_reader_statistics& s2 = reader.statistics();
          REQUIRE(all.global_indexes.size() + s2.reports == records);
          REQUIRE(reported == s2.transient);
          transient += s2.transient;
          told += s2.reports;
        },
        s, {.files = {.faults = {.bit_flip = 0.1}}});
  }
  CHECK(transient > scaled_count(200));
  CHECK(told > scaled_count(20));
}

TEST_CASE("indexed_reader: reports a failed system call and stays usable, for every call") {
  std::size_t failed = 0;
  bool reached = true;
  for (std::uint64_t n = 1; reached; ++n) {
    world w(n, {.files = {.plan = leat::sim::planned_fault{n, leat::sim::fault::io_error}}});
    w.run([&](world& here) -> task<> {
      const data d = data::make(here, numbers{20, 40});
      std::unique_ptr<indexed_reader> reader;
      const auto open_it = [](std::unique_ptr<indexed_reader>& to, const data& of) -> task<> {
        to = co_await open(of, one_epoch(leat::corruption_policy::fail));
      };
      static_cast<void>(co_await outcome_of(open_it(reader, d)));
      if (!reader) co_await open_it(reader, d);
      reading all;
      const outcome o = co_await outcome_of(read(*reader, d, all));
      if (o.code != errc{}) {
        ++failed;
        REQUIRE(contains(o.text, ".tfrecord, record "));
        REQUIRE(contains(o.text, "cannot read"));
        co_await read(*reader, d, all);
      }
      REQUIRE(all.global_indexes == order_without({}));
    });
    reached = w.files().calls() >= n;
  }
  CHECK(failed > 5);
}

TEST_CASE("indexed_reader: reports a file that becomes shorter") {
  in_world([](world& w) -> task<> {
    const data d = data::make(w, numbers{20, 40});
    const auto reader = co_await open(d, one_epoch(leat::corruption_policy::skip_record));
    w.files().truncate(d.paths[1], 100);
    reading all;
    const outcome o = co_await outcome_of(read(*reader, d, all));
    CHECK(o.code == errc::data_loss);
    CHECK(contains(o.text, "/1.tfrecord, record "));
    CHECK(contains(o.text, "file became shorter while it was read"));
  });
}

}  // namespace indexed_reader_damage_test
