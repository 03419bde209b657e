// Crafted files that demand more memory than exists: false lengths, and data that inflates to a
// thousand times its size. The error states the limit, and no memory is allocated for missing data.

#include <filesystem>
#include <fstream>
#include <functional>

#include <malloc.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "leat/base/internal/sanitizers.hpp"
#include "leat/codec/checksum/crc32c.hpp"
#include "leat/codec/tfrecord/tfrecord.hpp"
#include "leat/io/file/match_files.hpp"
#include "leat/io/reader/fixed_length_reader.hpp"
#include "leat/io/reader/line_reader.hpp"
#include "leat/io/reader/tfrecord_reader.hpp"
#include "leat/io/reader/whole_file_reader.hpp"
#include "support/leat_test.hpp"
#include "support/records/record_bytes.hpp"
#include "support/records/zlib_oracle.hpp"
#include "support/temp_dir.hpp"

namespace memory_limits_test {

using leat::compression;
using leat_test::header_of;

constexpr std::uint64_t exbibyte = std::uint64_t{1} << 60;
constexpr std::uint64_t mebibyte = std::uint64_t{1} << 20;
constexpr std::uint64_t gibibyte = std::uint64_t{1} << 30;

std::size_t peak_memory() {
  rusage u{};
  ::getrusage(RUSAGE_SELF, &u);
  return static_cast<std::size_t>(u.ru_maxrss) << 10;
}

// Returns the output of a child process that runs `f` with at most `memory` more bytes of memory.
template <class Function>
std::string said_within(std::uint64_t memory, Function f) {
  return leat_test::run_in_child([&] {
    ::mallopt(M_PERTURB, 0);  // it would write to unused allocations
    const std::size_t before = peak_memory();
    std::string what = "the end";
    try {
      what = f();
    } catch (const leat::failure& e) {
      what = e.what();
    }
    const std::size_t taken = peak_memory() - before;
    if (taken > memory) what += "; took " + std::to_string(taken) + " bytes";
    return what;
  });
}

// Reads a file to its end, or at most `batches` batches.
template <class Reader>
void read_some(const std::string& path, const typename Reader::options_type& options,
               std::uint64_t batches) {
  leat::block_on([](std::string p, typename Reader::options_type o, std::uint64_t n) -> task<> {
    auto reader = co_await Reader::open(p, o);
    typename Reader::batch_type batch;
    for (bool more = true; more && n > 0; --n) more = co_await reader->read_batch(batch);
  }(path, options, batches));
}

// Returns the message of a reader that reads a file to its end, or at most `batches` batches.
template <class Reader>
std::string said_of(const std::string& path, typename Reader::options_type options = {},
                    std::uint64_t memory = 64 * mebibyte, std::uint64_t batches = UINT64_MAX) {
  const std::string said = said_within(memory, [&] {
    read_some<Reader>(path, options, batches);
    return path + ": the end";
  });
  CHECK(contains(said, path));
  INFO(said);
  CHECK_FALSE(contains(said, "took"));
  return said;
}

// Writes a sparse record of zeros, followed by bytes that are not a record.
void write_zeros(const std::string& path, std::uint64_t length) {
  const std::string zeros(mebibyte, '\0');
  std::uint32_t crc = leat::crc32c({});
  for (std::uint64_t at = 0; at < length; at += zeros.size()) {
    crc = leat::extend_crc32c(crc, leat::as_bytes(zeros));
  }
  std::string footer(leat::tfrecord_footer_size, '\0');
  leat::store_little_endian(reinterpret_cast<std::byte*>(footer.data()), leat::mask_crc32c(crc));
  std::ofstream(path) << header_of(length);
  std::filesystem::resize_file(path, leat::tfrecord_header_size + length);
  std::ofstream(path, std::ios::app) << footer << "damage";
}

// Returns `beginning` followed by 10 GiB of zeros, compressed to 10 MiB. No test reads as far as
// the trailer.
std::string bomb(std::string_view beginning) {
  leat_test::zlib_deflater deflater({.level = 9});
  const std::string zeros(std::size_t{1} << 20, '\0');
  std::string stream = deflater.add(beginning, Z_FULL_FLUSH);
  const std::string piece = deflater.add(zeros, Z_FULL_FLUSH);
  for (int i = 0; i < 10 * 1024; ++i) stream += piece;
  return stream;
}

template <class Options>
Options compressed(Options options) {
  options.compression = compression::gzip;
  return options;
}

TEST_CASE("limits: decompressed data has 1 TiB at most by default", "[faults]") {
  CHECK(leat::decompression_options{}.max_output == std::uint64_t{1} << 40);
}

#if !LEAT_ASAN && !LEAT_TSAN  // sanitizers use additional memory

TEST_CASE("limits: refuses a record of 4 EiB without allocating memory", "[faults]") {
  const temp_dir dir;
  const std::string file = header_of(4 * exbibyte) + std::string(1000, 'x');
  const std::string plain = dir.write("plain", file);
  const std::string gzip = dir.write("gzip", leat_test::zlib_deflated(file));
  const auto gzip_options = compressed(leat::tfrecord_reader_options{});
  constexpr std::uint64_t little = 32 * mebibyte;
  // Tests a length beyond the end of a plain file, whose size is known, and beyond the end of a
  // stream, whose size is not.
  CHECK(contains(said_of<leat::tfrecord_reader>(plain, {}, little), "truncated after 1012 of"));
  CHECK(contains(said_of<leat::tfrecord_reader>(gzip, gzip_options, little),
                 "record 0 at offset 0: length of 4611686018427387904 bytes is above "
                 "the limit max_record_size"));
  leat::tfrecord_reader_options any{.max_record_size = UINT64_MAX};
  CHECK(contains(said_of<leat::tfrecord_reader>(plain, any, little), "truncated after 1012 of"));
  CHECK(contains(said_of<leat::tfrecord_reader>(gzip, compressed(any), little),
                 "truncated after 1012 of"));
}

// As in a container, where a reader that trusted a length would fail with an allocation error.
TEST_CASE("limits: crafted headers give the same errors in 512 MiB of address space", "[faults]") {
  const temp_dir dir;
  for (const std::uint64_t length : {gibibyte - 1, gibibyte, 4 * exbibyte, UINT64_MAX}) {
    const std::string path = dir.write("f", header_of(length) + std::string(1000, 'x'));
    const std::string gzip = dir.write("gzip", leat_test::zlib_deflated(temp_dir::read(path)));
    for (const bool any : {false, true}) {
      const auto said = [&](const std::string& of, leat::compression type) {
        return said_within(UINT64_MAX, [&] {
          const rlimit little{512 * mebibyte, 512 * mebibyte};
          ::setrlimit(RLIMIT_AS, &little);
          leat::tfrecord_reader_options options;
          options.compression = type;
          if (any) options.max_record_size = UINT64_MAX;
          read_some<leat::tfrecord_reader>(of, options, 1);
          return "the end";
        });
      };
      const bool fits = length <= gibibyte || (any && length < UINT64_MAX);
      const char* const expected = fits ? "truncated after 1012 of" : "is above";
      CAPTURE(length, any);
      // The size of a plain file is known, so a length beyond its end is corruption.
      CHECK_THAT(said(path, compression::none), Catch::Contains("truncated after 1012 of"));
      CHECK_THAT(said(gzip, compression::gzip), Catch::Contains(expected));
    }
  }
}

// The file never ends, so only the limits of a reader stop it.
TEST_CASE("limits: /dev/zero is read within the limits of each reader", "[faults]") {
  const std::string zeros = "/dev/zero";
  CHECK(contains(said_of<leat::tfrecord_reader>(zeros), "record 0 at offset 0"));
  CHECK(contains(said_of<leat::line_reader>(zeros), "line 1 at offset 0"));
  CHECK(contains(said_of<leat::whole_file_reader>(zeros, {.max_file_size = 8 * mebibyte}),
                 "max_file_size"));
  CHECK(contains(
      said_of<leat::fixed_length_reader>(zeros, {.record_size = 1000}, 64 * mebibyte, 1000),
      "the end"));
  CHECK(
      contains(said_of<leat::line_reader>(zeros, compressed(leat::line_reader_options{})), zeros));
}

// A directory of many files is created in memory if possible, because that is fast.
std::filesystem::path place_of_many() {
  const char* const memory = "/dev/shm";
  return ::access(memory, W_OK) == 0 ? memory : std::filesystem::temp_directory_path();
}

TEST_CASE("limits: a directory of 100,000 files is matched in little memory", "[faults]") {
  const temp_dir all(place_of_many());
  bool made = true;
  for (int i = 0; made && i < 100'000; ++i) {
    made = ::mknod((all / (std::to_string(i) + ".txt")).c_str(), S_IFREG | 0600, 0) == 0;
  }
  REQUIRE(made);
  const auto count = [&](const char* pattern) {
    const std::vector<std::string> patterns{all / pattern};
    return std::to_string(leat::block_on(leat::match_files(patterns)).size());
  };
  CHECK(said_within(64 * mebibyte, [&] { return count("*") + ", " + count("*7.txt"); }) ==
        "100000, 10000");
  // A pattern that a backtracking matcher could continue at each letter.
  CHECK(said_within(64 * mebibyte, [&] { return count("*t*t*t*t*t*t*t*t*t*t*t*t*t*x"); }) == "0");
}

TEST_CASE("limits: resync does not hold the lengths in crafted headers in memory", "[faults]") {
  const temp_dir dir;
  std::string look_alikes = "damage";
  for (std::uint64_t i = 0; i < 50; ++i) look_alikes += header_of(300 * mebibyte - 100 * i);
  const std::string last = leat_test::framed({"last"});
  const std::string path = dir.write("f", look_alikes);
  std::filesystem::resize_file(path, 320 * mebibyte);  // sparse zeros
  std::ofstream(path, std::ios::app) << last << "damage";
  const leat::tfrecord_reader_options options{
      .corruption = {.policy = leat::corruption_policy::resync, .max_reports = 1}};
  const std::string end = std::to_string(320 * mebibyte + last.size());
  CHECK(contains(said_of<leat::tfrecord_reader>(path, options),
                 "record 2 at offset " + end + ": truncated"));
}

TEST_CASE("limits: resync in a compressed file holds no more than max_held", "[faults]") {
  const temp_dir dir;
  std::string look_alikes = "damage";
  for (std::uint64_t i = 0; i < 20; ++i) {
    look_alikes += header_of(60 * mebibyte - 100 * i) + header_of(16 * mebibyte - 100 * i);
  }
  const std::string last = leat_test::framed({"last"});
  const std::string bytes = look_alikes + std::string(80 * mebibyte, '\0') + last + "damage";
  leat::tfrecord_reader_options options;
  options.corruption.policy = leat::corruption_policy::resync;
  options.corruption.max_reports = 1;
  options.decompression.max_ratio = 2000;
  const std::string path = dir.write("f", leat_test::zlib_deflated(bytes));
  CHECK(contains(said_of<leat::tfrecord_reader>(path, compressed(options)),
                 "record 2 at offset " + std::to_string(bytes.size() - 6) + ": truncated"));
}

TEST_CASE("limits: a long record of an uncompressed file needs its length and some chunks",
          "[faults]") {
  const temp_dir dir;
  const std::uint64_t length = 96 * mebibyte;
  const std::string path = dir / "f";
  write_zeros(path, length);
  for (const std::size_t depth : {1U, 4U}) {
    const std::string said = said_of<leat::tfrecord_reader>(
        path, {.read = {.depth = depth}}, static_cast<std::size_t>(length) + 32 * mebibyte);
    CHECK(contains(said, "record 1 at offset " + std::to_string(length + 16) + ": truncated"));
  }
}

// A reader without a limit of the ratio still enforces the limit of the size.
TEST_CASE("limits: max_output stops a bomb within the ratio without allocating memory",
          "[faults]") {
  const temp_dir dir;
  const std::string zeros = dir.write("zeros", bomb(""));
  const leat::fixed_length_reader_options options{
      .record_size = 1000, .decompression = {.max_output = gibibyte, .max_ratio = 2000}};
  CHECK(contains(said_of<leat::fixed_length_reader>(zeros, compressed(options)),
                 "decompressed data is above the limit decompression_options::max_output"));
}

TEST_CASE("limits: stops a bomb of many small members", "[faults]") {
  const temp_dir dir;
  const std::string member = leat_test::zlib_deflated(std::string(mebibyte, '\0'));
  std::string members;
  for (int i = 0; i < 2000; ++i) members += member;
  const std::string path = dir.write("f", members);
  leat::fixed_length_reader_options options;
  options.record_size = 1000;
  CHECK(contains(said_of<leat::fixed_length_reader>(path, compressed(options)), "max_ratio"));
  options.decompression.max_ratio = 2000;
  options.decompression.max_output = gibibyte;
  CHECK(contains(said_of<leat::fixed_length_reader>(path, compressed(options)),
                 "decompressed data is above the limit decompression_options::max_output"));
}

TEST_CASE("limits: stops a bomb of 10 GiB in 10 MiB without allocating memory", "[faults]") {
  const temp_dir dir;
  const std::string zeros = dir.write("zeros", bomb(""));
  const std::string lines = dir.write("lines", bomb("a line\n"));
  const std::string record = dir.write("record", bomb(header_of(gibibyte - 1)));
  CHECK(contains(
      said_of<leat::whole_file_reader>(zeros, compressed(leat::whole_file_reader_options{})),
      "max_ratio"));
  CHECK(contains(said_of<leat::line_reader>(lines, compressed(leat::line_reader_options{})),
                 "line 2 at offset 7"));
  CHECK(
      contains(said_of<leat::tfrecord_reader>(record, compressed(leat::tfrecord_reader_options{})),
               "max_ratio"));
  for (const std::size_t size : {std::size_t{1000}, std::size_t{gibibyte}}) {
    const leat::fixed_length_reader_options lengths{.record_size = size,
                                                    .compression = compression::gzip};
    CHECK(contains(said_of<leat::fixed_length_reader>(zeros, lengths), "max_ratio"));
  }
}

#endif

}  // namespace memory_limits_test
