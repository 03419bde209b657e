#include "leat/codec/compression/decompressor.hpp"

#include <array>

#include <sys/mman.h>

#include "leat/codec/tfrecord/tfrecord.hpp"
#include "support/hex.hpp"
#include "support/records/inflating.hpp"
#include "support/records/texts.hpp"
#include "support/records/zlib_oracle.hpp"
#include "tensor/plain_test.hpp"

namespace inflater_test {

using leat::compression;
using status = leat::decompression_status;
using leat_test::from_hex;
using leat_test::gzip_window;
using leat_test::inflate_all;
using leat_test::inflated;
using leat_test::zlib_deflated;
using leat_test::zlib_window;

int window_of(compression c) { return c == compression::zlib ? zlib_window : gzip_window; }

void require_text(std::string_view text, compression format, std::string_view stream,
                  std::size_t piece = SIZE_MAX, std::size_t room = 4096) {
  const inflated got = inflate_all(format, stream, piece, room);
  REQUIRE(got.result.status == status::complete);
  REQUIRE(got.text == text);
}

// A gzip header with every field.
struct full_header {
  full_header() {
    header.text = 1;
    header.time = 1'600'000'000;
    header.os = 3;
    header.extra = extra.data();
    header.extra_len = static_cast<uInt>(extra.size());
    header.name = name.data();
    header.comment = comment.data();
    header.hcrc = 1;
  }
  std::array<Bytef, 7> extra{'B', 'C', 3, 0, 0, 1, 2};
  std::array<Bytef, 10> name{'a', '.', 't', 'f', 'r', 'e', 'c'};
  std::array<Bytef, 5> comment{'h', 'i'};
  gz_header header{};
};

TEST_CASE("inflater: inflates the output of zlib at every level, strategy and size") {
  const std::string texts[] = {"",
                               "a",
                               leat_test::prose(1000),
                               leat_test::prose(200'000),
                               std::string(100'000, 'x'),
                               leat_test::noise(100'000)};
  for (const auto format : {compression::zlib, compression::gzip}) {
    for (const std::string& text : texts) {
      for (const int level : {0, 1, 6, 9}) {
        for (const int strategy :
             {Z_DEFAULT_STRATEGY, Z_FILTERED, Z_HUFFMAN_ONLY, Z_RLE, Z_FIXED}) {
          const int bits = window_of(format);
          require_text(
              text, format,
              zlib_deflated(text, {.window_bits = bits, .level = level, .strategy = strategy}));
        }
      }
    }
  }
}

TEST_CASE("inflater: the output does not depend on the pieces of the input") {
  const std::string text = leat_test::prose(3000) + std::string(500, 'x') + leat_test::noise(300);
  const std::size_t sizes[] = {1, 2, 3, 5, 7, 8, 9, 13, 20, 100, 65536};
  full_header all_fields;
  for (const auto format : {compression::zlib, compression::gzip}) {
    for (const int strategy : {Z_DEFAULT_STRATEGY, Z_FIXED}) {
      const std::string stream = zlib_deflated(
          text, {.window_bits = window_of(format),
                 .strategy = strategy,
                 .header = format == compression::gzip ? &all_fields.header : nullptr});
      for (const std::size_t piece : sizes) {
        for (const std::size_t room : sizes) {
          const auto got = inflate_all(format, stream, piece, room);
          REQUIRE(got.result.status == status::complete);
          REQUIRE(got.result.offset == stream.size());
          REQUIRE(got.text == text);
        }
      }
    }
  }
}

TEST_CASE("inflater: a stream may be cut in two anywhere, and be followed by another") {
  full_header all_fields;
  const std::string text = leat_test::prose(200);
  const std::string member = zlib_deflated(text, {.header = &all_fields.header});
  const std::string stream = member + zlib_deflated("") + member;
  const auto inflater = leat::make_decompressor(compression::gzip);
  for (std::size_t cut = 0; cut <= stream.size(); ++cut) {
    inflater->restart();
    std::string out(1000, '\0');
    const std::span<std::byte> room(reinterpret_cast<std::byte*>(out.data()), out.size());
    const auto bytes = leat::as_bytes(stream);
    const auto first = inflater->decompress(bytes.first(cut), room);
    REQUIRE(first.status == status::need_input);
    REQUIRE(first.consumed == cut);
    const auto second = inflater->decompress(bytes.subspan(cut), room.subspan(first.produced));
    REQUIRE(second.consumed == stream.size() - cut);
    REQUIRE(inflater->finish().status == status::complete);
    REQUIRE(out.substr(0, first.produced + second.produced) == text + text);
    REQUIRE(inflater->members() == 3);
    REQUIRE(inflater->bytes_consumed() == stream.size());
    REQUIRE(inflater->bytes_produced() == 2 * text.size());
  }
}

TEST_CASE("inflater: reads the stored blocks of TensorFlow's tests") {
  const std::string record = from_hex("0300000000000000b099490e6162636e57f121");
  require_text(record, compression::zlib,
               from_hex("7801011300ecff0300000000000000b099490e6162636e57f1211c7904a1"));
  require_text(record, compression::gzip,
               from_hex("1f8b08000000000000ff011300ecff"
                        "0300000000000000b099490e6162636e57f12132a97b3913000000"));
}

TEST_CASE("inflater: a flush after every byte and empty blocks change nothing") {
  std::vector<std::byte> record;
  leat::append_tfrecord(record, leat::as_bytes("small record"));
  for (const int flush : {Z_FULL_FLUSH, Z_SYNC_FLUSH, Z_PARTIAL_FLUSH, Z_BLOCK}) {
    leat_test::zlib_deflater deflater({.window_bits = zlib_window});
    std::string stream;
    for (const char c : leat::as_text(record)) stream += deflater.add({&c, 1}, flush);
    stream += deflater.add("", Z_FULL_FLUSH);
    stream += from_hex("000000ffff000000ffff");  // two empty stored blocks
    stream += deflater.add("", Z_FINISH);
    for (const std::size_t piece : {std::size_t{1}, std::size_t{3}, SIZE_MAX}) {
      require_text(leat::as_text(record), compression::zlib, stream, piece, 1 + piece % 7);
    }
  }
}

TEST_CASE("inflater: a stream of a smaller window is read") {
  const std::string text = leat_test::prose(100'000);
  for (int bits = 9; bits < 15; ++bits) {
    require_text(text, compression::zlib, zlib_deflated(text, {.window_bits = bits}));
    require_text(text, compression::gzip, zlib_deflated(text, {.window_bits = bits + 16}));
  }
}

TEST_CASE("inflater: skips zeros between and after gzip members") {
  const std::string a = zlib_deflated("a");
  const std::string b = zlib_deflated("b");
  const std::string zeros(513, '\0');
  for (const std::size_t piece : {std::size_t{1}, std::size_t{100}, SIZE_MAX}) {
    require_text("a", compression::gzip, a + zeros, piece);
    require_text("ab", compression::gzip, a + zeros + b + zeros, piece);
  }
}

TEST_CASE("inflater: reads the next stream after a reset in any state") {
  const std::string text = leat_test::prose(100'000);
  for (const auto format : {compression::zlib, compression::gzip}) {
    const std::string stream = zlib_deflated(text, {.window_bits = window_of(format)});
    const auto inflater = leat::make_decompressor(format);
    for (const std::size_t before :
         {std::size_t{0}, std::size_t{5}, stream.size() / 2, stream.size()}) {
      CHECK(inflate_all(*inflater, stream.substr(0, before) + (before == 5 ? "damage" : ""))
                .result.status != status::need_input);
      inflater->restart();
      CHECK(inflater->bytes_produced() == 0);
      const auto got = inflate_all(*inflater, stream);
      CHECK(got.result.status == status::complete);
      CHECK(got.text == text);
      inflater->restart();
    }
  }
}

TEST_CASE("inflater: refuses invalid options") {
  const auto refused = [](compression format, const leat::decompression_options& options) {
    return refusal([&] { return leat::make_decompressor(format, options); });
  };
  CHECK(contains(refused(compression::none, {}), "format is compression::none"));
  CHECK(contains(refused(compression::gzip, {.max_output = 0}), "max_output"));
  CHECK(contains(refused(compression::gzip, {.max_ratio = 0}), "max_ratio"));
  CHECK(contains(refused(compression::gzip, {.max_empty_members = 0}), "max_empty_members"));
}

// Two pages, of which the second is inaccessible.
class guarded_page {
 public:
  guarded_page()
      : memory_(
            ::mmap(nullptr, 2 * size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)) {
    REQUIRE(memory_ != MAP_FAILED);
    REQUIRE(::mprotect(static_cast<char*>(memory_) + size, size, PROT_NONE) == 0);
  }
  guarded_page(const guarded_page&) = delete;
  guarded_page& operator=(const guarded_page&) = delete;
  ~guarded_page() { ::munmap(memory_, 2 * size); }

  // Returns the last `count` bytes before the inaccessible page.
  std::span<std::byte> last(std::size_t count) {
    return {static_cast<std::byte*>(memory_) + size - count, count};
  }

  static constexpr std::size_t size = 1 << 18;

 private:
  void* memory_;
};

TEST_CASE("inflater: accesses no byte after its input and its output") {
  guarded_page in;
  guarded_page out;
  const std::string text = leat_test::prose(70'000) + std::string(30'000, 'x');
  for (const auto format : {compression::zlib, compression::gzip}) {
    const std::string stream = zlib_deflated(text, {.window_bits = window_of(format)});
    const auto from = in.last(stream.size());
    std::copy_n(leat::as_bytes(stream).data(), stream.size(), from.data());
    for (const std::size_t room : {std::size_t{1}, std::size_t{7}, std::size_t{258},
                                   std::size_t{32768}, std::size_t{40'000}, text.size()}) {
      const auto inflater = leat::make_decompressor(format);
      std::size_t consumed = 0;
      std::string got;
      do {
        const auto to = out.last(room);
        const auto r = inflater->decompress(from.subspan(consumed), to);
        REQUIRE_FALSE(r.failed());
        consumed += r.consumed;
        got += leat::as_text(to.first(r.produced));
      } while (inflater->finish().status != status::complete);
      REQUIRE(got == text);
    }
  }
}

}  // namespace inflater_test
