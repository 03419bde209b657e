// The serialization of an Example, and the bytes that parse as one.

#include <array>
#include <type_traits>

#include "leat/codec/example/example_builder.hpp"
#include "leat/codec/example/example_parser.hpp"
#include "leat/codec/example/sequence_example_parser.hpp"
#include "leat/codec/tfrecord/tfrecord.hpp"
#include "support/hex.hpp"
#include "tensor/plain_test.hpp"

namespace example_wire_test {

using leat::dtype;
using leat_test::from_hex;
using longs = std::vector<std::int64_t>;

leat::sparse_tensor parse(std::string_view message, const std::string& key, dtype type) {
  const leat::example_parser parser({{key, leat::var_len_feature{.type = type}}});
  return parser.parse_one(leat::as_bytes(message)).sparse(key);
}

longs ints(std::string_view hex, const std::string& key) {
  const auto values = parse(from_hex(hex), key, dtype::int64).values;
  const auto all = values.values<std::int64_t>();
  return {all.begin(), all.end()};
}

std::vector<float> floats(std::string_view hex, const std::string& key) {
  const auto values = parse(from_hex(hex), key, dtype::float32).values;
  const auto all = values.values<float>();
  return {all.begin(), all.end()};
}

std::string error_of(std::string_view hex, const std::string& key, dtype type) {
  try {
    static_cast<void>(parse(from_hex(hex), key, type));
  } catch (const leat::decode_error& e) {
    CHECK(e.code() == leat::errc::invalid_argument);
    CHECK(e.record() == 0);
    return e.what();
  }
  return {};
}

TEST_CASE("Example: reads packed and unpacked lists") {
  CHECK(ints("0a0e0a0c0a0361676512051a030a010d", "age") == longs{13});
  CHECK(ints("0a0d0a0b0a0361676512041a02080d", "age") == longs{13});
}

TEST_CASE("example_builder: accepts lists and ranges") {
  const auto one = [](const leat::feature_values& values) {
    return leat::example_builder().add("a", values).serialize();
  };
  CHECK(one({7}) == one({std::int64_t{7}}));
  CHECK(one({7, -1}) == one(longs{7, -1}));
  CHECK(one(std::vector<int>{7, -1}) == one(longs{7, -1}));
  CHECK(one({0.5, -2.0}) == one({0.5F, -2.0F}));
  CHECK(one(std::vector<double>{0.5}) == one(std::vector<float>{0.5F}));
  CHECK(one({"b", "c"}) == one(std::vector<std::string_view>{"b", "c"}));
  CHECK(one(std::vector<std::string>{"b", "c"}) == one({"b", "c"}));
  CHECK(one({std::string("b")}) == one({"b"}));
  const leat::feature_values kept{7};  // owns its values
  CHECK(one(kept) == one({7}));
  CHECK(one(leat::feature_values()) != one(longs{}));  // no kind, and an empty list
}

TEST_CASE("feature_values: integers of any type, in lists and ranges") {
  const auto same = [](const leat::feature_values& a, const leat::feature_values& b) {
    return a.serialized() == b.serialized();
  };
  CHECK(same({std::size_t{7}}, longs{7}));
  CHECK(same({1LL}, longs{1}));
  CHECK(same({7U, 8U}, longs{7, 8}));
  CHECK(same({std::int16_t{-7}}, longs{-7}));
  CHECK(same({std::uint8_t{7}}, longs{7}));
  CHECK(same({true, false}, longs{1, 0}));
  CHECK(same(std::vector<std::uint32_t>{7, 8}, longs{7, 8}));
  CHECK(same(std::vector<long long>{-1}, longs{-1}));
  CHECK(same(std::array<unsigned short, 1>{65535}, longs{65535}));
  CHECK_REFUSED("9223372036854775808", leat::feature_values{std::uint64_t{1} << 63});
}

template <class Builder>
concept takes_empty_braces = requires(Builder& b) { b.add("k", {}); };

TEST_CASE("feature_values: empty braces and text do not determine the type") {
  STATIC_REQUIRE_FALSE(std::is_convertible_v<std::string, leat::feature_values>);
  STATIC_REQUIRE_FALSE(std::is_convertible_v<std::vector<std::uint8_t>, leat::feature_values>);
  STATIC_REQUIRE_FALSE(takes_empty_braces<leat::example_builder>);
}

TEST_CASE("example_builder: writes the bytes of protobuf") {
  const auto label = [](std::int64_t value) {
    return leat::example_builder().add("label", {value}).serialize();
  };
  CHECK(label(7) == from_hex("0a100a0e0a056c6162656c12051a030a0107"));
  CHECK(ints("0a100a0e0a056c6162656c12051a030a0107", "label") == longs{7});

  std::vector<std::byte> file;
  for (const std::int64_t value : {7, 9}) leat::append_tfrecord(file, leat::as_bytes(label(value)));
  CHECK(file.size() == 68);
  CHECK(leat::as_text(file) ==
        from_hex("1200000000000000241f64250a100a0e0a056c6162656c12051a030a0107368c84b9"
                 "1200000000000000241f64250a100a0e0a056c6162656c12051a030a010987e4d10b"));
}

TEST_CASE("Example: reads negative numbers") {
  CHECK(ints("0a170a150a017812101a0e0a0cffffffffffffffffff010001", "x") == longs{-1, 0, 1});
  CHECK(leat::example_builder()
            .add("x", {std::int64_t{-1}, std::int64_t{0}, std::int64_t{1}})
            .serialize() == from_hex("0a170a150a017812101a0e0a0cffffffffffffffffff010001"));
}

TEST_CASE("Example: reads packed and unpacked floats") {
  CHECK(floats("0a130a110a0161120c120a0a080000803f0000803f", "a") == std::vector<float>{1, 1});
  CHECK(floats("0a130a110a0161120c120a0d0000803f0d0000803f", "a") == std::vector<float>{1, 1});
}

TEST_CASE("Example: concatenated Examples have the last value of a key") {
  CHECK(ints("0a0e0a0c0a0361676512051a030a01000a0e0a0c0a0361676512051a030a010f", "age") ==
        longs{15});
}

TEST_CASE("Example: skips unknown fields") {
  CHECK(ints("287b0a0e0a0c0a0361676512051a030a010d", "age") == longs{13});
  CHECK(ints("0a0e0a0c0a0361676512051a030a010d310000000000001240", "age") == longs{13});
}

TEST_CASE("Example: the error of a truncated record does not show the record") {
  const std::string what = error_of("0a0e0a0c0a0361676512051a030a01", "age", dtype::int64);
  CHECK(what.starts_with("record 0 is not a tf.train.Example: "));
  CHECK_FALSE(contains(what, "age"));
}

TEST_CASE("Example: accepts no type and an empty key, refuses an unknown type") {
  CHECK(ints("0a070a050a01631200", "c").empty());
  CHECK(ints("0a0b0a090a0012051a030a0107", "") == longs{7});
  CHECK(error_of("0a0a0a080a01611203220100", "a", dtype::int64)
            .starts_with("record 0 is not a tf.train.Example: feature of an unknown kind"));
  CHECK(error_of("0a0a0a080a01611203220100", "b", dtype::int64).empty());
}

TEST_CASE("Example: refuses truncated packed floats") {
  CHECK(error_of("0a110a0f0a0166120a12080a060000c03f0000", "f", dtype::float32)
            .starts_with("record 0 is not a tf.train.Example: list of floats"));
}

TEST_CASE("Example: reads a value before its key, and any bytes") {
  CHECK(ints("0a0c0a0a12051a030a01010a0161", "a") == longs{1});
  const auto values =
      parse(from_hex("0a120a100a0162120b0a090a000a0200ff0a0178"), "b", dtype::string).values;
  REQUIRE(values.count() == 3);
  CHECK(values.strings()[0].empty());
  CHECK(values.strings()[1] == std::string_view("\0\xff", 2));
  CHECK(values.strings()[2] == "x");
}

std::string field(int number, const std::string& bytes) {
  return std::string{static_cast<char>(number << 3 | 2), static_cast<char>(bytes.size())} + bytes;
}

// A feature of two texts, each in a list of its own.
std::string feature_in_pieces(const std::string& a, const std::string& b) {
  return field(1, field(1, a)) + field(1, field(1, b));
}

TEST_CASE("Example: strings in pieces remain valid while later records are read") {
  const leat::example_parser parser({{"a", leat::var_len_feature{.type = dtype::string}}});
  std::vector<std::string> records;
  std::vector<std::string> expected;
  for (const char* name : {"first", "second", "third"}) {
    expected.insert(expected.end(), {name, std::string(40, name[0])});
    const std::string feature = feature_in_pieces(expected.end()[-2], expected.back());
    records.push_back(field(1, field(1, field(1, "a") + field(2, feature))));
  }
  const std::vector<leat::byte_view> views{leat::as_bytes(records[0]), leat::as_bytes(records[1]),
                                           leat::as_bytes(records[2])};
  const leat::parsed_features parsed = parser.parse(views);
  const leat::string_values values = parsed.sparse("a").values.strings();
  CHECK(std::vector<std::string>(values.begin(), values.end()) == expected);
}

TEST_CASE("SequenceExample: strings in pieces remain valid while later records are read") {
  const leat::feature_map strings{{"a", leat::var_len_feature{.type = dtype::string}}};
  const leat::sequence_example_parser parser(strings, strings);
  const auto record = [](const std::string& of_context, const std::string& of_step) {
    const std::string context = field(1, "a") + field(2, feature_in_pieces(of_context, "c"));
    const std::string step = field(1, feature_in_pieces(of_step, "s"));
    return field(1, field(1, context)) + field(2, field(1, field(1, "a") + field(2, step)));
  };
  const std::string first = record("one", "two");
  const std::string second = record("three", "four");
  const std::vector<leat::byte_view> views{leat::as_bytes(first), leat::as_bytes(second)};
  const leat::parsed_sequences parsed = parser.parse(views);
  const auto texts = [](const leat::parsed_features& of) {
    const leat::string_values values = of.sparse("a").values.strings();
    return std::vector<std::string>(values.begin(), values.end());
  };
  using strings_of = std::vector<std::string>;
  CHECK(texts(parsed.context) == strings_of{"one", "c", "three", "c"});
  CHECK(texts(parsed.sequences) == strings_of{"two", "s", "four", "s"});
}

TEST_CASE("Example: a list in many pieces takes memory in proportion to its size") {
  constexpr int pieces = 100'000;  // a copy for each piece would take 15 GB
  std::string feature;
  for (int i = 0; i < pieces; ++i) feature += field(3, field(1, "\x01"));
  const auto long_field = [](int number, const std::string& bytes) {
    std::string out{static_cast<char>(number << 3 | 2)};
    std::size_t n = bytes.size();
    for (; n > 127; n >>= 7) out += static_cast<char>(n | 128);
    return out + static_cast<char>(n) + bytes;
  };
  const std::string entry = field(1, "a") + long_field(2, feature);
  const std::string record = long_field(1, long_field(1, entry));
  CHECK(parse(record, "a", dtype::int64).values.count() == pieces);
}

TEST_CASE("Example: merges lists and features in pieces and uses the last type") {
  const auto example = [&](const std::string& entry) { return field(1, field(1, entry)); };
  const auto numbers = [&](const std::string& message) {
    const auto values = parse(message, "a", dtype::int64).values;
    const auto all = values.values<std::int64_t>();
    return longs(all.begin(), all.end());
  };
  const std::string key = field(1, "a");
  const std::string one = field(1, "\x01");  // packed
  const std::string two = "\x08\x02";        // unpacked
  const std::string int_list = field(3, one);
  const std::string float_list = field(2, field(1, std::string("\0\0\0\0", 4)));
  CHECK(numbers(example(key + field(2, field(3, one + two + one)))) == longs{1, 2, 1});
  CHECK(numbers(example(key + field(2, int_list + int_list))) == longs{1, 1});
  CHECK(numbers(example(key + field(2, float_list + int_list))) == longs{1});
  CHECK_THROWS_AS(numbers(example(key + field(2, int_list + float_list))), leat::decode_error);
  CHECK(numbers(example(field(2, int_list) + key + field(2, int_list))) == longs{1, 1});
  // A field of the list with another number or wire type is an unknown field.
  CHECK(numbers(example(key + field(2, field(3, one + "\x10\x02" + one)))) == longs{1, 1});
  CHECK(numbers(example(key + field(2, field(3, one + "\x0d\1\2\3\4" + one)))) == longs{1, 1});
}

TEST_CASE("Example: a truncated record is an error or a valid record") {
  const std::string whole = leat::example_builder()
                                .add("a", {1.0F, 2.0F})
                                .add("b", {std::int64_t{1}, std::int64_t{300}})
                                .add("c", {std::string_view("text")})
                                .serialize();
  const leat::example_parser parser({{"a", leat::var_len_feature{.type = dtype::float32}},
                                     {"b", leat::var_len_feature{.type = dtype::int64}},
                                     {"c", leat::var_len_feature{.type = dtype::string}}});
  CHECK_NOTHROW(parser.parse_one(leat::as_bytes(whole)));
  CHECK_NOTHROW(parser.parse_one({}));
  for (std::size_t size = 1; size < whole.size(); ++size) {
    const std::string_view part = std::string_view(whole).substr(0, size);
    CHECK_THROWS_AS(parser.parse_one(leat::as_bytes(part)), leat::decode_error);
  }
}

}  // namespace example_wire_test
