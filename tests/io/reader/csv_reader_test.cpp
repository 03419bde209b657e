#include "leat/io/reader/csv_reader.hpp"

#include <span>

#include "fuzz/in_memory.hpp"
#include "leat/base/random.hpp"
#include "leat/codec/csv/csv_decoder.hpp"
#include "support/effort.hpp"
#include "support/leat_test.hpp"
#include "support/records/zlib_oracle.hpp"
#include "support/temp_dir.hpp"

namespace csv_reader_test {

using leat::corruption_policy;
using leat::csv_reader;
using leat::csv_reader_options;
using leat_test::read_in_memory;
using leat_test::read_outcome;
using texts = std::vector<std::string>;

texts records_of(std::string_view text, csv_reader_options options = {}) {
  const read_outcome o = read_in_memory<csv_reader>(text, std::move(options));
  CHECK(o.error == "");
  return o.records;
}

std::string error_of(std::string_view text, csv_reader_options options = {}) {
  return read_in_memory<csv_reader>(text, std::move(options)).error;
}

TEST_CASE("csv_reader: line ends inside quotes belong to the record") {
  CHECK(records_of("a,b\n1,\"two\nlines\"\n\"\r\n,\"\"\",2") ==
        texts{"a,b", "1,\"two\nlines\"", "\"\r\n,\"\"\",2"});
  CHECK(records_of("1,\"a\nb\"\n", {.quotes = false}) == texts{"1,\"a", "b\""});
}

TEST_CASE("csv_reader: LF, CR LF and CR end a record, and the end of the file does") {
  CHECK(records_of("a,b\r1,2\r3,4\r") == texts{"a,b", "1,2", "3,4"});
  CHECK(records_of("a,b\r\n1,2\r\n3,4") == texts{"a,b", "1,2", "3,4"});
  CHECK(records_of("a,b\n1,2\r3,4\n") == texts{"a,b", "1,2", "3,4"});
  CHECK(records_of("").empty());
  CHECK(records_of("a,") == texts{"a,"});
}

TEST_CASE("csv_reader: a byte order mark belongs to no record") {
  const read_outcome o = read_in_memory<csv_reader>("\xEF\xBB\xBF\"a\",b\n1,2\n", {});
  CHECK(o.records == texts{"\"a\",b", "1,2"});
  CHECK(o.offsets == std::vector<std::uint64_t>{3, 9});
  CHECK(records_of("\xEF\xBB\xBF").empty());
  CHECK(records_of("\xEF\xBB") == texts{"\xEF\xBB"});
}

TEST_CASE("csv_reader: blank lines are skipped, or are empty records") {
  const std::string text = "\na\n\r\n\nb\n\n";
  const read_outcome o = read_in_memory<csv_reader>(text, {});
  CHECK(o.records == texts{"a", "b"});
  CHECK(o.offsets == std::vector<std::uint64_t>{1, 6});
  CHECK(o.indices == std::vector<std::uint64_t>{0, 1});
  CHECK(records_of(text, {.skip_blank_lines = false}) == texts{"", "a", "", "", "b", ""});
}

TEST_CASE("csv_reader: skips header records, with line ends in quotes and with any quotes") {
  const read_outcome o =
      read_in_memory<csv_reader>("\"a\nb\",c\n1,2\n", {.skip_header_records = 1});
  CHECK(o.records == texts{"1,2"});
  CHECK(o.indices == std::vector<std::uint64_t>{1});
  CHECK(records_of("disks of 5\" and\n\"more\" text\na\n1\n", {.skip_header_records = 3}) ==
        texts{"1"});
  CHECK(records_of("a \"title\"", {.skip_header_records = 1}).empty());
  CHECK(records_of("a\n", {.skip_header_records = 9}).empty());
}

TEST_CASE("csv_reader: names the record and the byte of a wrong quote") {
  CHECK_THAT(error_of("a,b\n1,5\" x\n"),
             Catch::Contains("/f, record 1 at offset 4: byte 4: quote in an unquoted field"));
  CHECK_THAT(error_of("a,b\n1,\"x\n2,\"y\"\n"),
             Catch::Contains("/f, record 1 at offset 4: byte 8: quote in a quoted field"));
  CHECK_THAT(error_of("a,b\n1,\"x\n2,y\n"),
             Catch::Contains("/f, record 1 at offset 4: byte 3: quoted field has no closing"));
}

LEAT_REAL_TIME_TEST("csv_reader: an error follows the intact records, and repeats") {
  const temp_dir dir;
  const std::string path = dir.write("a", "a\nb\nc\"\nd\n");
  auto reader = co_await csv_reader::open(path);
  leat::record_batch batch;
  CHECK(co_await reader->read_batch(batch));
  CHECK(batch.size() == 2);
  for (int i = 0; i < 2; ++i) {
    CHECK(co_await code_of(reader->read_batch(batch)) == errc::data_loss);
    CHECK(batch.empty());
    CHECK(reader->position().offset == 4);
    CHECK(reader->position().index == 2);
  }
}

struct skipped {
  read_outcome found;
  std::vector<leat_test::left_out> reports;
};

skipped skip_corrupt(std::string_view text, csv_reader_options options = {}) {
  skipped s;
  options.corruption.policy = corruption_policy::skip_record;
  options.corruption.on_report = [&s](const leat::corruption_report& r) {
    s.reports.push_back({r.offset, r.index, r.skipped});
  };
  s.found = read_in_memory<csv_reader>(text, options);
  return s;
}

TEST_CASE("csv_reader: after a corrupt record, continues at the next line") {
  // The quote in the second record is closed only in the fourth.
  const skipped s = skip_corrupt("a,b\n1,\"x\n\n2,y\n3,\"z\"\n4,\"\nend");
  CHECK(s.found.error == "");
  CHECK(s.found.records == texts{"a,b", "2,y", "3,\"z\"", "end"});
  CHECK(s.found.indices == std::vector<std::uint64_t>{0, 2, 3, 5});
  CHECK(s.reports == std::vector<leat_test::left_out>{{4, 1, 6}, {20, 4, 4}});
  CHECK(s.found.statistics.skipped == 10);
}

TEST_CASE("csv_reader: a record above the limit is an error or is skipped") {
  const std::string text = "a\n\"b\nlong\"\nc\n";
  CHECK_THAT(error_of(text, {.max_record_size = 4}),
             Catch::Contains("record 1 at offset 2: record is larger than the limit "
                             "max_record_size of 4 bytes: check for a field without its closing"));
  const skipped s = skip_corrupt("a\nlong line\nc\n", {.max_record_size = 4});
  CHECK(s.found.records == texts{"a", "c"});
  CHECK(s.reports == std::vector<leat_test::left_out>{{2, 1, 10}});
  CHECK(records_of("abcd\r\n", {.max_record_size = 4}) == texts{"abcd"});
}

TEST_CASE("csv_reader: a file in UTF-16 is one corrupt record") {
  for (const std::string_view text : {std::string_view("\xFF\xFE"
                                                       "a\0\n\0b\0",
                                                       8),
                                      std::string_view("\xFE\xFF\0a\0\n\0b", 8)}) {
    CHECK_THAT(error_of(text), Catch::Contains("record 0 at offset 0: text is UTF-16: convert"));
    const skipped s = skip_corrupt(text);
    CHECK(s.found.records.empty());
    CHECK(s.found.error == "");
    CHECK(s.reports == std::vector<leat_test::left_out>{{0, 0, 8}});
    const std::string zipped = leat_test::zlib_deflated(
        text, {.window_bits = leat_test::gzip_window});  // whose size is unknown
    CHECK(skip_corrupt(zipped).reports == s.reports);
  }
}

std::string as_text(const std::vector<leat_test::left_out>& reports) {
  std::string text;
  for (const leat_test::left_out& r : reports) {
    text += "record " + std::to_string(r.index) + " at offset " + std::to_string(r.offset) + ": " +
            std::to_string(r.skipped) + "\n";
  }
  return text;
}

TEST_CASE("csv_reader: any text, in chunks of any size, has the records of the definition") {
  static constexpr std::string_view bytes = "\"\"\n\n\r,,;ab\xEF";
  leat::random_engine random(leat_test::case_seed(1));
  std::size_t reports_seen = 0;
  for (std::uint64_t i = 0; i < leat_test::random_case_count(3000); ++i) {
    std::string text = random.uniform_below(3) == 0 ? "\xEF\xBB\xBF" : "";
    for (std::uint64_t left = random.uniform_below(60); left > 0; --left)
      text += bytes[random.uniform_below(bytes.size())];
    csv_reader_options o;
    o.quotes = random.uniform_below(5) > 0;
    o.skip_blank_lines = random.uniform_below(2) == 0;
    o.skip_header_records = random.uniform_below(3);
    if (random.uniform_below(3) == 0) o.max_record_size = 1 + random.uniform_below(20);
    o.corruption.policy = static_cast<corruption_policy>(random.uniform_below(4));
    o.read.chunk_size = 1 + random.uniform_below(30);
    std::vector<leat_test::left_out> reports;
    o.corruption.on_report = [&](const leat::corruption_report& r) {
      reports.push_back({r.offset, r.index, r.skipped});
    };
    std::vector<leat_test::left_out> expected_reports;
    const read_outcome expected = leat_test::slow_csv(text, o, expected_reports);
    const read_outcome found = read_in_memory<csv_reader>(text, o);
    INFO(text << "\n--- chunks of " << o.read.chunk_size << ", limit " << o.max_record_size
              << ", skip " << o.skip_header_records << ", policy "
              << static_cast<int>(o.corruption.policy));
    REQUIRE(difference(found, expected) == "");
    REQUIRE(as_text(reports) == as_text(expected_reports));
    reports_seen += reports.size();
  }
  CHECK(reports_seen > 50);
}

LEAT_REAL_TIME_TEST("csv_reader: continues at any position") {
  const temp_dir dir;
  const std::string path =
      dir.write("a", "\xEF\xBB\xBFh\n1,\"a\nb\"\n\n2,c\r\n3,\"\"\"\"\r4,\"x,\ny\"");
  const read_outcome all = co_await leat_test::read_outcome_of<csv_reader>(path, {});
  REQUIRE(all.records.size() == 5);
  auto reader = co_await csv_reader::open(path);
  leat::record_batch batch;
  for (std::size_t i = all.records.size(); i-- > 0;) {
    reader->seek(all.offsets[i], all.indices[i]);
    texts rest;
    while (co_await reader->read_batch(batch)) {
      for (const leat::byte_view r : batch) rest.emplace_back(leat::as_text(r));
    }
    CHECK(rest == texts(all.records.begin() + static_cast<std::ptrdiff_t>(i), all.records.end()));
  }
}

TEST_CASE("csv_reader: does not search the start of a long record again with each piece") {
  // A record of 4 MiB in pieces of 4 KiB would take minutes if each piece were searched again.
  std::string text = "a,\"";
  while (text.size() < (std::size_t{4} << 20)) text += "\"\"text, and\r\n";
  text += "\"\nb\n";
  const texts found = records_of(text, {.read = {.chunk_size = 4096}});
  REQUIRE(found.size() == 2);
  CHECK(found[0].size() == text.size() - 3);
}

LEAT_REAL_TIME_TEST("csv_reader: csv_decoder decodes the records") {
  const temp_dir dir;
  const std::string path = dir.write("a", "id,text\n1,\"two\n\"\"lines\"\"\"\n 2 ,x\n");
  const leat::csv_decoder decoder({leat::csv_column::required(leat::dtype::int64),
                                   leat::csv_column::required(leat::dtype::string)});
  auto reader = co_await csv_reader::open(path, {.skip_header_records = 1});
  leat::record_batch batch;
  CHECK(co_await reader->read_batch(batch));
  CHECK(csv_reader::key(batch.position(1)) == path + ":2");
  const leat::tensor_tuple columns = decoder.decode(std::span<const leat::byte_view>(batch));
  CHECK(columns[0].values<std::int64_t>()[1] == 2);
  CHECK(columns[1].strings()[0] == "two\n\"lines\"");
}

TEST_CASE("csv_reader: rejects options that are out of range") {
  for (const char delimiter : {'"', '\r', '\n'}) {
    CHECK_THROWS_WITH(csv_reader::check_options({.delimiter = delimiter}, "x"),
                      Catch::Contains("x: csv_reader_options::delimiter must not be"));
  }
  CHECK_THROWS_WITH(csv_reader::check_options({.max_record_size = 0}, "x"),
                    Catch::Contains("x: max_record_size is 0"));
}

}  // namespace csv_reader_test
