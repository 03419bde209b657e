#include "leat/codec/compression/decode_compressed.hpp"

#include "leat/codec/decode_raw.hpp"
#include "support/records/zlib_oracle.hpp"
#include "tensor/plain_test.hpp"

namespace decode_compressed_test {

using leat::compression;
using leat::decode_compressed;
using leat::dtype;
using leat::tensor;

std::string deflated(compression type, std::string_view text) {
  if (type == compression::none) return std::string(text);
  const bool zlib = type == compression::zlib;
  return leat_test::zlib_deflated(
      text, {.window_bits = zlib ? leat_test::zlib_window : leat_test::gzip_window});
}

leat::errc code_of(const tensor& strings, compression type, std::size_t record,
                   const leat::decompression_options& options = {}) {
  try {
    static_cast<void>(decode_compressed(strings, type, options));
  } catch (const leat::decode_error& e) {
    CHECK(e.record() == record);
    for (const auto code : {leat::errc::data_loss, leat::errc::resource_exhausted}) {
      if (e.code() == code) return code;
    }
  }
  return leat::errc::unknown;
}

TEST_CASE("decode_compressed: inflates strings one by one") {
  for (const auto type : {compression::none, compression::zlib, compression::gzip}) {
    const tensor packed = tensor::of({2, 1}, {deflated(type, "AaAA"), deflated(type, "bBbb")});
    CHECK(decode_compressed(packed, type) == tensor::of({2, 1}, {"AaAA", "bBbb"}));
    const std::string large(100'000, 'x');
    CHECK(decode_compressed(leat::as_bytes(deflated(type, large)), type) == large);
    const tensor numbers = tensor::scalar(deflated(type, "AaBC"));
    CHECK(leat::decode_raw(decode_compressed(numbers, type), dtype::int16) ==
          tensor::of<std::int16_t>({2}, {24897, 17218}));
    CHECK(decode_compressed(tensor(dtype::string, {0}), type) == tensor(dtype::string, {0}));
  }
}

TEST_CASE("decode_compressed: refuses unknown compressions") {
  CHECK_THROWS_AS(leat::parse_compression("LZ4"), leat::failure);
}

TEST_CASE("decode_compressed: refuses corrupt, truncated and too large data") {
  const std::string good = deflated(compression::zlib, "AaAA");
  const auto second = [&](std::string_view text) {
    return tensor::of({2}, {std::string_view(good), text});
  };
  CHECK(code_of(second("not zlib"), compression::zlib, 1) == leat::errc::data_loss);
  for (std::size_t size = 0; size < good.size(); ++size) {
    CHECK(code_of(second(std::string_view(good).substr(0, size)), compression::zlib, 1) ==
          leat::errc::data_loss);
  }
  CHECK(code_of(second(good), compression::zlib, 0, {.max_output = 3}) ==
        leat::errc::resource_exhausted);
}

}  // namespace decode_compressed_test
