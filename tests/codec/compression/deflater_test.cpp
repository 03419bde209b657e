#include "leat/codec/compression/deflater.hpp"

#include "leat/codec/tfrecord/tfrecord.hpp"
#include "support/records/inflating.hpp"
#include "support/records/texts.hpp"
#include "support/records/zlib_oracle.hpp"
#include "tensor/plain_test.hpp"

namespace deflater_test {

using leat::compression;
using leat::deflate_flush;
using leat::deflate_strategy;

// Deflates the whole text in pieces, into buffers of `room` bytes, and flushes after each piece.
std::string deflated(leat::deflater& deflater, std::string_view text, std::size_t piece = SIZE_MAX,
                     std::size_t room = 4096, deflate_flush between = deflate_flush::none) {
  std::string all;
  std::string out(room, '\0');
  const std::span<std::byte> to(reinterpret_cast<std::byte*>(out.data()), out.size());
  for (bool last = false; !last;) {
    std::string_view in = text.substr(0, piece);
    text.remove_prefix(in.size());
    last = text.empty();
    leat::deflate_result r;
    do {
      r = deflater.deflate(leat::as_bytes(in), to, last ? deflate_flush::finish : between);
      in.remove_prefix(r.consumed);
      all.append(out, 0, r.produced);
    } while (!r.done);
  }
  return all;
}

std::string deflated(compression format, std::string_view text,
                     const leat::deflate_options& options = {}) {
  leat::deflater deflater(format, options);
  return deflated(deflater, text);
}

// The records of TensorFlow's tests: "Record j of file i".
std::string file_of_seven(int file) {
  std::vector<std::byte> bytes;
  for (int i = 0; i < 7; ++i) {
    const std::string record = "Record " + std::to_string(i) + " of file " + std::to_string(file);
    leat::append_tfrecord(bytes, leat::as_bytes(record));
  }
  return std::string(leat::as_text(bytes));
}

TEST_CASE("deflater: writes the bytes of zlib.compress() for small inputs") {
  for (int file = 0; file < 2; ++file) {
    const std::string plain = file_of_seven(file);
    const std::string expected =
        leat_test::zlib_deflated(plain, {.window_bits = leat_test::zlib_window});
    CHECK(deflated(compression::zlib, plain) == expected);
    CHECK(deflated(compression::zlib, plain, {.level = 6}) == expected);
  }
}

TEST_CASE("deflater: writes the bytes of zlib for every option") {
  const std::string text =
      leat_test::prose(60'000) + std::string(3000, 'x') + leat_test::noise(500);
  const std::pair<deflate_strategy, int> strategies[] = {
      {deflate_strategy::standard, Z_DEFAULT_STRATEGY},
      {deflate_strategy::filtered, Z_FILTERED},
      {deflate_strategy::huffman_only, Z_HUFFMAN_ONLY},
      {deflate_strategy::run_length, Z_RLE},
      {deflate_strategy::fixed, Z_FIXED}};
  for (const auto format : {compression::zlib, compression::gzip}) {
    const int gzip = format == compression::gzip ? 16 : 0;
    for (int level = -1; level <= 9; ++level) {
      CHECK(deflated(format, text, {.level = level}) ==
            leat_test::zlib_deflated(text,
                                     {.window_bits = 15 + gzip, .level = level, .mem_level = 9}));
    }
    for (int bits = 9; bits <= 15; ++bits) {
      CHECK(deflated(format, text, {.window_bits = bits, .mem_level = 1}) ==
            leat_test::zlib_deflated(text, {.window_bits = bits + gzip, .mem_level = 1}));
    }
    for (const auto& [ours, theirs] : strategies) {
      CHECK(deflated(format, text, {.strategy = ours}) ==
            leat_test::zlib_deflated(
                text, {.window_bits = 15 + gzip, .mem_level = 9, .strategy = theirs}));
    }
  }
}

TEST_CASE("deflater: the bytes do not depend on the sizes of the input pieces and the output") {
  const std::string text = leat_test::prose(3000) + leat_test::noise(1000);
  const std::string expected = deflated(compression::gzip, text);
  leat::deflater deflater(compression::gzip);
  for (const std::size_t piece : {1U, 2U, 3U, 7U, 100U, 65536U}) {
    for (const std::size_t room : {16U, 17U, 20U, 100U, 65536U}) {
      deflater.reset();
      REQUIRE(deflated(deflater, text, piece, room) == expected);
      REQUIRE(deflater.bytes_consumed() == text.size());
      REQUIRE(deflater.bytes_produced() == expected.size());
    }
  }
}

TEST_CASE("deflater: after a flush all input can be inflated from the output") {
  const std::string text = leat_test::prose(2000);
  for (const auto flush : {deflate_flush::sync, deflate_flush::full}) {
    for (const std::size_t room : {std::size_t{16}, std::size_t{4096}}) {
      leat::deflater deflater(compression::zlib);
      const auto inflater = leat::make_decompressor(compression::zlib);
      std::vector<std::byte> to(room);
      std::string got;
      for (std::size_t at = 0; at < text.size(); at += 100) {
        leat::byte_view in = leat::as_bytes(text).subspan(at, 100);
        leat::deflate_result r;
        do {
          r = deflater.deflate(in, to, flush);
          in = in.subspan(r.consumed);
          std::byte inflated[4096];
          const auto back = inflater->decompress(leat::byte_view(to).first(r.produced), inflated);
          REQUIRE(back.status == leat::decompression_status::need_input);
          got += leat::as_text({inflated, back.produced});
        } while (!r.done);
        REQUIRE(got == text.substr(0, at + 100));
      }
      REQUIRE(inflater->finish().status == leat::decompression_status::truncated);
    }
  }
}

TEST_CASE("deflater: a second flush without input adds nothing") {
  leat::deflater deflater(compression::gzip);
  std::byte out[100];
  CHECK(deflater.deflate(leat::as_bytes("abc"), out, deflate_flush::sync).produced > 0);
  const auto again = deflater.deflate({}, out, deflate_flush::sync);
  CHECK(again.done);
  CHECK(again.produced == 0);
  CHECK(deflater.deflate({}, out, deflate_flush::finish).done);
  const auto finished = deflater.deflate({}, out, deflate_flush::finish);
  CHECK(finished.done);
  CHECK(finished.produced == 0);
}

TEST_CASE("deflater: with a full flush after every byte it is read back") {
  const std::string record = file_of_seven(0);
  leat::deflater deflater(compression::gzip);
  const std::string stream = deflated(deflater, record, 1, 64, deflate_flush::full);
  const auto got = leat_test::inflate_all(compression::gzip, stream, 3, 5);
  CHECK(got.result.status == leat::decompression_status::complete);
  CHECK(got.text == record);
}

TEST_CASE("deflater: refuses and names an option out of range") {
  const auto refusal = [](const leat::deflate_options& o) {
    return leat_test::refusal([&] { return leat::deflater(compression::zlib, o); });
  };
  CHECK(contains(refusal({.level = -2}), "deflate_options::level is -2, must be -1 to 9"));
  CHECK(contains(refusal({.level = 10}), "level is 10"));
  CHECK(contains(refusal({.window_bits = 8}), "window_bits is 8, must be 9 to 15"));
  CHECK(contains(refusal({.window_bits = 16}), "window_bits is 16"));
  CHECK(contains(refusal({.mem_level = 0}), "mem_level is 0, must be 1 to 9"));
  CHECK(contains(refusal({.mem_level = 10}), "mem_level is 10"));
  CHECK(contains(refusal({.strategy = static_cast<deflate_strategy>(9)}), "strategy is 9"));
  CHECK(contains(leat_test::refusal([] { return leat::deflater(compression::none); }),
                 "format must be compression::zlib or compression::gzip"));
}

}  // namespace deflater_test
