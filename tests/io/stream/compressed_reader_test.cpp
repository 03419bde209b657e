// Reads compressed files with all readers. zlib compresses them.

#include <algorithm>
#include <cstring>

#include <zlib.h>

#include "leat/io/reader/fixed_length_reader.hpp"
#include "leat/io/reader/line_reader.hpp"
#include "leat/io/reader/tfrecord_reader.hpp"
#include "leat/io/reader/whole_file_reader.hpp"
#include "support/effort.hpp"
#include "support/hex.hpp"
#include "support/leat_test.hpp"
#include "support/records/record_bytes.hpp"
#include "support/records/record_files.hpp"
#include "support/records/zlib_oracle.hpp"
#include "support/temp_dir.hpp"

namespace compressed_reader_test {

using leat::compression;
using leat_test::framed;
using texts = std::vector<std::string>;

// With `empty_flushes` there is a full flush after each byte, and that number of additional flushes
// after the last one.
std::string deflated(const std::string& data, compression format,
                     std::optional<int> empty_flushes = {}) {
  z_stream z{};
  const int window = format == compression::gzip ? 15 + 16 : 15;
  REQUIRE(::deflateInit2(&z, 6, Z_DEFLATED, window, 9, Z_DEFAULT_STRATEGY) == Z_OK);
  std::string out((empty_flushes ? 16 * data.size() : data.size()) + 1000, '\0');
  z.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(data.data()));
  z.next_out = reinterpret_cast<Bytef*>(out.data());
  z.avail_out = static_cast<uInt>(out.size());
  if (empty_flushes) {
    for (std::size_t i = 0; i < data.size(); ++i) {
      z.avail_in = 1;
      REQUIRE(::deflate(&z, Z_FULL_FLUSH) == Z_OK);
    }
    for (int i = 0; i < *empty_flushes; ++i) {
      // zlib omits a flush without new data, so the test writes its bytes.
      REQUIRE(z.avail_out > 5);
      std::memcpy(z.next_out, "\x00\x00\x00\xff\xff", 5);
      z.next_out += 5;
      z.avail_out -= 5;
    }
  } else {
    z.avail_in = static_cast<uInt>(data.size());
  }
  REQUIRE(::deflate(&z, Z_FINISH) == Z_STREAM_END);
  out.resize(out.size() - z.avail_out);
  ::deflateEnd(&z);
  return out;
}

template <class Reader>
task<texts> read_all(std::string path, typename Reader::options_type options) {
  auto reader = co_await Reader::open(path, options);
  typename Reader::batch_type batch;
  texts all;
  while (co_await reader->read_batch(batch)) {
    for (const auto r : batch) {
      all.emplace_back(reinterpret_cast<const char*>(r.data()), r.size());
    }
  }
  co_return all;
}

template <class Reader>
texts read(const std::string& path, typename Reader::options_type options) {
  return leat::block_on(read_all<Reader>(path, options));
}

template <class Reader>
std::string error_of(const std::string& path, typename Reader::options_type options,
                     errc expected) {
  return leat_test::error_of(read_all<Reader>(path, options), expected);
}

// Checks that the result is equal with a given and a detected compression, and with pieces of any
// size.
template <class Reader>
texts check_formats(const temp_dir& dir, const std::string& plain,
                    typename Reader::options_type options) {
  const texts expected = read<Reader>(dir.write("plain", plain), options);
  for (const compression format : {compression::zlib, compression::gzip}) {
    const std::string path = dir.write("compressed", deflated(plain, format));
    for (const std::size_t size : {1U, 2U, 3U, 7U, 20U, 1000U, 65536U}) {
      options.read.chunk_size = size;
      options.compression = format;
      REQUIRE(read<Reader>(path, options) == expected);
      options.compression = std::nullopt;
      REQUIRE(read<Reader>(path, options) == expected);
      REQUIRE(read<Reader>(dir / "plain", options) == expected);
    }
  }
  return expected;
}

leat::tfrecord_reader_options as(compression format) {
  leat::tfrecord_reader_options o;
  o.compression = format;
  return o;
}

const texts sample = {"hello", "", std::string(3000, 'x'), "the end"};

