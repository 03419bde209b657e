// Streams that are cut off, damaged, hostile or larger than allowed.

#include "leat/codec/compression/decompressor.hpp"

#include "support/effort.hpp"
#include "support/records/inflating.hpp"
#include "support/records/texts.hpp"
#include "support/records/zlib_oracle.hpp"
#include "tensor/plain_test.hpp"

namespace inflater_damage_test {

using leat::compression;
using status = leat::decompression_status;
using leat_test::gzip_window;
using leat_test::inflate_all;
using leat_test::zlib_deflated;
using leat_test::zlib_window;

// A small stream with each kind of block, for each format, with each field of a header.
struct sample {
  compression format;
  std::string stream;
  std::string text;
};

std::vector<sample> samples() {
  const std::string text = leat_test::prose(300) + std::string(300, 'x');
  static Bytef name[] = "name";
  static Bytef extra[] = {1, 2, 3};
  gz_header header{};
  header.name = name;
  header.comment = name;
  header.extra = extra;
  header.extra_len = sizeof extra;
  header.hcrc = 1;
  std::vector<sample> all;
  for (const int window : {zlib_window, gzip_window}) {
    const auto format = window == zlib_window ? compression::zlib : compression::gzip;
    for (const int level : {0, 9}) {
      all.push_back({format, zlib_deflated(text, {.window_bits = window, .level = level}), text});
    }
    all.push_back(
        {format, zlib_deflated(text, {.window_bits = window, .strategy = Z_FIXED}), text});
  }
  const std::string whole = zlib_deflated(text, {.header = &header});
  all.push_back({compression::gzip, whole, text});
  all.push_back({compression::gzip, whole + zlib_deflated("") + whole, text + text});
  return all;
}

// Returns a gzip stream of zeros without its trailer. Each deflated piece is a thousandth of its
// inflated size.
std::string zeros_without_trailer(std::size_t pieces) {
  leat_test::zlib_deflater deflater({.level = 9});
  const std::string piece(std::size_t{1} << 20, '\0');
  const std::string first = deflater.add(piece, Z_FULL_FLUSH);
  const std::string other = deflater.add(piece, Z_FULL_FLUSH);
  std::string stream = first;
  for (std::size_t i = 1; i < pieces; ++i) stream += other;
  return stream;
}

TEST_CASE("inflater: never accepts a truncated stream as complete") {
  for (const sample& s : samples()) {
    for (std::size_t size = 0; size < s.stream.size(); ++size) {
      for (const std::size_t piece : {std::size_t{1}, std::size_t{9}, SIZE_MAX}) {
        const auto got = inflate_all(s.format, std::string_view(s.stream).substr(0, size), piece);
        REQUIRE(s.text.starts_with(got.text));
        // If the cut is at the end of the first of two members, the stream is complete.
        const bool at_member = got.result.status == status::complete;
        REQUIRE((at_member || got.result.status == status::truncated));
        if (at_member) {
          REQUIRE(leat_test::zlib_inflate(s.stream, gzip_window).consumed <= size);
          REQUIRE(s.text.size() == 2 * got.text.size());
        }
        REQUIRE(got.result.offset == size);
      }
    }
  }
}

TEST_CASE("inflater: a flipped bit never changes data unseen") {
  std::size_t harmless = 0;
  for (const sample& s : samples()) {
    for (std::size_t bit = 0; bit < s.stream.size() * 8; ++bit) {
      std::string damaged = s.stream;
      damaged[bit / 8] = static_cast<char>(damaged[bit / 8] ^ (1 << (bit % 8)));
      const auto got = inflate_all(s.format, damaged);
      if (got.result.status == status::complete) {
        // A header without a checksum does not protect its time, system and name.
        REQUIRE(got.text == s.text);
        ++harmless;
      } else {
        REQUIRE((got.result.failed() || got.result.status == status::truncated));
        REQUIRE(got.result.offset <= s.stream.size());
      }
    }
  }
  CHECK(harmless > 0);
}

// A corrupt stream can expose the tables and the history of ISA-L.
TEST_CASE("inflater: the output of a corrupt stream does not depend on earlier streams") {
  const std::string text = leat_test::prose(1000);
  const std::string other = zlib_deflated(leat_test::prose(20'000) + std::string(20'000, '\xE9'));
  std::string stream = zlib_deflated(text);
  const auto used = leat::make_decompressor(compression::gzip);
  for (std::size_t bit = 0; bit < 8 * stream.size(); ++bit) {
    const auto flip = [&] {
      stream[bit / 8] = static_cast<char>(stream[bit / 8] ^ (1 << bit % 8));
    };
    flip();
    used->restart();
    static_cast<void>(inflate_all(*used, other));
    used->restart();
    const leat_test::inflated again = inflate_all(*used, stream);
    const leat_test::inflated fresh = inflate_all(compression::gzip, stream);
    if (again.text != fresh.text || again.result.status != fresh.result.status) FAIL("bit " << bit);
    flip();
  }
}

TEST_CASE("inflater: reports the failed check, its offset and the expected value") {
  const std::string text = leat_test::prose(100);
  std::string gzip = zlib_deflated(text);
  gzip[gzip.size() - 7] ^= 1;
  auto r = inflate_all(compression::gzip, gzip).result;
  CHECK(r.status == status::bad_checksum);
  CHECK(r.offset == gzip.size() - 8);
  CHECK((r.expected ^ r.actual) == 0x100);
  CHECK(contains(leat::describe(r), "checksum of the decompressed data is wrong: expected 0x"));
  gzip = zlib_deflated(text);
  gzip[gzip.size() - 4] ^= 1;
  r = inflate_all(compression::gzip, gzip, 1).result;
  CHECK(r.status == status::bad_size);
  CHECK(leat::describe(r) ==
        "size of the decompressed data (modulo 2^32) is wrong: expected 101, actual 100");
  std::string zlib = zlib_deflated(text, {.window_bits = zlib_window});
  zlib[zlib.size() - 1] ^= 1;
  r = inflate_all(compression::zlib, zlib).result;
  CHECK(r.status == status::bad_checksum);
  CHECK(r.offset == zlib.size() - 4);
  CHECK((r.expected ^ r.actual) == 1);
  CHECK(leat::code_of(r.status) == leat::errc::data_loss);
}

TEST_CASE("inflater: a failure is final and adds no output") {
  std::string gzip = zlib_deflated(leat_test::prose(1000));
  gzip[gzip.size() - 8] ^= 1;
  const auto inflater = leat::make_decompressor(compression::gzip);
  const auto first = inflate_all(*inflater, gzip).result;
  CHECK(first.status == status::bad_checksum);
  std::byte room[100];
  const auto again = inflater->decompress(leat::as_bytes(gzip), room);
  CHECK(again.status == first.status);
  CHECK(again.offset == first.offset);
  CHECK(again.consumed + again.produced == 0);
  CHECK(inflater->finish().status == first.status);
}

TEST_CASE("inflater: reports data that is not a stream, or is of another format") {
  using namespace std::string_literals;
  const std::string gzip = zlib_deflated("a");
  const std::string zlib = zlib_deflated("a", {.window_bits = zlib_window});
  CHECK(inflate_all(compression::gzip, zlib).result.status == status::bad_header);
  CHECK(inflate_all(compression::zlib, gzip).result.status == status::bad_header);
  CHECK(inflate_all(compression::zlib, "not zlib").result.status == status::bad_header);
  CHECK(inflate_all(compression::gzip, "\x1f\x8b\x09"s).result.status == status::bad_header);
  CHECK(inflate_all(compression::gzip, "\x1f\x8b\x08\x20"s).result.status == status::bad_header);
  CHECK(inflate_all(compression::zlib, "\x88\x1c"s).result.status == status::bad_header);  // 64 KiB
  CHECK(inflate_all(compression::gzip, "").result.status == status::truncated);
  CHECK(inflate_all(compression::zlib, "").result.status == status::truncated);
}

TEST_CASE("inflater: refuses a stream that needs a dictionary") {
  leat_test::zlib_deflater deflater({.window_bits = zlib_window});
  const Bytef dictionary[] = "dictionary";
  REQUIRE(::deflateSetDictionary(&deflater.stream(), dictionary, sizeof dictionary) == Z_OK);
  const auto r = inflate_all(compression::zlib, deflater.add("dictionary", Z_FINISH)).result;
  CHECK(r.status == status::dictionary);
  CHECK(leat::code_of(r.status) == leat::errc::unimplemented);
  CHECK(contains(leat::describe(r), "dictionary"));
}

TEST_CASE("inflater: reports other data after the end at its offset") {
  using namespace std::string_literals;
  const std::string gzip = zlib_deflated("a");
  const std::string zlib = zlib_deflated("a", {.window_bits = zlib_window});
  const std::string zeros(20, '\0');
  for (const std::size_t piece : {std::size_t{1}, std::size_t{4}, SIZE_MAX}) {
    for (const std::string& tail : {"x"s, "\x1f\x8a more"s, "\x1f\x1f"s}) {
      for (const std::string& padding : {""s, zeros}) {
        const auto got = inflate_all(compression::gzip, gzip + padding + tail, piece);
        CHECK(got.result.status == status::trailing_data);
        CHECK(got.result.offset == gzip.size() + padding.size());
        CHECK(got.text == "a");
      }
    }
    for (const std::string& tail : {"x"s, "\0"s, zlib}) {
      const auto got = inflate_all(compression::zlib, zlib + tail, piece);
      CHECK(got.result.status == status::trailing_data);
      CHECK(got.result.offset == zlib.size());
    }
  }
}

// Inflates a stream into a buffer that is filled with the byte `before`.
std::string inflated_over(const std::string& stream, char before) {
  const auto inflater = leat::make_decompressor(compression::gzip);
  std::string out(std::size_t{1} << 19, before);
  const std::span<std::byte> to(reinterpret_cast<std::byte*>(out.data()), out.size());
  out.resize(inflater->decompress(leat::as_bytes(stream), to).produced);
  return out;
}

// With corrupt codes in the header of a later block, ISA-L copies over a distance of 0. Dozens of
// the flipped bits cause this.
TEST_CASE("inflater: a corrupt stream exposes no previous contents of the output") {
  const std::string text =
      "a header\n\none\r\n" + leat_test::prose(std::size_t{1} << 20) + "\n\n\r\nthe last";
  std::string stream = zlib_deflated(text);
  for (std::size_t bit = 831'200; bit < 831'600; bit += leat_test::slow_build ? 7 : 1) {
    const auto flip = [&] {
      stream[bit / 8] = static_cast<char>(stream[bit / 8] ^ (1 << bit % 8));
    };
    flip();
    INFO("bit " << bit);
    CHECK(inflated_over(stream, '\1') == inflated_over(stream, '\2'));
    flip();
  }
}

TEST_CASE("inflater: a bomb is stopped by its ratio") {
  // 10 MiB that would inflate to 10 GiB.
  const std::string bomb = zeros_without_trailer(10 << 10);
  CHECK(bomb.size() < 11 << 20);
  const auto inflater = leat::make_decompressor(compression::gzip);
  std::vector<std::byte> room(1 << 16);
  leat::byte_view in = leat::as_bytes(bomb);
  leat::decompression_result r;
  do {
    r = inflater->decompress(in, room);
    in = in.subspan(r.consumed);
  } while (!r.failed());
  CHECK(r.status == status::too_dense);
  CHECK(inflater->bytes_produced() <= leat::decompression_options{}.free_output + room.size());
  CHECK(leat::code_of(r.status) == leat::errc::resource_exhausted);
  CHECK(contains(leat::describe(r), "max_ratio"));
}

TEST_CASE("inflater: reads dense data if the ratio limit is raised") {
  const std::string dense = zeros_without_trailer(100);
  const auto got = inflate_all(compression::gzip, dense, SIZE_MAX, 1 << 18, {.max_ratio = 2000});
  CHECK(got.result.status == status::truncated);
  CHECK(got.text.size() == std::size_t{100} << 20);
}

TEST_CASE("inflater: max_output is a limit to the byte, over all members") {
  const std::string text = leat_test::prose(50'000);
  const std::string stream = zlib_deflated(text) + zlib_deflated(text) + zlib_deflated("");
  for (const std::size_t room : {std::size_t{1}, std::size_t{999}, std::size_t{1} << 20}) {
    for (const std::size_t piece : {std::size_t{7}, SIZE_MAX}) {
      const auto whole =
          inflate_all(compression::gzip, stream, piece, room, {.max_output = 2 * text.size()});
      REQUIRE(whole.result.status == status::complete);
      REQUIRE(whole.text == text + text);
      const auto cut =
          inflate_all(compression::gzip, stream, piece, room, {.max_output = 2 * text.size() - 1});
      REQUIRE(cut.result.status == status::too_large);
      REQUIRE(cut.text == (text + text).substr(0, 2 * text.size() - 1));
    }
  }
  CHECK(contains(leat::describe({.status = status::too_large}), "max_output"));
}

TEST_CASE("inflater: a member of more than 4 GiB has the right size and checksum") {
  const std::size_t pieces = (std::size_t{4} << 10) + 1;
  std::string stream = zeros_without_trailer(pieces);
  stream += std::string("\x03\x00", 2);  // the last block: empty
  const std::vector<Bytef> piece(std::size_t{1} << 20);
  const auto piece_crc = ::crc32(0, piece.data(), static_cast<uInt>(piece.size()));
  uLong crc = 0;
  for (std::size_t i = 0; i < pieces; ++i) {
    crc = ::crc32_combine(crc, piece_crc, static_cast<z_off_t>(piece.size()));
  }
  char trailer[8];
  leat::store_little_endian(reinterpret_cast<std::byte*>(trailer), static_cast<std::uint32_t>(crc));
  leat::store_little_endian(reinterpret_cast<std::byte*>(trailer + 4),
                            static_cast<std::uint32_t>(pieces * piece.size()));
  stream.append(trailer, sizeof trailer);
  const auto inflater = leat::make_decompressor(compression::gzip, {.max_ratio = 2000});
  std::vector<std::byte> room(1 << 18);
  leat::byte_view in = leat::as_bytes(stream);
  leat::decompression_result r;
  do {
    r = inflater->decompress(in, room);
    in = in.subspan(r.consumed);
  } while (r.status == status::output_full);
  CHECK(r.status == status::need_input);
  CHECK(inflater->finish().status == status::complete);
  CHECK(inflater->bytes_produced() == pieces * piece.size());
}

}  // namespace inflater_damage_test
