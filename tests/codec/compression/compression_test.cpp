#include "leat/codec/compression/compression.hpp"

#include "leat/codec/tfrecord/tfrecord.hpp"
#include "support/records/texts.hpp"
#include "support/records/zlib_oracle.hpp"
#include "tensor/plain_test.hpp"

namespace compression_test {

using leat::as_bytes;
using leat::compression;

TEST_CASE("compression: parses the names of TensorFlow and an empty name") {
  // Replaces the nested TFRecordOptions of TensorFlow: the options of a writer contain the
  // compression itself.
  CHECK(leat::parse_compression("") == compression::none);
  CHECK(leat::parse_compression("none") == compression::none);
  CHECK(leat::parse_compression("ZLIB") == compression::zlib);
  CHECK(leat::parse_compression("GZIP") == compression::gzip);
  for (const auto c : {compression::none, compression::zlib, compression::gzip}) {
    CHECK(leat::parse_compression(leat::to_string(c)) == c);
  }
}

TEST_CASE("compression_formats: lists each compression with its name and extensions") {
  const auto formats = leat::compression_formats();
  REQUIRE(formats.size() == 2);
  for (const leat::compression_format& f : formats) {
    CHECK(f.type == compression(1 + (&f - formats.data())));
    CHECK(leat::parse_compression(f.name) == f.type);
    CHECK(f.extensions.front().starts_with('.'));
  }
}

TEST_CASE("compression: refuses an unknown name and repeats it in the message") {
  for (const std::string text : {"BZ2", "5", "gzip", "ZLIB ", "NONE", "LZ4"}) {
    const std::string what = leat_test::refusal([&] { return leat::parse_compression(text); });
    CHECK(contains(what, "unknown compression '" + text + "': use none, ZLIB, GZIP"));
  }
}

TEST_CASE("detect_compression: detects the output of zlib at every level") {
  for (int level = 0; level <= 9; ++level) {
    const std::string zlib =
        leat_test::zlib_deflated("text", {.window_bits = leat_test::zlib_window, .level = level});
    const std::string gzip = leat_test::zlib_deflated("text", {.level = level});
    CHECK(leat::detect_compression(as_bytes(zlib)) == compression::zlib);
    CHECK(leat::detect_compression(as_bytes(gzip)) == compression::gzip);
    CHECK(leat::detect_tfrecord_compression(as_bytes(zlib)) == compression::zlib);
    CHECK(leat::detect_tfrecord_compression(as_bytes(gzip)) == compression::gzip);
  }
}

TEST_CASE("detect_compression: treats short or other data as uncompressed") {
  using namespace std::string_literals;
  for (const std::string& text :
       {""s, "\x1f"s, "\x1f\x8b"s, "\x1f\x8b\x07"s, "\x78\x9c"s, "\x78\x9d\x03"s, "x "s, "x is"s,
        "\x78\xbb\x03"s, "\x78\x9c\x07"s, "text\n"s, "\x58\x85\x03"s}) {
    CHECK(leat::detect_compression(as_bytes(text)) == compression::none);
  }
}

TEST_CASE("detect_compression: detects zlib with any window size by inflating a sample") {
  for (int bits = 9; bits <= 15; ++bits) {
    for (int level = 0; level <= 9; ++level) {
      for (const std::size_t size : {std::size_t{0}, std::size_t{4}, std::size_t{100'000}}) {
        const std::string text = leat_test::prose(size);
        const std::string all =
            leat_test::zlib_deflated(text, {.window_bits = bits, .level = level});
        REQUIRE(leat::detect_compression(as_bytes(all)) == compression::zlib);
        const std::string some = all.substr(0, leat::compression_sample_size);
        REQUIRE(leat::detect_compression(as_bytes(some)) == compression::zlib);
        REQUIRE_FALSE(leat::needs_larger_sample(as_bytes(some)));
        if (size < 1000) continue;
        const std::string few = all.substr(0, 20);
        REQUIRE(leat::needs_larger_sample(as_bytes(few)) == (bits < 15));
      }
    }
  }
}

TEST_CASE("needs_larger_sample: is true until the bytes decide") {
  using namespace std::string_literals;
  for (const std::string& text : {""s, "\x1f"s, "\x1f\x8b"s, "x"s, "\x78\x9c"s, "\x58\x85\x04"s}) {
    CHECK(leat::needs_larger_sample(as_bytes(text)));
  }
  for (const std::string& text : {"a"s, "\x1f\x8c"s, "\x1f\x8b\x07"s, "\x1f\x8b\x08"s, "x "s,
                                  "\x78\x9c\x03"s, "\x78\x9c\x07"s}) {
    CHECK_FALSE(leat::needs_larger_sample(as_bytes(text)));
  }
}

TEST_CASE("detect_compression: does not trust the header of a small window alone") {
  // Every pair of bytes that is a header of a window below 32 KiB, followed by possible
  // continuations of a text.
  const std::string texts[] = {"",
                               "a",
                               "alpha,beta\n1,2\n",
                               "\n",
                               "\nYES\n",
                               std::string(5000, 'B'),
                               leat_test::prose(5000)};
  int headers = 0;
  for (unsigned first = 0x08; first < 0x78; first += 0x10) {
    for (unsigned second = 0; second < 256; ++second) {
      if ((first * 256 + second) % 31 != 0 || (second & 0x20U) != 0) continue;
      ++headers;
      const std::string header = {static_cast<char>(first), static_cast<char>(second)};
      for (const std::string& text : texts) {
        REQUIRE(leat::detect_compression(as_bytes(header + text)) == compression::none);
        if (text.size() < 10) continue;
        REQUIRE_FALSE(leat::needs_larger_sample(as_bytes(header + text.substr(0, 1000))));
      }
    }
  }
  CHECK(headers > 20);
  const std::string small = leat_test::zlib_deflated("text", {.window_bits = 9});
  for (std::size_t size = 0; size < small.size(); ++size) {
    CHECK(leat::detect_compression(as_bytes(small.substr(0, size))) == compression::none);
  }
}

TEST_CASE("detect_tfrecord_compression: a record's header outweighs a magic number") {
  // Lengths whose first bytes equal the magic numbers of zlib and gzip.
  for (const std::uint64_t length : {std::uint64_t{0x039c78}, std::uint64_t{0x088b1f}}) {
    std::vector<std::byte> file;
    leat::append_tfrecord(file, as_bytes(std::string(length, 'x')));
    CHECK(leat::detect_compression(file) != compression::none);
    CHECK(leat::detect_tfrecord_compression(file) == compression::none);
    CHECK(leat::detect_tfrecord_compression(leat::byte_view(file).first(12)) == compression::none);
    file[9] ^= std::byte{1};
    CHECK(leat::detect_tfrecord_compression(file) != compression::none);
  }
}

}  // namespace compression_test
