// The parsed features of Examples.

#include "leat/codec/example/example_parser.hpp"

#include <initializer_list>

#include "leat/codec/example/example_builder.hpp"
#include "tensor/plain_test.hpp"

namespace example_parser_test {

using leat::dtype;
using leat::example_builder;
using leat::example_parser;
using leat::feature_map;
using leat::fixed_len_feature;
using leat::fixed_len_sequence_feature;
using leat::parsed_features;
using leat::sparse_feature;
using leat::sparse_tensor;
using leat::tensor;
using leat::var_len_feature;

using longs = std::initializer_list<std::int64_t>;
using floats = std::initializer_list<float>;
using texts = std::initializer_list<std::string_view>;

const std::string empty;

example_builder example() { return {}; }

struct batch {
  batch(std::initializer_list<example_builder> examples) {
    for (const example_builder& e : examples) bytes.push_back(e.serialize());
  }
  [[nodiscard]] parsed_features parse(const feature_map& features,
                                      const std::vector<std::string_view>& names = {}) const {
    std::vector<leat::byte_view> records;
    for (const std::string& b : bytes) records.push_back(leat::as_bytes(b));
    return example_parser(features).parse(records, names);
  }
  std::vector<std::string> bytes;
};

parsed_features parse_one(const example_builder& e, const feature_map& features) {
  const std::string bytes = e.serialize();
  return example_parser(features).parse_one(leat::as_bytes(bytes));
}

sparse_tensor sparse(leat::shape shape, longs indices, tensor values, longs dense_shape) {
  return {tensor::of(std::move(shape), indices), std::move(values),
          tensor::of({static_cast<std::int64_t>(dense_shape.size())}, dense_shape)};
}
tensor ints_of(longs values) {
  return tensor::of({static_cast<std::int64_t>(values.size())}, values);
}
tensor floats_of(floats values) {
  return tensor::of({static_cast<std::int64_t>(values.size())}, values);
}
tensor texts_of(texts values) {
  return tensor::of({static_cast<std::int64_t>(values.size())}, values);
}

// Returns the message for an invalid record.
std::string error_of(const batch& b, const feature_map& features,
                     const std::vector<std::string_view>& names = {}) {
  return plain_message_of([&] { return b.parse(features, names); });
}

std::string refused(const feature_map& features) {
  return refusal([&] { return example_parser(features); });
}

// ---------------------------------------------------------------------------------- fixed length

TEST_CASE("example_parser: empty Examples have defaults and empty lists") {
  const parsed_features all = batch{example(), example()}.parse(
      {{"st_a", var_len_feature{dtype::int64}},
       {"a", fixed_len_feature{dtype::int64, {1, 3}, ints_of({0, 42, 0})}},
       {"c", fixed_len_feature{dtype::float32, {2}, floats_of({1.5F, 2.5F})}}});
  CHECK(all.sparse("st_a") == sparse({0, 2}, {}, tensor(dtype::int64, {0}), {2, 0}));
  CHECK(all.dense("a") == tensor::of<std::int64_t>({2, 1, 3}, {0, 42, 0, 0, 42, 0}));
  CHECK(all.dense("c") == tensor::of<float>({2, 2}, {1.5F, 2.5F, 1.5F, 2.5F}));
}

TEST_CASE("example_parser: a missing required feature names record and feature") {
  const feature_map c = {{"c", fixed_len_feature{dtype::float32, {2}}}};
  const std::string text =
      ", feature 'c': required feature of type float32 is missing: "
      "set a default_value if it is optional";
  CHECK(error_of({example().add("c", leat::feature_values())}, c, {"in1"}) ==
        "record 0 ('in1')" + text);
  CHECK(error_of({example(), example()}, c, {"in1", "in2"}) == "record 0 ('in1')" + text);
}

TEST_CASE("example_parser: refuses a wrong number of values") {
  CHECK(error_of({example().add("a", {1.0F, 1.0F, 3.0F}), example().add("a", {-1.0F, -1.0F})},
                 {{"a", fixed_len_feature{dtype::float32, {1, 3}}}}, {"passing", "failing"}) ==
        "record 1 ('failing'), feature 'a': has 2 float32 values, must have 3 for the shape [1,3]");
  CHECK(error_of({example().add("a", floats{})}, {{"a", fixed_len_feature{dtype::float32, {}}}}) ==
        "record 0, feature 'a': has 0 float32 values, must have 1 for the shape []");
}

TEST_CASE("example_parser: refuses invalid features") {
  const auto any = leat::unknown_dimension;
  CHECK(contains(refused({}), "no features: pass one or more"));
  CHECK(contains(
      refused({{"a", fixed_len_feature{dtype::float32, leat::partial_shape::unknown_rank()}}}),
      "shape is <unknown>, must be fully defined"));
  CHECK(contains(refused({{"a", fixed_len_feature{dtype::float32, {any, 2, 1}}}}),
                 "use fixed_len_sequence_feature for a first dimension of any size"));
  CHECK(contains(refused({{"a", fixed_len_feature{dtype::float32, {1, any}}}}),
                 "shape is [1,?], must be fully defined"));
  CHECK(contains(refused({{"a", fixed_len_feature{dtype::float64, {}}}}),
                 "type is float64, must be float32, int64 or string"));
  CHECK(contains(refused({{"a", fixed_len_feature{dtype::int64, {3}, ints_of({1, 2})}}}),
                 "default_value has 2 values, must have 3"));
  CHECK(contains(refused({{"a", fixed_len_feature{dtype::int64, {1}, floats_of({1.0F})}}}),
                 "default_value has type float32, must have int64"));
  CHECK(contains(
      refused({{"a", fixed_len_sequence_feature{dtype::int64, {2, 1}, true, ints_of({})}}}),
      "default_value has 0 values, must have 1"));
  CHECK(contains(refused({{"a", fixed_len_sequence_feature{dtype::int64, {}, false}}}),
                 "allow_missing must be true"));
  CHECK(contains(refused({{"a", fixed_len_sequence_feature{dtype::int64, {0}, true}}}),
                 "shape [0] has no values"));
  CHECK(contains(refused({{"s", sparse_feature{{"i", "j"}, "v", dtype::int64, {1}}}}),
                 "size has 1 values for 2 index_keys"));
  CHECK(
      contains(refused({{"s", sparse_feature{{}, "v", dtype::int64, {}}}}), "index_keys is empty"));
  CHECK(contains(refused({{"s", sparse_feature{{"i"}, "", dtype::int64, {1}}}}),
                 "value_key is empty"));
  CHECK(contains(refused({{"s", sparse_feature{{"i"}, "v", dtype::int64, {-1}}}}),
                 "size has a negative value"));
  CHECK(contains(refused({{"s", sparse_feature{{"i"}, "v", dtype::int8, {1}}}}),
                 "type is int8, must be float32, int64 or string"));
  CHECK(contains(refused({{"v", fixed_len_feature{dtype::int64, {}}},
                          {"s", sparse_feature{{"i"}, "v", dtype::int64, {1}}}}),
                 "requested both dense and sparse"));
  CHECK(contains(refused({{"v", var_len_feature{dtype::float32}},
                          {"s", sparse_feature{{"i"}, "v", dtype::int64, {1}}}}),
                 "requested as "));
}

TEST_CASE("example_parser: uses shapes, and defaults for missing features or values") {
  const parsed_features shaped =
      batch{
          example().add("a", {1.0F, 1.0F}).add("b*has+a:tricky_name", {std::string_view("b0_str")}),
          example().add("a", {-1.0F, -1.0F}).add("b*has+a:tricky_name", {std::string_view()})}
          .parse({{"a", fixed_len_feature{dtype::float32, {1, 2, 1}}},
                  {"b*has+a:tricky_name", fixed_len_feature{dtype::string, {1, 1, 1, 1}}}});
  CHECK(shaped.dense("a") == tensor::of<float>({2, 1, 2, 1}, {1, 1, -1, -1}));
  CHECK(shaped.dense("b*has+a:tricky_name") == tensor::of({2, 1, 1, 1, 1}, {"b0_str", ""}));

  CHECK(batch{example().add("a", longs{1}), example()}
            .parse({{"a", fixed_len_feature{dtype::int64, {1}, tensor::scalar(std::int64_t{-1})}}})
            .dense("a") == tensor::of<std::int64_t>({2, 1}, {1, -1}));

  const parsed_features defaults =
      batch{example().add("a", {1.0F, 1.0F}), example().add("b", {std::string_view("b1")}),
            example().add("b", leat::feature_values())}
          .parse({{"a", fixed_len_feature{dtype::float32, {1, 2, 1}, floats_of({3.0F, -3.0F})}},
                  {"b", fixed_len_feature{dtype::string, {}, tensor::scalar("tmp_str")}}});
  CHECK(defaults.dense("a") == tensor::of<float>({3, 1, 2, 1}, {1, 1, 3, -3, 3, -3}));
  CHECK(defaults.dense("b") == tensor::of({3}, {"tmp_str", "b1", "tmp_str"}));
}

TEST_CASE("example_parser: refuses values of another type") {
  CHECK(error_of({example().add("a", {std::string_view("x")})},
                 {{"a", fixed_len_feature{dtype::int64, {}}}}) ==
        "record 0, feature 'a': has type string, must have int64");
  CHECK(error_of({example().add("a", {1.0F})}, {{"a", var_len_feature{dtype::int64}}}) ==
        "record 0, feature 'a': has type float32, must have int64");
  CHECK_REFUSED("feature 'a': has type float32, must have int64",
                parse_one(example().add("a", {1.0F}), {{"a", var_len_feature{dtype::int64}}}));
}

TEST_CASE("example_parser: refuses a number of names other than the records") {
  CHECK(error_of({example(), example()}, {{"a", var_len_feature{dtype::int64}}}, {"one"}) ==
        "example_parser: 1 names for 2 records");
}

// ------------------------------------------------------------------------------- variable length

TEST_CASE("example_parser: parses lists of any length as sparse") {
  CHECK(batch{}.parse({{"a", var_len_feature{dtype::string}}}).sparse("a") ==
        sparse({0, 2}, {}, tensor(dtype::string, {0}), {0, 0}));
  CHECK(batch{example().add("a", longs{1, 2}), example().add("a", longs{}),
              example().add("a", longs{3})}
            .parse({{"a", var_len_feature{dtype::int64}}})
            .sparse("a") == sparse({3, 2}, {0, 0, 0, 1, 2, 0}, ints_of({1, 2, 3}), {3, 2}));
}

// ---------------------------------------------------------------------------------------- sparse

TEST_CASE("example_parser: sorts sparse values by their indices") {
  const sparse_tensor s =
      batch{example().add("val", {3.0F, 4.0F}).add("idx", longs{5, 10}),
            example().add("val", floats{}).add("idx", longs{}),
            example().add("val", leat::feature_values()),
            example().add("val", {1.0F, 2.0F, -1.0F}).add("idx", longs{0, 9, 3})}
          .parse({{"sp", sparse_feature{{"idx"}, "val", dtype::float32, {13}}}})
          .sparse("sp");
  CHECK(s == sparse({5, 2}, {0, 5, 0, 10, 3, 0, 3, 3, 3, 9},
                    floats_of({3.0F, 4.0F, 1.0F, -1.0F, 2.0F}), {4, 13}));
}

TEST_CASE("example_parser: features may share or also return their indices") {
  const parsed_features two =
      batch{example().add("val1", {3.0F, 4.0F}).add("val2", {5.0F, 6.0F}).add("idx", longs{5, 10}),
            example().add("val1", floats{}).add("idx", longs{})}
          .parse({{"sp1", sparse_feature{{"idx"}, "val1", dtype::float32, {13}}},
                  {"sp2", sparse_feature{{"idx"}, "val2", dtype::float32, {11}, true}}});
  CHECK(two.sparse("sp1") == sparse({2, 2}, {0, 5, 0, 10}, floats_of({3.0F, 4.0F}), {2, 13}));
  CHECK(two.sparse("sp2") == sparse({2, 2}, {0, 5, 0, 10}, floats_of({5.0F, 6.0F}), {2, 11}));

  // TensorFlow accepts indices beyond the size of 7 in this case. leat reports an error.
  CHECK(error_of({example().add("val2", {5.0F, 6.0F}).add("idx", longs{5, 10})},
                 {{"sp2", sparse_feature{{"idx"}, "val2", dtype::float32, {7}, true}}}) ==
        "record 0, feature 'idx': index 10 is out of range for size 7");

  const parsed_features shown =
      batch{example()
                .add("val", {std::string_view("a"), std::string_view("b")})
                .add("idx", longs{0, 3}),
            example()
                .add("val", {std::string_view("c"), std::string_view("d")})
                .add("idx", longs{7, 1})}
          .parse({{"idx", var_len_feature{dtype::int64}},
                  {"sp", sparse_feature{{"idx"}, "val", dtype::string, {13}}}});
  CHECK(shown.sparse("idx") ==
        sparse({4, 2}, {0, 0, 0, 1, 1, 0, 1, 1}, ints_of({0, 3, 7, 1}), {2, 2}));
  CHECK(shown.sparse("sp") ==
        sparse({4, 2}, {0, 0, 0, 3, 1, 1, 1, 7}, texts_of({"a", "b", "d", "c"}), {2, 13}));
}

TEST_CASE("sparse_feature: two dimensions, in the order of both") {
  const sparse_tensor s =
      batch{example().add("v", longs{1, 2, 3}).add("i", longs{1, 0, 1}).add("j", longs{2, 4, 0})}
          .parse({{"s", sparse_feature{{"i", "j"}, "v", dtype::int64, {2, 5}}}})
          .sparse("s");
  CHECK(s == sparse({3, 3}, {0, 0, 4, 0, 1, 0, 0, 1, 2}, ints_of({2, 3, 1}), {1, 2, 5}));
}

TEST_CASE("example_parser: refuses too few indices and indices out of range") {
  const feature_map features = {{"sp", sparse_feature{{"idx"}, "val", dtype::float32, {13}}}};
  CHECK(error_of({example().add("val", {1.0F, 2.0F, 3.0F}).add("idx", longs{1, 2})}, features) ==
        "record 0, feature 'idx': has 2 int64 values as indices, but 'val' has 3 values");
  CHECK(error_of({example(), example().add("val", {1.0F}).add("idx", longs{13})}, features) ==
        "record 1, feature 'idx': index 13 is out of range for size 13");
  CHECK(error_of({example().add("val", {1.0F}).add("idx", longs{-1})}, features) ==
        "record 0, feature 'idx': index -1 is out of range for size 13");
}

// ------------------------------------------------------------------------------------- sequences

TEST_CASE("example_parser: pads rows to the longest") {
  const batch rows = {
      example().add("c", {2.0F}),
      example()
          .add("a", {1.0F, 1.0F})
          .add("b", {std::string_view("b0_str"), std::string_view("b1_str")}),
      example().add("a", {-1.0F, -1.0F, 2.0F, 2.0F}).add("b", {std::string_view("b1")}),
      example().add("a", floats{}).add("c", {3.0F})};
  const auto sequence = [](dtype type, leat::partial_shape shape) {
    return fixed_len_sequence_feature{type, std::move(shape), true};
  };
  const parsed_features all = rows.parse({{"a", sequence(dtype::float32, {2, 1})},
                                          {"b", sequence(dtype::string, {1, 1, 1})},
                                          {"c", sequence(dtype::float32, {})},
                                          {"d", sequence(dtype::float32, {})}});
  CHECK(all.dense("a") == tensor::of<float>({4, 2, 2, 1}, {0, 0, 0, 0, 1, 1, 0, 0,  //
                                                           -1, -1, 2, 2, 0, 0, 0, 0}));
  CHECK(all.dense("b") ==
        tensor::of({4, 2, 1, 1, 1}, {"", "", "b0_str", "b1_str", "b1", "", "", ""}));
  CHECK(all.dense("c") == tensor::of<float>({4, 1}, {2, 0, 0, 3}));
  CHECK(all.dense("d") == tensor(dtype::float32, {4, 0}));

  CHECK(
      error_of(rows,
               {{"a", sequence(dtype::float32, {2, 1})}, {"b", sequence(dtype::string, {2, 1, 1})}},
               {"in1", "in2", "in3", "in4"}) ==
      "record 2 ('in3'), feature 'b': has 1 string value, must have a multiple of 2 for rows of "
      "the shape [2,1,1]");

  const feature_map with_default = {
      {"a", fixed_len_sequence_feature{dtype::int64, {}, true, tensor::scalar(std::int64_t{-1})}}};
  CHECK(batch{example().add("a", longs{1, 2}), example().add("a", longs{3})}
            .parse(with_default)
            .dense("a") == tensor::of<std::int64_t>({2, 2}, {1, 2, 3, -1}));
}

TEST_CASE("example_parser: a batch of any size equals its records parsed one by one") {
  const example_parser parser({{"a", fixed_len_sequence_feature{dtype::int64, {}, true}},
                               {"v", var_len_feature{dtype::string}}});
  for (const std::int64_t size : {1, 10, 20, 100, 256}) {
    std::vector<std::string> bytes;
    for (std::int64_t i = 0; i < size; ++i) {
      const std::vector<std::int64_t> row(static_cast<std::size_t>(i % 7), i);
      const std::vector<std::string_view> words(static_cast<std::size_t>(i % 3), "w");
      bytes.push_back(example().add("a", row).add("v", words).serialize());
    }
    std::vector<leat::byte_view> records;
    for (const std::string& b : bytes) records.push_back(leat::as_bytes(b));
    const parsed_features all = parser.parse(records);
    const std::int64_t longest = size > 6 ? 6 : 0;
    REQUIRE(all.dense("a").shape() == leat::shape{size, longest});
    const auto values = all.dense("a").values<std::int64_t>();
    for (std::int64_t i = 0; i < size; ++i) {
      for (std::int64_t j = 0; j < longest; ++j) {
        CHECK(values[static_cast<std::size_t>(i * longest + j)] == (j < i % 7 ? i : 0));
      }
    }
  }
}

// ------------------------------------------------------------------------------------ one Example

TEST_CASE("example_parser: parses a single Example") {
  const parsed_features one =
      parse_one(example()
                    .add("st_a", {3.0F, 4.0F})
                    .add("val", {std::string_view("a"), std::string_view("b")})
                    .add("idx", longs{0, 3})
                    .add("c", {3.0F, 4.0F})
                    .add("d", {0.0F, 1.0F}),
                {{"st_a", var_len_feature{dtype::float32}},
                 {"sp", sparse_feature{{"idx"}, "val", dtype::string, {13}}},
                 {"a", fixed_len_feature{dtype::int64, {1, 3}, ints_of({1, 2, 3})}},
                 {"b", fixed_len_feature{dtype::string, {}, tensor::scalar("tmp")}},
                 {"c", fixed_len_feature{dtype::float32, {2}}},
                 {"d", fixed_len_sequence_feature{dtype::float32, {}, true}}});
  CHECK(one.sparse("st_a") == sparse({2, 1}, {0, 1}, floats_of({3.0F, 4.0F}), {2}));
  CHECK(one.sparse("sp") == sparse({2, 1}, {0, 3}, texts_of({"a", "b"}), {13}));
  CHECK(one.dense("a") == tensor::of<std::int64_t>({1, 3}, {1, 2, 3}));
  CHECK(one.dense("b") == tensor::scalar("tmp"));
  CHECK(one.dense("c") == floats_of({3.0F, 4.0F}));
  CHECK(one.dense("d") == floats_of({0.0F, 1.0F}));
}

// --------------------------------------------------------------------------------------- results

TEST_CASE("parsed_features: converts to components and refuses unknown names") {
  parsed_features all = batch{example().add("a", longs{1}).add("v", longs{2, 3})}.parse(
      {{"a", fixed_len_feature{dtype::int64, {}}}, {"v", var_len_feature{dtype::int64}}});
  CHECK_FAILS(errc::not_found, "feature 'b' not found: the features are 'a', 'v'", all.dense("b"));
  CHECK_FAILS(errc::not_found, "feature 'v' is a sparse tensor, not a tensor", all.dense("v"));
  CHECK_FAILS(errc::not_found, "feature 'a' is a tensor, not a sparse tensor", all.sparse("a"));
  const leat::tensor_tuple t = std::move(all).take();
  REQUIRE(t.count() == 4);
  CHECK(t["a"] == ints_of({1}));
  CHECK(t["v/values"] == ints_of({2, 3}));
  CHECK(t["v/indices"].shape() == leat::shape{2, 2});
  CHECK(t["v/dense_shape"] == ints_of({1, 2}));
}

}  // namespace example_parser_test
