#pragma once

// Makes and damages files of each format, plain and compressed, and reads their bytes by the
// definition of the format.

#include <algorithm>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <catch2/catch.hpp>
#include <fcntl.h>
#include <unistd.h>

#include "leat/base/random.hpp"
#include "leat/codec/tfrecord/tfrecord.hpp"
#include "leat/io/reader/csv_reader.hpp"
#include "leat/io/reader/fixed_length_reader.hpp"
#include "leat/io/reader/line_reader.hpp"
#include "leat/io/reader/tfrecord_reader.hpp"
#include "leat/io/reader/whole_file_reader.hpp"
#include "support/records/record_bytes.hpp"
#include "support/records/slow_readers.hpp"
#include "support/records/texts.hpp"
#include "support/records/zlib_oracle.hpp"

namespace leat_test::damaged {

// Each format has a reader and a sample of a small or a given size. Its read functions read the
// bytes of a file by the definition, from the first record or a later one.
struct tfrecords {
  using reader = leat::tfrecord_reader;
  static reader::options_type options() { return {}; }
  static std::string sample() { return framed({"one", "", noise(300), prose(600), "x"}); }
  static std::string sample(std::size_t size) {
    leat::random_engine random(5);
    std::vector<std::string> records;
    for (std::size_t sum = 0; sum < size; sum += records.back().size() + leat::tfrecord_overhead) {
      const auto length =
          static_cast<std::size_t>(random.uniform_below(random.uniform_below(9) == 0 ? 3000 : 120));
      records.push_back(records.size() % 2 == 0 ? noise(length, random())
                                                : prose(length, random()));
    }
    return framed(records);
  }
  static read_outcome read(std::string_view bytes, bool whole) {
    return slow_tfrecords(bytes, whole);
  }
  static read_outcome read_on(std::string_view bytes) { return slow_tfrecords(bytes); }
};

struct lines {
  using reader = leat::line_reader;
  static reader::options_type options() {
    reader::options_type o;
    o.skip_header_lines = 1;
    return o;
  }
  static std::string sample() { return sample(900); }
  static std::string sample(std::size_t size) {
    return "a header\n\none\r\n" + prose(size) + "\n\n\r\nthe last";
  }
  static read_outcome read(std::string_view bytes, bool whole) {
    return slow_lines(bytes, 1, whole);
  }
  static read_outcome read_on(std::string_view bytes) { return slow_lines(bytes, 0); }
};

struct csv {
  using reader = leat::csv_reader;
  static reader::options_type options() {
    reader::options_type o;
    o.skip_header_records = 1;
    return o;
  }
  static std::string sample() { return sample(900); }
  static std::string sample(std::size_t size) {
    const std::string text = "1,\"two\r\n\"\"lines\"\"\"\r\n2,x\r\n\n3,\"\"\r";
    std::string all = "\xEF\xBB\xBF\"a\nheader\",b\n";
    while (all.size() < size) all += text;
    return all + "4,\"last\"";
  }
  static read_outcome read(std::string_view bytes, bool whole) {
    std::vector<left_out> none;
    return slow_csv(bytes, options(), none, whole);
  }
  static read_outcome read_on(std::string_view bytes) {
    std::vector<left_out> none;
    return slow_csv(bytes, {}, none);
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
  static std::string sample() { return sample(5 + 50 * 21 + 2); }
  static std::string sample(std::size_t size) { return prose(size); }
  static read_outcome read(std::string_view bytes, bool whole) {
    return slow_fixed_lengths(bytes, options(), whole);
  }
  static read_outcome read_on(std::string_view bytes) {
    reader::options_type o = options();
    o.header_size = 0;
    return slow_fixed_lengths(bytes, o);
  }
};

struct whole_files {
  using reader = leat::whole_file_reader;
  static reader::options_type options() { return {}; }
  static std::string sample() { return sample(1000); }
  static std::string sample(std::size_t size) { return prose(size); }
  static read_outcome read(std::string_view bytes, bool whole) {
    return slow_whole_file(bytes, whole);
  }
};

// Like Format::read(), but for compressed bytes. Throws std::logic_error if damaged bytes inflate
// without an error to a text other than `plain`.
template <class Format>
read_outcome read_by_definition(leat::compression format, const std::string& bytes,
                                const std::string& plain) {
  // A file of 0 bytes is empty with every compression.
  if (format == leat::compression::none || bytes.empty()) return Format::read(bytes, true);
  const inflated all = inflate_all(format, bytes, SIZE_MAX, 256 << 10);
  const bool whole = all.result.status == leat::decompression_status::complete;
  if (whole && all.text != plain) throw std::logic_error("wrong bytes were inflated, unseen");
  return Format::read(all.text, whole);
}

template <class Format>
leat::task<read_outcome> read_with_reader(std::string path, leat::compression format) {
  auto options = Format::options();
  options.compression = format;
  return read_outcome_of<typename Format::reader>(std::move(path), options);
}

// A file that tests change in place.
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

// Flips each `stride`-th bit of a file, one at a time. Fails the test at the first bit for which
// `problem_at` returns a text. Its argument is the number of the byte.
template <class ProblemAt>
leat::task<> flip_bits(sample_file& f, std::size_t stride, ProblemAt problem_at) {
  const std::size_t bits = f.content().size() * 8;
  for (std::size_t bit = 0; bit < bits; bit += stride) {
    f.flip(bit);
    const std::string problem = co_await problem_at(bit / 8);
    if (!problem.empty()) FAIL("bit " << bit << ": " << problem);
    f.flip(bit);
  }
}

// Like flip_bits(), but cuts `stride` more bytes off the end each time. The argument of
// `problem_at` is the remaining size.
template <class ProblemAt>
leat::task<> cut_shorter(sample_file& f, std::size_t stride, ProblemAt problem_at) {
  for (std::size_t left = f.content().size(); left > 0;) {
    left -= std::min(left, stride);
    f.cut(left);
    const std::string problem = co_await problem_at(left);
    if (!problem.empty()) FAIL("cut at " << left << ": " << problem);
  }
}

inline std::string compressed(const std::string& plain, leat::compression format) {
  if (format == leat::compression::none) return plain;
  const int window = format == leat::compression::gzip ? gzip_window : zlib_window;
  return zlib_deflated(plain, {.window_bits = window});
}

}  // namespace leat_test::damaged
