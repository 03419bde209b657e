// Features whose values form rows of any length.

#include <initializer_list>
#include <tuple>

#include "leat/codec/example/example_builder.hpp"
#include "leat/codec/example/example_parser.hpp"
#include "leat/codec/example/sequence_example_parser.hpp"
#include "tensor/plain_test.hpp"

namespace ragged_feature_test {

using leat::dtype;
using leat::example_builder;
using leat::example_parser;
using leat::feature_map;
using leat::ragged_feature;
using leat::ragged_partition;
using leat::ragged_tensor;
using leat::tensor;
using partitions = std::vector<ragged_partition>;
using longs = std::initializer_list<std::int64_t>;

ragged_feature rows(partitions p, dtype splits = dtype::int32) {
  return {.type = dtype::int64,
          .value_key = "vals",
          .partitions = std::move(p),
          .row_splits_type = splits};
}

ragged_partition uniform(std::int64_t length) {
  return {.how = ragged_partition::uniform_row_length, .length = length};
}

leat::parsed_features parse(const std::vector<example_builder>& examples,
                            const ragged_feature& feature) {
  std::vector<std::string> bytes;
  for (const example_builder& e : examples) bytes.push_back(e.serialize());
  std::vector<leat::byte_view> records;
  for (const std::string& b : bytes) records.push_back(leat::as_bytes(b));
  return example_parser({{"r", feature}}).parse(records);
}

ragged_tensor batch_of(const std::vector<example_builder>& examples,
                       const ragged_feature& feature) {
  return parse(examples, feature).ragged("r");
}

leat::parsed_features parse_one(const example_builder& e, const ragged_feature& feature) {
  const std::string bytes = e.serialize();
  return example_parser({{"r", feature}}).parse_one(leat::as_bytes(bytes));
}

tensor narrow(std::initializer_list<std::int32_t> values) {
  return tensor::of({static_cast<std::int64_t>(values.size())}, values);
}
tensor wide(longs values) { return tensor::of({static_cast<std::int64_t>(values.size())}, values); }

example_builder example() { return {}; }

// Returns the message for an invalid Example.
std::string error_of(const std::vector<example_builder>& examples, const ragged_feature& feature) {
  return plain_message_of<leat::decode_error>([&] { return parse(examples, feature); });
}

// The rows [[3], [4, 5, 6]], stated by each kind of partition.
const example_builder two_rows = example()
                                     .add("vals", longs{3, 4, 5, 6})
                                     .add("splits", longs{0, 1, 4})
                                     .add("lengths", longs{1, 3})
                                     .add("starts", longs{0, 1})
                                     .add("limits", longs{1, 4})
                                     .add("ids", longs{0, 1, 1, 1});
const std::vector<ragged_partition> ways = {{ragged_partition::row_splits, "splits"},
                                            {ragged_partition::row_lengths, "lengths"},
                                            {ragged_partition::row_starts, "starts"},
                                            {ragged_partition::row_limits, "limits"},
                                            {ragged_partition::value_row_ids, "ids"}};

TEST_CASE("ragged_feature: each record is a row without partitions") {
  const std::vector<example_builder> four = {example().add("vals", longs{3, 4}),
                                             example().add("vals", longs{}), example(),
                                             example().add("vals", longs{1, 2, -1})};
  CHECK(batch_of(four, rows({})) ==
        ragged_tensor{{narrow({0, 2, 2, 2, 5})}, wide({3, 4, 1, 2, -1})});
  CHECK(batch_of(four, rows({}, dtype::int64)).row_splits[0] == wide({0, 2, 2, 2, 5}));

  std::vector<example_builder> many;
  for (int i = 0; i < 64; ++i) many.insert(many.end(), four.begin(), four.end());
  const ragged_tensor all = batch_of(many, rows({}));
  CHECK(all.values.count() == std::size_t{64} * 5);
  REQUIRE(all.row_splits[0].count() == 257);
  for (std::size_t i = 0; i < 257; ++i) {
    const std::size_t ends[] = {0, 2, 2, 2};
    CHECK(all.row_splits[0].values<std::int32_t>()[i] ==
          static_cast<std::int32_t>(i / 4 * 5 + ends[i % 4]));
  }
  CHECK(parse_one(four[3], rows({})).dense("r") == wide({1, 2, -1}));
  CHECK(parse_one(four[2], rows({})).dense("r") == tensor(dtype::int64, {0}));
  CHECK(batch_of({}, rows({})) == ragged_tensor{{narrow({0})}, tensor(dtype::int64, {0})});
}

TEST_CASE("ragged_feature: values of each type have the name of the feature") {
  const std::string bytes = example()
                                .add("f", {1.5F, 2.5F})
                                .add("s", {std::string_view("a"), std::string_view("bc")})
                                .add("n", longs{2})
                                .serialize();
  const partitions by_n = {{ragged_partition::row_lengths, "n"}};
  const auto one =
      example_parser({{"f", ragged_feature{.type = dtype::float32, .partitions = by_n}},
                      {"s", ragged_feature{.type = dtype::string, .partitions = by_n}}})
          .parse_one(leat::as_bytes(bytes));
  CHECK(one.ragged("f") == ragged_tensor{{narrow({0, 2})}, tensor::of<float>({2}, {1.5F, 2.5F})});
  CHECK(one.ragged("s") == ragged_tensor{{narrow({0, 2})}, tensor::of({2}, {"a", "bc"})});
}

TEST_CASE("ragged_feature: parses one partition of each kind") {
  for (const ragged_partition& way : ways) {
    INFO(way.key);
    CHECK(parse_one(two_rows, rows({way})).ragged("r") ==
          ragged_tensor{{narrow({0, 1, 4})}, wide({3, 4, 5, 6})});
    // In a batch, between records without values.
    CHECK(batch_of({example(), two_rows, example(), two_rows}, rows({way}, dtype::int64)) ==
          ragged_tensor{{wide({0, 0, 2, 2, 4}), wide({0, 1, 4, 5, 8})},
                        wide({3, 4, 5, 6, 3, 4, 5, 6})});
  }
}

TEST_CASE("ragged_feature: empty rows, at the end too except by value_row_ids") {
  const example_builder e = example()
                                .add("vals", longs{7, 8})
                                .add("splits", longs{0, 0, 2, 2, 2})
                                .add("lengths", longs{0, 2, 0, 0})
                                .add("starts", longs{0, 0, 2, 2})
                                .add("limits", longs{0, 2, 2, 2})
                                .add("ids", longs{1, 1});
  for (const ragged_partition& way : ways) {
    const bool by_ids = way.how == ragged_partition::value_row_ids;
    INFO(way.key);
    CHECK(parse_one(e, rows({way})).ragged("r").row_splits[0] ==
          (by_ids ? narrow({0, 0, 2}) : narrow({0, 0, 2, 2, 2})));
    CHECK(parse_one(example(), rows({way})).ragged("r").row_splits[0] == narrow({0}));
  }
  const example_builder only_empty = example().add("lengths", longs{0, 0});
  CHECK(parse_one(only_empty, rows({ways[1]})).ragged("r").row_splits[0] == narrow({0, 0, 0}));
}

TEST_CASE("ragged_feature: rows of uniform length are a dimension of the values") {
  const tensor pairs = tensor::of<std::int64_t>({2, 2}, {3, 4, 5, 6});
  CHECK(parse_one(two_rows, rows({uniform(2)})).dense("r") == pairs);
  CHECK(batch_of({two_rows, example()}, rows({uniform(2)})) ==
        ragged_tensor{{narrow({0, 2, 2})}, pairs});
  CHECK(parse_one(two_rows, rows({uniform(2), uniform(2)})).dense("r") ==
        tensor::of<std::int64_t>({1, 2, 2}, {3, 4, 5, 6}));
  // A uniform partition around rows of any length adds a dimension.
  CHECK(parse_one(two_rows, rows({uniform(2), ways[0]})).ragged("r") ==
        ragged_tensor{{narrow({0, 2}), narrow({0, 1, 4})}, wide({3, 4, 5, 6})});
  // Row lengths whose rows consist of pairs.
  const example_builder e = example().add("vals", longs{1, 2, 3, 4}).add("lengths", longs{0, 2});
  CHECK(parse_one(e, rows({ways[1], uniform(2)})).ragged("r") ==
        ragged_tensor{{narrow({0, 0, 2})}, tensor::of<std::int64_t>({2, 2}, {1, 2, 3, 4})});
}

TEST_CASE("ragged_feature: parses rows of rows") {
  const example_builder e = example()
                                .add("vals", longs{5, 6, 7})
                                .add("splits", longs{0, 1, 1, 3})
                                .add("outer", longs{0, 2, 3});
  const ragged_feature nested = rows({{ragged_partition::row_splits, "outer"}, ways[0]});
  CHECK(parse_one(e, nested).ragged("r") ==
        ragged_tensor{{narrow({0, 2, 3}), narrow({0, 1, 1, 3})}, wide({5, 6, 7})});
  CHECK(batch_of({e, e}, nested) ==
        ragged_tensor{{narrow({0, 2, 4}), narrow({0, 2, 3, 5, 6}), narrow({0, 1, 1, 3, 4, 4, 6})},
                      wide({5, 6, 7, 5, 6, 7})});
}

TEST_CASE("ragged_feature: refuses partitions that do not match the values") {
  const std::vector<example_builder> crossed = {
      example().add("vals", longs{}).add("lengths", longs{5}),
      example().add("vals", longs{1, 2, 3, 4, 5}).add("lengths", longs{})};
  CHECK(error_of(crossed, rows({ways[1]})) ==
        "record 0, feature 'lengths': invalid row_lengths: row has 5 items, must have 0 to 0");
  CHECK(error_of({crossed[1]}, rows({ways[1]})) ==
        "record 0, feature 'lengths': invalid row_lengths: rows end at 0, but there are 5 items");
}

TEST_CASE("ragged_feature: refuses invalid partitions") {
  const auto said = [](const ragged_partition& way, longs numbers) {
    return error_of({example().add("vals", longs{1, 2, 3}).add(way.key, numbers)}, rows({way}));
  };
  const auto& [splits, lengths, starts, limits, ids] =
      std::tie(ways[0], ways[1], ways[2], ways[3], ways[4]);
  CHECK(contains(said(splits, {1, 3}), "first row begins at 1, must begin at 0"));
  CHECK(contains(said(splits, {0, 2, 1, 3}), "row ends at 1, must end at 2 to 3"));
  CHECK(contains(said(splits, {0, 4}), "row ends at 4, must end at 0 to 3"));
  CHECK(contains(said(splits, {0, 2}), "rows end at 2, but there are 3 items"));
  CHECK(contains(said(splits, {0}), "rows end at 0, but there are 3 items"));
  CHECK(contains(said(lengths, {-1, 4}), "row has -1 items, must have 0 to 3"));
  CHECK(contains(said(lengths, {1, INT64_MAX}), "must have 0 to 2"));
  CHECK(contains(said(lengths, {1, 1}), "rows end at 2"));
  CHECK(contains(said(starts, {1}), "first row begins at 1"));
  CHECK(contains(said(starts, {0, 4}), "row ends at 4"));
  CHECK(contains(said(limits, {2}), "rows end at 2"));
  CHECK(contains(said(limits, {-1, 3}), "row ends at -1"));
  CHECK(contains(said(ids, {0, 1}), "2 int64 values for 3 items"));
  CHECK(contains(said(ids, {1, 0, 2}), "row index is 0, must be 1 to "));
  CHECK(contains(said(ids, {-1, 0, 2}), "row index is -1, must be 0 to 65539"));
  CHECK(contains(said(ids, {0, 0, INT64_MAX}), "must be 0 to 65539"));
  CHECK(said(ids, {0, 0, 65'539}).empty());
  CHECK(error_of({two_rows}, rows({uniform(3)})) ==
        "record 0, feature 'vals': has 4 int64 values, must have a multiple of 3 for rows of "
        "uniform length");
  CHECK(contains(error_of({two_rows}, rows({uniform(3), ways[0]})),
                 "feature 'vals': invalid uniform_row_length: rows end at 0"));
  CHECK(contains(error_of({two_rows}, rows({uniform(INT64_MAX), ways[0]})), "rows end at 0"));
  CHECK(contains(error_of({example().add("vals", {1.0F})}, rows({})),
                 "feature 'vals': has type float32, must have int64"));
  CHECK(contains(error_of({example().add("lengths", {1.0F})}, rows({ways[1]})),
                 "feature 'lengths': has type float32, must have int64"));
}

TEST_CASE("ragged_feature: refuses invalid features") {
  const auto said = [](const feature_map& features) {
    return leat_test::refusal([&] { return example_parser(features); });
  };
  ragged_feature f = rows({});
  f.type = dtype::int32;
  CHECK(contains(said({{"r", f}}), "type is int32, must be float32, int64 or string"));
  CHECK(contains(said({{"r", rows({}, dtype::int16)}}),
                 "row_splits_type is int16, must be int32 or int64"));
  f = rows({});
  f.value_key = "";
  CHECK(contains(said({{"r", f}}), "value_key is empty"));
  CHECK(contains(said({{"r", rows({uniform(0)})}}),
                 "uniform_row_length is 0, must be 1 to 9223372036854775807"));
  CHECK(contains(said({{"r", rows({uniform(INT64_MAX), uniform(2)})}}),
                 "uniform_row_length is 2, must be 1 to 1"));
  CHECK(
      contains(said({{"r", rows({{ragged_partition::row_splits, ""}})}}), "partition has no key"));
  CHECK(contains(said({{"r", rows({{ragged_partition::row_splits, "d"}})},
                       {"d", leat::fixed_len_feature{dtype::int64}}}),
                 "requested both dense and sparse"));
  CHECK(contains(said({{"r", rows({{ragged_partition::row_splits, "d"}})},
                       {"d", leat::var_len_feature{dtype::string}}}),
                 "requested as "));
  CHECK_REFUSED("ragged_feature is not supported in a sequence",
                leat::sequence_example_parser({}, {{"r", rows({})}}));
}

TEST_CASE("ragged_feature: converts to components and refuses access as another kind") {
  leat::parsed_features all = parse({two_rows}, rows({ways[0]}));
  CHECK_FAILS(errc::not_found, "feature 'r' is a ragged tensor, not a tensor", all.dense("r"));
  const leat::tensor_tuple t = std::move(all).take();
  REQUIRE(t.count() == 3);
  CHECK(t["r/values"] == wide({3, 4, 5, 6}));
  CHECK(t["r/row_splits/0"] == narrow({0, 2}));
  CHECK(t["r/row_splits/1"] == narrow({0, 1, 4}));
}

}  // namespace ragged_feature_test