TEST_CASE("compressed: every reader reads both formats, set or detected, with any chunk size") {
  const temp_dir dir;
  CHECK(check_formats<leat::tfrecord_reader>(dir, framed(sample), {}) == sample);
  CHECK(check_formats<leat::line_reader>(dir, "one\ntwo\r\n\nfour", {}).size() == 4);
  const std::string whole = "One\na\nb\n" + std::string(5000, '.');
  CHECK(check_formats<leat::whole_file_reader>(dir, whole, {}) == texts{whole});
}

TEST_CASE("compressed: fixed_length_reader reads both compressions") {
  const temp_dir dir;
  leat::fixed_length_reader_options o{.record_size = 3, .header_size = 5, .footer_size = 2};
  const texts zero = {"000", "111", "222", "333", "444", "555", "666"};
  const texts one = {"222", "333", "444", "555", "666", "777", "888"};
  const auto check = [&](const std::string& file, const texts& records) {
    CHECK(check_formats<leat::fixed_length_reader>(dir, file, o) == records);
  };
  check("HHHHH000111222333444555666FF", zero);
  check("HHHHH222333444555666777888FF", one);
  check("HHHHHFF", {});
  o.hop_size = 4;
  check("HHHHH000G111G222G333G444G555G666FF", zero);
  check("HHHHH222G333G444G555G666G777G888FF", one);
  o.hop_size = 2;
  check("HHHHH01234FF", {"012", "234"});
}

