#include "leat/io/reader/fixed_length_reader.hpp"

#include "support/leat_test.hpp"
#include "support/temp_dir.hpp"

namespace fixed_length_reader_test {

using options = leat::fixed_length_reader_options;
using texts = std::vector<std::string>;

struct result {
  texts records;
  texts keys;
  leat::reader_statistics statistics;
};

task<result> read_all(std::string path, options o) {
  auto reader = co_await leat::fixed_length_reader::open(path, o);
  result all;
  leat::record_batch batch;
  while (co_await reader->read_batch(batch)) {
    for (std::size_t i = 0; i < batch.size(); ++i) {
      all.records.emplace_back(leat::as_text(batch[i]));
      all.keys.push_back(reader->key(batch.position(i)));
    }
  }
  all.statistics = reader->statistics();
  co_return all;
}

// Checks that the result does not depend on the size of the chunks.
result read(const temp_dir& dir, const std::string& contents, options o) {
  const std::string path = dir.write("f", contents);
  const result whole = leat::block_on(read_all(path, o));
  for (const std::size_t size : {1U, 2U, 3U, 5U, 8U}) {
    o.read.chunk_size = size;
    const result pieces = leat::block_on(read_all(path, o));
    REQUIRE(pieces.records == whole.records);
    REQUIRE(pieces.keys == whole.keys);
    REQUIRE(pieces.statistics.left_over == whole.statistics.left_over);
  }
  return whole;
}

std::string error_of(const temp_dir& dir, const std::string& contents, const options& o,
                     errc expected) {
  return leat_test::error_of(read_all(dir.write("f", contents), o), expected);
}

const options upstream{.record_size = 3, .header_size = 5, .footer_size = 2};

// A file of TensorFlow's tests: digit 2f + r three times, with `gap` between records.
std::string upstream_file(int file, int records, const std::string& gap) {
  std::string text = "HHHHH";
  for (int r = 0; r < records; ++r) {
    if (r > 0) text += gap;
    text += std::string(3, static_cast<char>('0' + 2 * file + r));
  }
  return text + "FF";
}

TEST_CASE("fixed_length_reader: reads records between a header and a footer") {
  const temp_dir dir;
  const result first = read(dir, upstream_file(0, 7, ""), upstream);
  CHECK(first.records == texts{"000", "111", "222", "333", "444", "555", "666"});
  CHECK(first.keys.front() == dir / "f" + ":0");
  CHECK(first.keys.back() == dir / "f" + ":6");
  CHECK(first.statistics.left_over == 0);
  CHECK(read(dir, upstream_file(1, 7, ""), upstream).records.back() == "888");
}

TEST_CASE("fixed_length_reader: skips a gap between records") {
  const temp_dir dir;
  options o = upstream;
  o.hop_size = 4;
  for (const int file : {0, 1}) {
    const result gaps = read(dir, upstream_file(file, 7, "G"), o);
    const result none = read(dir, upstream_file(file, 7, ""), upstream);
    CHECK(gaps.records.size() == 7);
    CHECK(gaps.records == none.records);
    CHECK(gaps.keys == none.keys);
    CHECK(gaps.statistics.left_over == 0);
  }
}

TEST_CASE("fixed_length_reader: reads a file without records") {
  const temp_dir dir;
  CHECK(read(dir, "HHHHHFF", upstream).records.empty());
  CHECK(read(dir, "HHHHH", upstream).records.empty());
}

TEST_CASE("fixed_length_reader: reads overlapping records") {
  const temp_dir dir;
  options o = upstream;
  o.hop_size = 2;
  const result two = read(dir, "HHHHH01234FF", o);
  CHECK(two.records == texts{"012", "234"});
  CHECK(two.statistics.left_over == 0);
  const result six = read(dir, "ABCDEFGHI", {.record_size = 4, .hop_size = 1});
  CHECK(six.records == texts{"ABCD", "BCDE", "CDEF", "DEFG", "EFGH", "FGHI"});
  CHECK(six.keys.back() == dir / "f" + ":5");
}

TEST_CASE("fixed_length_reader: counts the bytes of a partial last record") {
  const temp_dir dir;
  const result eight = read(dir, "abcdefgh", {.record_size = 3});
  CHECK(eight.records == texts{"abc", "def"});
  CHECK(eight.statistics.left_over == 2);
  const result hop = read(dir, "abcdefg", {.record_size = 2, .hop_size = 3});
  CHECK(hop.records == texts{"ab", "de"});
  CHECK(hop.statistics.left_over == 1);
}

TEST_CASE("fixed_length_reader: a file shorter than its header is corrupt") {
  const temp_dir dir;
  const std::string said = error_of(dir, "HHHH", upstream, errc::data_loss);
  CHECK(contains(said, "file has 4 bytes, but header_size is 5"));
  CHECK(contains(said, dir / "f"));
  CHECK_FALSE(error_of(dir, "", upstream, errc::data_loss).empty());
  options o = upstream;
  o.corruption.policy = leat::corruption_policy::skip_record;
  const result none = read(dir, "HHHH", o);
  CHECK(none.records.empty());
  CHECK(none.statistics.reports == 1);
}

TEST_CASE("fixed_length_reader: refuses a size out of range and names the option") {
  const temp_dir dir;
  CHECK(contains(error_of(dir, "abc", {}, errc::invalid_argument), "record_size is 0"));
  for (const char* name : {"header_size", "footer_size", "hop_size"}) {
    options o = upstream;
    const auto minus_one = static_cast<std::size_t>(-1);
    if (name == std::string("header_size")) o.header_size = minus_one;
    if (name == std::string("footer_size")) o.footer_size = minus_one;
    if (name == std::string("hop_size")) o.hop_size = minus_one;
    CHECK(contains(error_of(dir, "abc", o, errc::invalid_argument), name));
  }
}

LEAT_REAL_TIME_TEST("fixed_length_reader: seek goes to any record, forwards and backwards") {
  const temp_dir dir;
  const std::string path = dir.write("f", upstream_file(0, 7, ""));
  auto reader = co_await leat::fixed_length_reader::open(path, upstream);
  leat::record_batch batch;
  for (const std::uint64_t i : {3U, 6U, 0U, 5U, 5U}) {
    reader->seek(5 + 3 * i, i);
    CHECK(reader->position().index == i);
    CHECK(co_await reader->read_batch(batch));
    REQUIRE(batch.size() == 7 - i);
    const std::string expected(3, static_cast<char>('0' + i));
    CHECK(leat::as_text(batch[0]) == expected);
    CHECK(batch.position(0).index == i);
  }
  reader->seek(1000, 7);
  CHECK_FALSE(co_await reader->read_batch(batch));
  for (const std::uint64_t behind : {29U, 31U, 1000U}) {
    reader->seek(behind, 0);  // the end for any index, not a short header
    CHECK_FALSE(co_await reader->read_batch(batch));
  }
  reader->seek(0, 0);
  CHECK(co_await reader->read_batch(batch));
  CHECK(leat::as_text(batch[0]) == "000");
}

}  // namespace fixed_length_reader_test
