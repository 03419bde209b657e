// What TensorFlow's decode_json_example accepts, and the rest of protobuf's JSON mapping.

#include "leat/codec/example/decode_json_example.hpp"

#include <cmath>
#include <limits>

#include "leat/codec/example/example_builder.hpp"
#include "leat/codec/example/example_parser.hpp"
#include "tensor/plain_test.hpp"

namespace decode_json_example_test {

using leat::decode_json_example;
using leat::dtype;
using leat::example_builder;
using leat::tensor;

std::string feature(const std::string& text) {
  return R"({"features": {"feature": {"a": )" + text + "}}}";
}

// int_of() and float_of() decode a list with one JSON value.
std::string int_of(const std::string& value) {
  return decode_json_example(feature(R"({"int64List": {"value": [)" + value + "]}}"));
}
float float_of(const std::string& value) {
  const std::string message =
      decode_json_example(feature(R"({"floatList": {"value": [)" + value + "]}}"));
  const leat::example_parser parser({{"a", leat::fixed_len_feature{dtype::float32, {}}}});
  return parser.parse_one(leat::as_bytes(message)).dense("a").value<float>();
}

std::string error_of(const std::string& text) {
  return plain_message_of<leat::decode_error>([&] { return decode_json_example(text); });
}

TEST_CASE("decode_json_example: converts JSON texts and keeps their shape") {
  const std::string floats = feature(R"({"floatList": {"value": [1, 1.0, 3]}})");
  CHECK(decode_json_example(floats) == example_builder().add("a", {1.0F, 1.0F, 3.0F}).serialize());
  const tensor texts = tensor::of({2, 1}, {std::string_view(floats), std::string_view("{}")});
  const tensor messages = decode_json_example(texts);
  CHECK(messages.shape() == leat::shape{2, 1});
  CHECK(messages.strings()[1].empty());
  CHECK(decode_json_example(tensor(dtype::string, {0})) == tensor(dtype::string, {0}));
}

TEST_CASE("decode_json_example: refuses text that is not JSON") {
  CHECK(error_of("{]") == "record 0: text is not valid JSON at byte 2");
  CHECK(error_of("").starts_with("record 0: text is not valid JSON"));
  CHECK(error_of("{'features': {}}").starts_with("record 0: text is not valid JSON"));
  try {
    static_cast<void>(decode_json_example(tensor::of({2}, {"{}", "{]"})));
    FAIL("decoded");
  } catch (const leat::decode_error& e) {
    CHECK(e.record() == 1);
  }
}

TEST_CASE("decode_json_example: accepts both spellings, null and a feature without a list") {
  const std::string ints = example_builder().add("a", {std::int64_t{7}}).serialize();
  CHECK(decode_json_example(feature(R"({"int64List": {"value": [7]}})")) == ints);
  CHECK(decode_json_example(feature(R"({"int64_list": {"value": [7]}})")) == ints);
  CHECK(decode_json_example(feature(R"({"float_list": null, "int64List": {"value": ["7"]}})")) ==
        ints);
  CHECK(decode_json_example(feature("{}")) ==
        example_builder().add("a", leat::feature_values()).serialize());
  CHECK(decode_json_example(R"({"features": null})").empty());
}

TEST_CASE("decode_json_example: decodes base64 of both alphabets") {
  const auto bytes = [](const std::string& text) {
    return decode_json_example(feature(R"({"bytesList": {"value": [")" + text + R"("]}})"));
  };
  const auto written = [](std::string_view value) {
    return example_builder().add("a", {value}).serialize();
  };
  CHECK(bytes("") == written(""));
  CHECK(bytes("QQ==") == written("A"));
  CHECK(bytes("QQ") == written("A"));
  CHECK(bytes("QUE=") == written("AA"));
  CHECK(bytes("QUFB") == written("AAA"));
  CHECK(bytes("+/+/") == written("\xfb\xff\xbf"));
  CHECK(bytes("-_-_") == written("\xfb\xff\xbf"));
  for (const char* text : {"Q", "QQ=", "Q===", "QQ==QQ==", "Q!Q=", "Q Q="}) {
    CHECK(error_of(feature(std::string(R"({"bytesList": {"value": [")") + text + R"("]}})")) ==
          "record 0: feature 'a': value is not a valid base64");
  }
}

TEST_CASE("decode_json_example: accepts integers as numbers, strings and with a point") {
  const auto written = [](std::int64_t value) {
    return example_builder().add("a", {value}).serialize();
  };
  CHECK(int_of("-1") == written(-1));
  CHECK(int_of(R"("9223372036854775807")") == written(std::numeric_limits<std::int64_t>::max()));
  CHECK(int_of("9223372036854775807") == written(std::numeric_limits<std::int64_t>::max()));
  CHECK(int_of("-9223372036854775808") == written(std::numeric_limits<std::int64_t>::min()));
  CHECK(int_of("1e2") == written(100));
  CHECK(int_of("3.0") == written(3));
  for (const char* text : {"1.5", "9223372036854775808", "1e19", R"("x")", "true", "null", "[]"}) {
    CHECK(error_of(feature(R"({"int64List": {"value": [)" + std::string(text) + "]}}")) ==
          "record 0: feature 'a': value is not a valid int64");
  }
}

TEST_CASE("decode_json_example: accepts floats, also those without a number in JSON") {
  CHECK(float_of("1.5") == 1.5F);
  CHECK(float_of(R"("1.5")") == 1.5F);
  CHECK(std::isnan(float_of(R"("NaN")")));
  CHECK(float_of(R"("Infinity")") == std::numeric_limits<float>::infinity());
  CHECK(float_of(R"("-Infinity")") == -std::numeric_limits<float>::infinity());
  CHECK(error_of(feature(R"({"floatList": {"value": [1e39]}})")) ==
        "record 0: feature 'a': value is not a valid float32");
  CHECK(error_of(feature(R"({"floatList": {"value": [true]}})")) ==
        "record 0: feature 'a': value is not a valid number");
}

TEST_CASE("decode_json_example: refuses a number beyond float64 at every place") {
  const std::string why = "record 0: number is out of range for float64";
  CHECK(error_of("926e23372") == why);
  CHECK(error_of(R"({"features": -1e999})") == why);
  CHECK(error_of(feature(R"({"floatList": {"value": [1e400]}})")) == why);
}

TEST_CASE("decode_json_example: refuses a repeated name in an object") {
  const std::string one = R"("a": {"int64List": {"value": [1]}})";
  const std::string two = R"("a": {"int64List": {"value": [2]}})";
  CHECK(error_of(R"({"features": {"feature": {)" + one + ", " + two + "}}}") ==
        "record 0: name 'a' occurs twice in an object");
  CHECK(error_of(feature(R"({"int64List": {"value": [1], "value": [2]}})")) ==
        "record 0: name 'value' occurs twice in an object");
  CHECK(error_of(R"({"features": null, "features": {}})") ==
        "record 0: name 'features' occurs twice in an object");
  const std::string other = R"("b": {"int64List": {"value": [2]}})";
  CHECK_FALSE(
      decode_json_example(R"({"features": {"feature": {)" + one + ", " + other + "}}}").empty());
}

TEST_CASE("decode_json_example: refuses fields and values that an Example does not have") {
  CHECK(error_of(R"({"other": {}})") == "record 0: unknown field 'other' in an Example");
  CHECK(error_of(R"({"features": {"x": 1}})") == "record 0: unknown field 'x' in Features");
  CHECK(error_of(feature(R"({"doubleList": {}})")) ==
        "record 0: unknown field 'doubleList' in a Feature");
  CHECK(error_of(feature(R"({"int64List": {"values": []}})")) ==
        "record 0: unknown field 'values' in a list");
  CHECK(error_of(feature(R"({"int64List": {}, "floatList": {}})")) ==
        "record 0: feature 'a' has more than one list");
  CHECK(error_of("[]") == "record 0: expected a JSON object for an Example");
  CHECK(error_of(feature("3")) == "record 0: expected a JSON object for a Feature");
  CHECK(error_of(feature(R"({"int64List": {"value": 3}})")) ==
        "record 0: expected a JSON array for 'value'");
}

}  // namespace decode_json_example_test