TEST_CASE("compressed: detects zlib with a small window, but not similar text") {
  const temp_dir dir;
  std::string long_text = "one\n";
  for (int i = 0; long_text.size() < 20'000; ++i) long_text += std::to_string(i * 7919L) + "\n";
  leat::line_reader_options options;
  options.compression = std::nullopt;
  for (const std::size_t size : {std::size_t{1}, std::size_t{100}, std::size_t{65536}}) {
    const bool too_slow = leat_test::slow_build && size == 1;
    const std::string text = too_slow ? long_text.substr(0, 2'000) : long_text;
    options.read.chunk_size = size;
    for (int bits = 9; bits < 15; ++bits) {
      for (const std::string& all : {text, text.substr(0, 4)}) {
        const std::string path =
            dir.write("z", leat_test::zlib_deflated(all, {.window_bits = bits}));
        REQUIRE(read<leat::line_reader>(path, options).front() == "one");
      }
    }
    for (const std::string head : {"H\r", "HK", "8O", "X\tY", "hCa"}) {
      for (const std::string& all : {head + "\n", head + "\n" + text}) {
        const texts found = read<leat::line_reader>(dir.write("t", all), options);
        REQUIRE(found.front() == (head == "H\r" ? "H" : head));
      }
    }
  }
}

TEST_CASE("compressed: reads files of stored blocks") {
  const temp_dir dir;
  const std::string zlib = dir.write(
      "z", leat_test::from_hex("7801011300ecff0300000000000000b099490e6162636e57f1211c7904a1"));
  CHECK(read<leat::tfrecord_reader>(zlib, as(compression::zlib)) == texts{"abc"});
  const std::string gzip = dir.write(
      "g", leat_test::from_hex(
               "1f8b08000000000000ff011300ecff0300000000000000b099490e6162636e57f12132a97b391300"
               "0000"));
  CHECK(read<leat::tfrecord_reader>(gzip, as(compression::gzip)) == texts{"abc"});
}

TEST_CASE("compressed: reads a full flush after every byte and two empty ones") {
  const temp_dir dir;
  for (const compression format : {compression::zlib, compression::gzip}) {
    const std::string flushed = dir.write("f", deflated(framed({"small record"}), format, 2));
    auto options = as(format);
    for (const std::size_t size : {1U, 5U, 65536U}) {
      options.read.chunk_size = size;
      CHECK(read<leat::tfrecord_reader>(flushed, options) == texts{"small record"});
    }
  }
}

TEST_CASE("compressed: reads a record larger than all buffers") {
  const temp_dir dir;
  std::string large;
  for (int i = 0; large.size() < 5'000'000; ++i) large += std::to_string(i * 7919L);
  const std::string stream = leat_test::zlib_deflated(
      framed({large}), {.window_bits = leat_test::zlib_window, .level = 1});
  const std::string path = dir.write("z", stream);
  CHECK(read<leat::tfrecord_reader>(path, as(compression::zlib)) == texts{large});
}

TEST_CASE("compressed: refuses a file of another compression and names the file") {
  const temp_dir dir;
  const std::string plain = dir.write("plain", framed(sample));
  const std::string said =
      error_of<leat::tfrecord_reader>(plain, as(compression::gzip), errc::data_loss);
  CHECK(contains(said, plain));
  const std::string gzip = dir.write("gzip", deflated(framed(sample), compression::gzip));
  CHECK(contains(error_of<leat::tfrecord_reader>(gzip, as(compression::none), errc::data_loss),
                 "the file may be compressed"));
}

TEST_CASE("compressed: reads all members of a gzip file") {
  const temp_dir dir;
  const std::string plain = framed(sample);
  std::string members;
  for (std::size_t at = 0; at < plain.size(); at += 100) {
    members += deflated(plain.substr(at, 100), compression::gzip);
  }
  CHECK(read<leat::tfrecord_reader>(dir.write("m", members), as(compression::gzip)) == sample);
}

TEST_CASE("compressed: a truncated file is always an error") {
  const temp_dir dir;
  leat::line_reader_options lines;
  for (const compression format : {compression::zlib, compression::gzip}) {
    const std::string whole = deflated("one\ntwo\nthree\n", format);
    lines.compression = format;
    for (std::size_t size = 1; size < whole.size(); ++size) {
      const std::string path = dir.write("cut", whole.substr(0, size));
      REQUIRE_FALSE(error_of<leat::line_reader>(path, lines, errc::data_loss).empty());
    }
  }
}

TEST_CASE("compressed: a file of 0 bytes is empty with every compression") {
  const temp_dir dir;
  const std::string path = dir.write("empty", "");
  for (const std::optional<compression> type :
       {std::optional<compression>(), std::optional(compression::none),
        std::optional(compression::zlib), std::optional(compression::gzip)}) {
    leat::line_reader_options lines;
    lines.compression = type;
    CHECK(leat::block_on(leat_test::read_lines(path, lines)).empty());
    leat::tfrecord_reader_options records;
    records.compression = type;
    CHECK(leat::block_on(leat_test::read_records(path, records)).empty());
  }
}

TEST_CASE("compressed: readers detect compression by default") {
  const temp_dir dir;
  const leat_test::texts lines = {"one", "two", ""};
  const std::string plain = leat_test::joined(lines);
  for (const compression format : {compression::zlib, compression::gzip}) {
    const std::string path = dir.write("a", deflated(plain, format));
    CHECK(leat::block_on(leat_test::read_lines(path)) == lines);
    leat::block_on([](std::string p, std::string expected) -> task<> {
      auto whole = co_await leat::whole_file_reader::open(p);
      leat::record_batch batch;
      REQUIRE(co_await whole->read_batch(batch));
      CHECK(leat::as_text(batch[0]) == expected);
      CHECK(whole->is_compressed());
      leat::fixed_length_reader_options of_one;
      of_one.record_size = 1;
      auto bytes = co_await leat::fixed_length_reader::open(p, of_one);
      REQUIRE(co_await bytes->read_batch(batch));
      CHECK(batch.size() == expected.size());
    }(path, plain));
  }
  leat::line_reader_options as_is;
  as_is.compression = compression::none;
  const std::string path = dir.write("a", deflated(plain, compression::gzip));
  CHECK(leat::block_on(leat_test::read_lines(path, as_is)) != lines);
}

TEST_CASE("compressed: tolerate_truncated_tail ends a truncated stream and reports it") {
  const temp_dir dir;
  std::vector<std::byte> bytes;
  leat_test::texts records;
  for (int i = 0; i < 2000; ++i) {
    records.push_back("record " + std::to_string(i * 7919L));
    leat::append_tfrecord(bytes, leat::as_bytes(records.back()));
  }
  const std::string plain(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  const std::string whole = deflated(plain, compression::gzip);
  for (const std::size_t size :
       {whole.size() - 1, whole.size() - 8, whole.size() / 2, std::size_t{20}, std::size_t{3}}) {
    INFO(size);
    const std::string path = dir.write("cut", whole.substr(0, size));
    leat::tfrecord_reader_options options;
    options.compression = compression::gzip;
    CHECK_FALSE(error_of<leat::tfrecord_reader>(path, options, errc::data_loss).empty());
    std::vector<std::string> reports;
    options.tolerate_truncated_tail = true;
    options.corruption.on_report = [&](const leat::corruption_report& r) {
      reports.push_back(r.what);
    };
    const leat_test::texts got = leat::block_on(leat_test::read_records(path, options));
    REQUIRE(got.size() <= records.size());
    CHECK(std::equal(got.begin(), got.end(), records.begin()));
    if (size + 8 >= whole.size()) CHECK(got.size() == records.size());
    REQUIRE(reports.size() == 1);
    CHECK(reports[0].find("compressed stream is truncated at offset " + std::to_string(size)) == 0);
  }
  // Only a missing end is tolerated.
  std::string damaged = whole;
  damaged[whole.size() - 6] ^= 1;
  leat::tfrecord_reader_options options;
  options.tolerate_truncated_tail = true;
  const std::string bad = dir.write("bad", damaged);
  CHECK_FALSE(error_of<leat::tfrecord_reader>(bad, options, errc::data_loss).empty());
}

TEST_CASE("compressed: an inflated file that holds no records is not called compressed") {
  const temp_dir dir;
  const std::string path = dir.write("a", deflated(std::string(100, 'a'), compression::gzip));
  const std::string what =
      error_of<leat::tfrecord_reader>(path, leat::tfrecord_reader_options(), errc::data_loss);
  CHECK(contains(what, "the decompressed data may not be a TFRecord file"));
  CHECK_FALSE(contains(what, "the file may be compressed"));
}

task<> count_turns(const bool& ended, std::size_t& turns) {
  while (!ended) {
    ++turns;
    co_await leat::this_task::yield();
  }
}

task<> read_to_end(std::string path, leat::line_reader_options options, bool& ended) {
  try {
    static_cast<void>(co_await leat_test::read_lines(path, options));
  } catch (const leat::failure& e) {
    CHECK(e.code() == errc::resource_exhausted);
  }
  ended = true;
}

TEST_CASE("compressed: a file of empty gzip members or zlib blocks lets other tasks run") {
  const temp_dir dir;
  const std::string empty_member = deflated("", compression::gzip);
  std::string gzip;
  while (gzip.size() < (std::size_t{1} << 20)) gzip += empty_member;
  std::string zlib = "\x78\x9c";
  while (zlib.size() < (std::size_t{1} << 20)) zlib += std::string("\0\0\0\xff\xff", 5);
  zlib += std::string("\1\0\0\xff\xff\0\0\0\1", 9);
  leat::line_reader_options options;
  options.decompression.max_empty_members = UINT64_MAX;
  for (const std::string& bytes : {gzip, zlib}) {
    bool ended = false;
    std::size_t turns = 0;
    leat::block_on(
        [](std::string path, leat::line_reader_options o, bool& end, std::size_t& count) -> task<> {
          leat::task_group group;
          group.spawn(read_to_end(std::move(path), o, end));
          group.spawn(count_turns(end, count));
          co_await group.join();
        }(dir.write("a", bytes), options, ended, turns));
    CHECK(turns >= bytes.size() / (std::size_t{128} << 10) - 1);
  }
  const std::string path = dir.write("a", gzip);
  options.decompression.max_empty_members = 1000;
  CHECK(contains(error_of<leat::line_reader>(path, options, errc::resource_exhausted),
                 "decompression_options::max_empty_members"));
  // The limit applies only to consecutive empty members.
  std::string mixed;
  for (int i = 0; i < 20; ++i) {
    for (int k = 0; k < 100; ++k) mixed += empty_member;
    mixed += deflated("line\n", compression::gzip);
  }
  options.decompression.max_empty_members = 100;
  CHECK(leat::block_on(leat_test::read_lines(dir.write("m", mixed), options)).size() == 20);
}

TEST_CASE("compressed: delivers no partial line of a corrupt file with any policy") {
  const temp_dir dir;
  std::string text;
  for (int i = 0; i < 2000; ++i) text += "line " + std::to_string(i * 7919L) + "\n";
  const std::string whole = deflated(text, compression::gzip);
  const std::string path = dir.write("cut", whole.substr(0, whole.size() / 2));
  leat::line_reader_options options;
  options.compression = compression::gzip;
  for (const auto policy : {leat::corruption_policy::skip_record, leat::corruption_policy::resync,
                            leat::corruption_policy::skip_file}) {
    options.corruption.policy = policy;
    int reports = 0;
    options.corruption.on_report = [&](const leat::corruption_report& r) {
      ++reports;
      CHECK(contains(r.what, "compressed stream is truncated"));
    };
    const texts found = read<leat::line_reader>(path, options);
    CHECK(found.size() > 100);
    for (std::size_t i = 0; i < found.size(); ++i) {
      REQUIRE(found[i] == "line " + std::to_string(i * 7919L));
    }
    CHECK(reports == 1);
  }
}

LEAT_REAL_TIME_TEST("compressed: keys are offsets in the inflated data") {
  const temp_dir dir;
  for (const compression format : {compression::zlib, compression::gzip}) {
    for (int file = 0; file < 2; ++file) {
      texts records;
      for (int i = 0; i < 7; ++i) {
        records.push_back("Record " + std::to_string(i) + " of file " + std::to_string(file));
      }
      const std::string path = dir.write("f", deflated(framed(records), format));
      auto reader = co_await leat::tfrecord_reader::open(path, as(format));
      leat::record_batch batch;
      std::size_t n = 0;
      while (co_await reader->read_batch(batch)) {
        for (std::size_t k = 0; k < batch.size(); ++k, ++n) {
          REQUIRE(n < records.size());
          CHECK(leat::as_text(batch[k]) == records[n]);
          CHECK(reader->key(batch.position(k)) == path + ":" + std::to_string(34 * n));
        }
      }
      CHECK(n == 7);
    }
  }
}

LEAT_REAL_TIME_TEST("compressed: seek inflates up to the offset") {
  const temp_dir dir;
  texts records;
  for (int i = 0; i < 10; ++i) records.push_back(std::to_string(i) + ".");
  const std::string path = dir.write("z", deflated(framed(records), compression::zlib));
  auto options = as(compression::zlib);
  options.read.chunk_size = 30;
  auto reader = co_await leat::tfrecord_reader::open(path, options);
  leat::record_batch batch;
  for (bool more = true; more;) more = co_await reader->read_batch(batch);
  for (const std::uint64_t i : {3U, 8U, 0U, 9U, 1U}) {
    reader->seek(18 * i, i);
    CHECK(co_await reader->read_batch(batch));
    REQUIRE_FALSE(batch.empty());
    CHECK(leat::as_text(batch[0]) == std::to_string(i) + ".");
    CHECK(batch.position(0).offset == 18 * i);
    CHECK(batch.position(0).index == i);
  }
  reader->seek(180, 10);
  CHECK_FALSE(co_await reader->read_batch(batch));
  reader->seek(1000, 11);
  CHECK_FALSE(co_await reader->read_batch(batch));
}

TEST_CASE("compressed: a bomb is stopped by its limit") {
  const temp_dir dir;
  std::string line(4095, '.');
  std::string bomb;
  while (bomb.size() <= 18 << 20) bomb += line + '\n';
  const std::string path = dir.write("bomb", leat_test::zlib_deflated(bomb));
  leat::line_reader_options options;
  options.compression = compression::gzip;
  const std::string dense = error_of<leat::line_reader>(path, options, errc::resource_exhausted);
  CHECK(contains(dense, "max_ratio"));
  options.decompression.max_ratio = 2000;
  options.decompression.max_output = 1 << 20;
  const std::string large = error_of<leat::line_reader>(path, options, errc::resource_exhausted);
  CHECK(contains(large, "max_output"));
}

}  // namespace compressed_reader_test
