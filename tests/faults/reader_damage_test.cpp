// Every byte at which a file can be cut, every bit that can be wrong, in each format, plain and
// compressed: a reader gives what a slow one by the definition finds, in the same places, and says
// where it ends. What has checksums gives no wrong record.

#include <algorithm>
#include <cstddef>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include <catch2/catch.hpp>
#include <fcntl.h>
#include <unistd.h>

#include "leat/core/sync_wait.hpp"
#include "leat/io/fixed_length_reader.hpp"
#include "leat/io/line_reader.hpp"
#include "leat/io/tfrecord_reader.hpp"
#include "leat/io/whole_file_reader.hpp"
#include "support/effort.hpp"
#include "support/record_bytes.hpp"
#include "support/slow_readers.hpp"
#include "support/temp_dir.hpp"
#include "support/texts.hpp"
#include "support/zlib_oracle.hpp"

namespace reader_damage_test {

using leat::compression;
using leat::task;
using outcome = leat_test::read_outcome;

// Some of the bits, where each takes long; of each byte in turn another one.
constexpr std::size_t stride = leat_test::slow_build ? 23 : 1;

// Each format: its reader, a sample, and what stands in the bytes of a file by its definition.

struct tfrecords {
  using reader = leat::tfrecord_reader;
  static reader::options_type options() { return {}; }
  static std::string sample() {
    return leat_test::framed({"one", "", leat_test::noise(300), leat_test::prose(600), "x"});
  }
  static outcome read(std::string_view bytes, bool whole) {
    return leat_test::slow_tfrecords(bytes, whole);
  }
};

struct lines {
  using reader = leat::line_reader;
  static reader::options_type options() {
    reader::options_type o;
    o.skip_header_lines = 1;
    return o;
  }
  static std::string sample() {
    return "a header\n\none\r\n" + leat_test::prose(900) + "\n\n\r\nthe last";
  }
  static outcome read(std::string_view bytes, bool whole) {
    return leat_test::slow_lines(bytes, 1, whole);
  }
};

struct fixed_lengths {
  using reader = leat::fixed_length_reader;
  static reader::options_type options() {
    reader::options_type o;
    o.record_size = 17;
    o.header_size = 5;
    o.footer_size = 3;
    o.hop_size = 21;
    return o;
  }
  static std::string sample() { return leat_test::prose(5 + 50 * 21 + 2); }
  static outcome read(std::string_view bytes, bool whole) {
    return leat_test::slow_fixed_lengths(bytes, options(), whole);
  }
};

struct whole_files {
  using reader = leat::whole_file_reader;
  static reader::options_type options() { return {}; }
  static std::string sample() { return leat_test::prose(1000); }
  static outcome read(std::string_view bytes, bool whole) {
    return leat_test::slow_whole_file(bytes, whole);
  }
};

// The same of a compressed file, and that no damage is taken for a whole one.
template <class Format>
outcome read_by_definition(compression format, const std::string& bytes, const std::string& plain) {
  if (format == compression::none) return Format::read(bytes, true);
  const leat_test::inflated all = leat_test::inflate_all(format, bytes, SIZE_MAX, 256 << 10);
  const bool whole = all.result.end == leat::inflate_end::complete;
  if (whole && all.text != plain) throw std::logic_error("wrong bytes were inflated, unseen");
  return Format::read(all.text, whole);
}

template <class Format>
task<outcome> read_with_reader(std::string path, compression format) {
  auto options = Format::options();
  options.compression_type = format;
  return leat_test::read_outcome_of<typename Format::reader>(std::move(path), options);
}

// A file that is changed in place.
class sample_file {
 public:
  sample_file(const std::string& path, std::string content)
      : fd_(::open(path.c_str(), O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600)),
        content_(std::move(content)) {
    write(0);
  }
  sample_file(const sample_file&) = delete;
  sample_file& operator=(const sample_file&) = delete;
  ~sample_file() { ::close(fd_); }

  [[nodiscard]] const std::string& content() const noexcept { return content_; }

  void flip(std::size_t bit) {
    content_[bit / 8] = static_cast<char>(content_[bit / 8] ^ (1 << bit % 8));
    write(bit / 8, 1);
  }
  void cut(std::size_t size) {
    content_.resize(size);
    REQUIRE(::ftruncate(fd_, static_cast<off_t>(size)) == 0);
  }

 private:
  void write(std::size_t at, std::size_t count = std::string::npos) {
    const std::string part = content_.substr(at, count);
    REQUIRE(::pwrite(fd_, part.data(), part.size(), static_cast<off_t>(at)) ==
            static_cast<ssize_t>(part.size()));
  }

  int fd_;
  std::string content_;
};

std::string compressed(const std::string& plain, compression format) {
  if (format == compression::none) return plain;
  const int window = format == compression::gzip ? leat_test::gzip_window : leat_test::zlib_window;
  return leat_test::zlib_deflated(plain, {.window_bits = window});
}

template <class Format>
task<> try_each_damage(std::string path, compression format) {
  const std::string plain = Format::sample();
  const outcome whole = Format::read(plain, true);
  sample_file f(path, compressed(plain, format));
  const auto problem_now = [&](const outcome& found) {
    return leat_test::difference(found, read_by_definition<Format>(format, f.content(), plain));
  };
  std::size_t errors = 0;
  for (std::size_t bit = 0; bit < f.content().size() * 8; bit += stride) {
    f.flip(bit);
    const outcome found = co_await read_with_reader<Format>(path, format);
    INFO("bit " << bit);
    REQUIRE(problem_now(found) == "");
    if constexpr (std::is_same_v<Format, tfrecords>) {
      REQUIRE(found.records.size() <= whole.records.size());
      REQUIRE(std::equal(found.records.begin(), found.records.end(), whole.records.begin()));
    }
    if (!found.error.empty()) ++errors;
    f.flip(bit);
  }
  const bool checked = format != compression::none || std::is_same_v<Format, tfrecords>;
  CHECK((errors > 0) == checked);
  for (std::size_t size = f.content().size() + 1; size-- > 0;) {
    f.cut(size);
    const outcome found = co_await read_with_reader<Format>(path, format);
    INFO("cut at " << size);
    REQUIRE(problem_now(found) == "");
    REQUIRE((!found.error.empty() || format == compression::none || found.same_records(whole)));
  }
}

template <class Format>
void check() {
  const temp_dir dir;
  for (const auto format : {compression::none, compression::gzip, compression::zlib}) {
    INFO(leat::name(format));
    leat::sync_wait(try_each_damage<Format>(dir / "f", format));
  }
}

TEST_CASE("damage: every bit and every cut of TFRecord files, with their places", "[faults]") {
  check<tfrecords>();
}

TEST_CASE("damage: every bit and every cut of text files, with their places", "[faults]") {
  check<lines>();
}

TEST_CASE("damage: every bit and every cut of fixed-length files, with their places", "[faults]") {
  check<fixed_lengths>();
}

TEST_CASE("damage: every bit and every cut of files read as a whole", "[faults]") {
  check<whole_files>();
}

}  // namespace reader_damage_test
