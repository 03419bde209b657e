// Examples whose features are unknown to the caller.

#include "leat/codec/example/decode_example.hpp"

#include "leat/codec/example/example_builder.hpp"
#include "support/hex.hpp"
#include "tensor/plain_test.hpp"

namespace decode_example_test {

using leat::decoded_example;
using leat::tensor;
using leat_test::from_hex;

decoded_example decode(std::string_view record) {
  return leat::decode_example(leat::as_bytes(record));
}

std::string refusal(std::string_view record) {
  return leat_test::refusal([&] { return decode(record); });
}

TEST_CASE("decode_example: every feature by its name, whatever its kind") {
  const std::string record = leat::example_builder()
                                 .add("age", {std::int64_t{13}, std::int64_t{-1}})
                                 .add("none", leat::feature_values())
                                 .add("price", {0.5F})
                                 .add("words", {std::string_view("a"), std::string_view()})
                                 .serialize();
  const decoded_example all = decode(record);
  CHECK_FALSE(all.is_sequence);
  CHECK(all.feature_lists.empty());
  REQUIRE(all.features.size() == 4);
  CHECK(all.features.at("age") == tensor::of<std::int64_t>({2}, {13, -1}));
  CHECK_FALSE(all.features.at("none").has_value());
  CHECK(all.features.at("price") == tensor::of<float>({1}, {0.5F}));
  CHECK(all.features.at("words") == tensor::of({2}, {"a", ""}));
}

TEST_CASE("decode_example: a SequenceExample, steps of any kind") {
  leat::sequence_example_builder builder;
  builder.context("id", {std::int64_t{7}});
  builder.list("steps").step({0.5F}).step(leat::feature_values()).step({std::string_view("text")});
  builder.list("empty");
  const decoded_example all = decode(builder.serialize());
  CHECK(all.is_sequence);
  CHECK(all.features.at("id") == tensor::of<std::int64_t>({1}, {7}));
  const auto& steps = all.feature_lists.at("steps");
  REQUIRE(steps.size() == 3);
  CHECK(steps[0] == tensor::of<float>({1}, {0.5F}));
  CHECK_FALSE(steps[1].has_value());
  CHECK(steps[2] == tensor::of({1}, {"text"}));
  CHECK(all.feature_lists.at("empty").empty());
}

TEST_CASE("decode_example: uses the last value of a repeated key") {
  const auto age = [](std::int64_t value) {
    return leat::example_builder().add("age", {value}).serialize();
  };
  CHECK(decode(age(0) + age(15)).features.at("age") == tensor::of<std::int64_t>({1}, {15}));
}

TEST_CASE("decode_example: decodes an empty record as an Example without features") {
  CHECK(decode("") == decoded_example{});
  CHECK(decode(from_hex("0a00")) == decoded_example{});
}

TEST_CASE("decode_example: refuses other records") {
  CHECK(contains(refusal("a line of text"), "record 0 is not a tf.train.Example"));
  CHECK(contains(refusal(from_hex("1801")), "neither features nor feature lists"));
  CHECK(contains(refusal(from_hex("0a05")), "a length that exceeds the remaining bytes"));
  CHECK(
      contains(refusal(from_hex("0a0e0a0c0a0161120712050a03000000")), "floats that is truncated"));
}

}  // namespace decode_example_test
