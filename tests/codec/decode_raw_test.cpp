#include "leat/codec/decode_raw.hpp"

#include <bit>

#include "support/hex.hpp"
#include "tensor/plain_test.hpp"

namespace decode_raw_test {

using leat::decode_raw;
using leat::dtype;
using leat::raw_options;
using leat::tensor;
using leat_test::from_hex;

constexpr raw_options big_endian = {.order = std::endian::big};

tensor strings(const std::vector<std::string>& all) {
  return tensor::of({static_cast<std::int64_t>(all.size())}, std::span<const std::string>(all));
}

std::string error_of(const tensor& records, dtype type, const raw_options& options = {}) {
  return plain_message_of([&] { return decode_raw(records, type, options); });
}

TEST_CASE("decode_raw: decodes bytes") {
  CHECK(decode_raw(strings({"A", "a"}), dtype::uint8) ==
        tensor::of<std::uint8_t>({2, 1}, {65, 97}));
  CHECK(decode_raw(strings({"wer", "XYZ"}), dtype::uint8) ==
        tensor::of<std::uint8_t>({2, 3}, {119, 101, 114, 88, 89, 90}));
}

TEST_CASE("decode_raw: refuses records of different sizes and partial values") {
  CHECK(error_of(strings({"short", "longer"}), dtype::uint8) ==
        "record 1 has 6 bytes, must have 5 like the first record");
  CHECK(error_of(strings({"123", "456"}), dtype::int16) ==
        "record 0 has 3 bytes, must have a multiple of 2, the size of int16");
  CHECK(error_of(strings({"a"}), dtype::string) ==
        "decode_raw: type string is not supported: use a numeric type");
}

TEST_CASE("decode_raw: decodes both byte orders") {
  CHECK(decode_raw(strings({"AaBC"}), dtype::int16) ==
        tensor::of<std::int16_t>({1, 2}, {24897, 17218}));
  const tensor four = strings({from_hex("01020304")});
  CHECK(decode_raw(four, dtype::int32) == tensor::of<std::int32_t>({1, 1}, {67305985}));
  CHECK(decode_raw(four, dtype::int32, big_endian) == tensor::of<std::int32_t>({1, 1}, {16909060}));
  CHECK(decode_raw(four, dtype::uint8, big_endian) ==
        tensor::of<std::uint8_t>({1, 4}, {1, 2, 3, 4}));
  CHECK(decode_raw(strings({from_hex("3ff8000000000000")}), dtype::float64, big_endian) ==
        tensor::of<double>({1, 1}, {1.5}));
}

TEST_CASE("decode_raw: decodes float16, and bool from bytes other than 0") {
  const tensor halves = decode_raw(strings({from_hex("003c00c000c20044")}), dtype::float16);
  CHECK(halves == tensor::of<leat::float16>({1, 4}, {{0x3c00}, {0xc000}, {0xc200}, {0x4400}}));
  CHECK(decode_raw(strings({from_hex("01000002")}), dtype::boolean) ==
        tensor::of<bool>({1, 4}, {true, false, false, true}));
}

TEST_CASE("decode_raw: keeps the real part of complex numbers first in both byte orders") {
  const std::vector<leat::complex64> numbers = {{1, 1}, {2, -2}};
  const tensor expected = tensor::of<leat::complex64>({1, 2}, numbers);
  CHECK(decode_raw(strings({from_hex("0000803f0000803f"
                                     "00000040000000c0")}),
                   dtype::complex64) == expected);
  CHECK(decode_raw(strings({from_hex("3f8000003f800000"
                                     "40000000c0000000")}),
                   dtype::complex64, big_endian) == expected);
  const std::vector<leat::complex128> wide = {{1, -2}};
  CHECK(decode_raw(strings({from_hex("3ff0000000000000c000000000000000")}), dtype::complex128,
                   big_endian) == tensor::of<leat::complex128>({1, 1}, wide));
}

TEST_CASE("decode_raw: fixed_length truncates records and pads them with zeros") {
  const tensor eight =
      decode_raw(strings({"string", "longer_string"}), dtype::uint8, {.fixed_length = 8});
  const std::string_view expected("string\0\0longer_s", 16);
  CHECK(eight == tensor::of<std::uint8_t>(
                     {2, 8}, std::vector<std::uint8_t>(expected.begin(), expected.end())));
  // Short rows in the other byte order.
  CHECK(decode_raw(strings({from_hex("0102")}), dtype::int32,
                   {.order = std::endian::big, .fixed_length = 4}) ==
        tensor::of<std::int32_t>({1, 1}, {0x01020000}));
  CHECK(error_of(strings({"abc"}), dtype::int16, {.fixed_length = 3}) ==
        "decode_raw: raw_options::fixed_length is 3, must be a positive multiple of 2, the size of "
        "int16");
  CHECK(error_of(strings({"abc"}), dtype::int16, {.fixed_length = 0}).starts_with("decode_raw: "));
}

TEST_CASE("decode_raw: accepts empty records and no records") {
  CHECK(decode_raw(strings({"", ""}), dtype::float64) == tensor(dtype::float64, {2, 0}));
  CHECK(decode_raw(strings({}), dtype::int16) == tensor(dtype::int16, {0, 0}));
  CHECK(decode_raw(tensor::scalar("ab"), dtype::uint8) ==
        tensor::of<std::uint8_t>({2}, {'a', 'b'}));
  const std::vector<leat::byte_view> records = {leat::as_bytes("ab"), leat::as_bytes("cd")};
  CHECK(decode_raw(records, dtype::uint8).shape() == leat::shape{2, 2});
}

}  // namespace decode_raw_test
