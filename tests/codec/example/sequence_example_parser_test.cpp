// The parsed features of SequenceExamples.

#include "leat/codec/example/sequence_example_parser.hpp"

#include <initializer_list>

#include "leat/codec/example/example_builder.hpp"
#include "leat/tensor/stacking.hpp"
#include "support/hex.hpp"
#include "tensor/plain_test.hpp"

namespace sequence_example_parser_test {

using leat::dtype;
using leat::feature_map;
using leat::fixed_len_feature;
using leat::fixed_len_sequence_feature;
using leat::parsed_sequences;
using leat::sequence_example_parser;
using leat::sparse_tensor;
using leat::tensor;
using leat::var_len_feature;
using builder = leat::sequence_example_builder;
using longs = std::initializer_list<std::int64_t>;
using floats = std::initializer_list<float>;
using texts = std::initializer_list<std::string_view>;

// Adds a leading dimension of 1.
tensor as_batch(const tensor& one) { return leat::stack(std::span(&one, 1)); }
sparse_tensor as_batch(const sparse_tensor& one) {
  const auto indices = one.indices.values<std::int64_t>();
  const auto rank = static_cast<std::size_t>(one.indices.shape().dimensions()[1]);
  const std::size_t count = one.values.count();
  std::vector<std::int64_t> all;
  for (std::size_t i = 0; i < count; ++i) {
    all.push_back(0);
    const auto from = indices.begin() + static_cast<std::ptrdiff_t>(i * rank);
    all.insert(all.end(), from, from + static_cast<std::ptrdiff_t>(rank));
  }
  const auto size = one.dense_shape.values<std::int64_t>();
  std::vector<std::int64_t> dense_shape = {1};
  dense_shape.insert(dense_shape.end(), size.begin(), size.end());
  const auto rows = static_cast<std::int64_t>(count);
  const auto columns = static_cast<std::int64_t>(rank) + 1;
  return {tensor::of<std::int64_t>({rows, columns}, all), one.values,
          tensor::of<std::int64_t>({columns}, dense_shape)};
}

// A batch of one SequenceExample has equal values with an additional leading dimension.
void check_batch_of_one(const leat::parsed_features& one, const leat::parsed_features& batch) {
  CHECK(batch.values().size() == one.values().size());
  for (const auto& [key, value] : one.values()) {
    INFO("feature '" << key << "'");
    if (const auto* dense = std::get_if<tensor>(&value)) {
      CHECK(batch.dense(key) == as_batch(*dense));
    } else {
      CHECK(batch.sparse(key) == as_batch(std::get<sparse_tensor>(value)));
    }
  }
}

parsed_sequences parse_one(const std::string& bytes, const feature_map& context,
                           const feature_map& sequences) {
  const sequence_example_parser parser(context, sequences);
  const parsed_sequences one = parser.parse_one(leat::as_bytes(bytes));
  const leat::byte_view record = leat::as_bytes(bytes);
  const parsed_sequences batch = parser.parse(std::span(&record, 1));
  check_batch_of_one(one.context, batch.context);
  check_batch_of_one(one.sequences, batch.sequences);
  check_batch_of_one(one.lengths, batch.lengths);
  return one;
}

sparse_tensor sparse(leat::shape shape, longs indices, tensor values, longs dense_shape) {
  return {tensor::of(std::move(shape), indices), std::move(values),
          tensor::of({static_cast<std::int64_t>(dense_shape.size())}, dense_shape)};
}
tensor ints_of(longs values) {
  return tensor::of({static_cast<std::int64_t>(values.size())}, values);
}

// The error is equal for a batch of one SequenceExample.
std::string error_of(const builder& b, const feature_map& sequences, std::string_view name = {}) {
  const std::string bytes = b.serialize();
  const leat::byte_view record = leat::as_bytes(bytes);
  const sequence_example_parser parser({}, sequences);
  const auto names = std::span(&name, name.empty() ? 0 : 1);
  const std::string error =
      plain_message_of<leat::decode_error>([&] { return parser.parse_one(record, name); });
  CHECK(plain_message_of<leat::decode_error>(
            [&] { return parser.parse(std::span(&record, 1), names); }) == error);
  return error;
}

const feature_map int_rows = {{"a", fixed_len_sequence_feature{dtype::int64, {}}}};

TEST_CASE("sequence_example_parser: parses the context and its defaults") {
  const std::string bytes = builder()
                                .context("c", floats{3, 4})
                                .context("st_a", floats{3, 4})
                                .context("b", leat::feature_values())
                                .serialize();
  const parsed_sequences one =
      parse_one(bytes,
                {{"st_a", var_len_feature{dtype::float32}},
                 {"c", fixed_len_feature{dtype::float32, {2}}},
                 {"a", fixed_len_feature{dtype::int64, {1, 3}, ints_of({1, 2, 3})}},
                 {"b", fixed_len_feature{dtype::string, {}, tensor::scalar("tmp")}}},
                {});
  CHECK(one.context.sparse("st_a") == sparse({2, 1}, {0, 1}, tensor::of<float>({2}, {3, 4}), {2}));
  CHECK(one.context.dense("c") == tensor::of<float>({2}, {3, 4}));
  CHECK(one.context.dense("a") == tensor::of<std::int64_t>({1, 3}, {1, 2, 3}));
  CHECK(one.context.dense("b") == tensor::scalar("tmp"));
}

TEST_CASE("sequence_example_parser: parses lists of features") {
  builder b;
  b.list("st_a").step(floats{3, 4}).step(floats{5}).step(floats{});
  b.list("st_b").step(texts{"a"}).step(leat::feature_values()).step(texts{}).step(texts{"b", "c"});
  b.list("a").step(longs{3, 4}).step(longs{1, 0});
  const parsed_sequences one = parse_one(b.serialize(), {},
                                         {{"st_a", var_len_feature{dtype::float32}},
                                          {"st_b", var_len_feature{dtype::string}},
                                          {"st_c", var_len_feature{dtype::int64}},
                                          {"a", fixed_len_sequence_feature{dtype::int64, {2}}}});
  CHECK(one.sequences.sparse("st_a") ==
        sparse({3, 2}, {0, 0, 0, 1, 1, 0}, tensor::of<float>({3}, {3, 4, 5}), {3, 2}));
  CHECK(one.sequences.sparse("st_b") ==
        sparse({3, 2}, {0, 0, 3, 0, 3, 1}, tensor::of({3}, {"a", "b", "c"}), {4, 2}));
  CHECK(one.sequences.sparse("st_c") == sparse({0, 2}, {}, tensor(dtype::int64, {0}), {0, 0}));
  CHECK(one.sequences.dense("a") == tensor::of<std::int64_t>({2, 2}, {3, 4, 1, 0}));
  CHECK(one.lengths.dense("a") == tensor::scalar(std::int64_t{2}));
}

TEST_CASE("sequence_example_parser: a wrong type or number of values names list and step") {
  CHECK(error_of(builder().list("a").step(longs{1}).step(floats{2}), int_rows) ==
        "record 0, feature 'a', step 1: has type float32, must have int64");
  CHECK(error_of(builder().list("a").step(floats{2}), int_rows) ==
        "record 0, feature 'a', step 0: has type float32, must have int64");
  CHECK(error_of(builder().list("a").step(longs{1}).step(longs{1}).step(floats{2}), int_rows,
                 "in1") ==
        "record 0 ('in1'), feature 'a', step 2: has type float32, must have int64");
  CHECK(error_of(builder().list("a").step(longs{2, 3}).step(longs{2, 3, 4}),
                 {{"a", fixed_len_sequence_feature{dtype::int64, {2}}}}) ==
        "record 0, feature 'a', step 1: has 3 int64 values, must have 2 for the shape [2]");
  CHECK(error_of(builder().list("a").step(leat::feature_values()), int_rows) ==
        "record 0, feature 'a', step 0: has 0 int64 values, must have 1 for the shape []");
}

TEST_CASE("sequence_example_parser: refuses a missing required list") {
  CHECK(error_of(builder(), int_rows) ==
        "record 0, feature 'a': required list is missing: set allow_missing if it is optional");
  const parsed_sequences one =
      parse_one({}, {}, {{"a", fixed_len_sequence_feature{dtype::int64, {2}, true}}});
  CHECK(one.sequences.dense("a") == tensor(dtype::int64, {0, 2}));
  CHECK(one.lengths.dense("a") == tensor::scalar(std::int64_t{0}));
}

TEST_CASE("sequence_example_builder: writes the bytes of protobuf") {
  const std::string bytes = leat_test::from_hex(
      "0a130a110a0163120c120a0a08000040400000804012170a150a016112100a061a040a0203040a061a040a02010"
      "0");
  CHECK(builder()
            .context("c", floats{3, 4})
            .list("a")
            .step(longs{3, 4})
            .step(longs{1, 0})
            .serialize() == bytes);
  const parsed_sequences one = parse_one(bytes, {{"c", fixed_len_feature{dtype::float32, {2}}}},
                                         {{"a", fixed_len_sequence_feature{dtype::int64, {2}}}});
  CHECK(one.context.dense("c") == tensor::of<float>({2}, {3, 4}));
  CHECK(one.sequences.dense("a") == tensor::of<std::int64_t>({2, 2}, {3, 4, 1, 0}));
}

TEST_CASE("sequence_example_parser: pads a batch and returns the lengths") {
  const std::vector<std::string> bytes = {
      builder().list("a").step(longs{1}).step(longs{2}).list("v").step(texts{"x", "y"}).serialize(),
      builder()
          .list("a")
          .step(longs{3})
          .list("v")
          .step(leat::feature_values())
          .step(texts{"z"})
          .serialize()};
  const std::vector<leat::byte_view> records = {leat::as_bytes(bytes[0]), leat::as_bytes(bytes[1])};
  const parsed_sequences all =
      sequence_example_parser(
          {},
          {{"a",
            fixed_len_sequence_feature{dtype::int64, {}, false, tensor::scalar(std::int64_t{-1})}},
           {"v", var_len_feature{dtype::string}}})
          .parse(records);
  CHECK(all.sequences.dense("a") == tensor::of<std::int64_t>({2, 2}, {1, 2, 3, -1}));
  CHECK(all.lengths.dense("a") == ints_of({2, 1}));
  CHECK(all.sequences.sparse("v") ==
        sparse({3, 3}, {0, 0, 0, 0, 0, 1, 1, 1, 0}, tensor::of({3}, {"x", "y", "z"}), {2, 2, 2}));
}

TEST_CASE("sequence_example_parser: refuses invalid features") {
  const auto refused = [](const feature_map& context, const feature_map& sequences) {
    return !refusal([&] { return sequence_example_parser(context, sequences); }).empty();
  };
  CHECK(refused({}, {}));
  CHECK(refused({}, {{"a", fixed_len_feature{dtype::int64, {}}}}));
  CHECK(refused({}, {{"a", leat::sparse_feature{{"i"}, "v", dtype::int64, {1}}}}));
  CHECK(refused({}, {{"a", var_len_feature{dtype::float64}}}));
  CHECK_NOTHROW(sequence_example_parser({{"a", fixed_len_feature{dtype::int64, {}}}},
                                        {{"a", var_len_feature{dtype::float32}}}));
}

TEST_CASE("sequence_example_parser: a truncated record is an error or a valid record") {
  const std::string whole =
      builder().context("c", floats{3, 4}).list("a").step(longs{3, 400}).serialize();
  const sequence_example_parser parser({{"c", var_len_feature{dtype::float32}}},
                                       {{"a", var_len_feature{dtype::int64}}});
  const std::size_t context_alone = builder().context("c", floats{3, 4}).serialize().size();
  for (std::size_t size = 1; size < whole.size(); ++size) {
    const std::string_view part = std::string_view(whole).substr(0, size);
    if (size == context_alone) {
      CHECK_NOTHROW(parser.parse_one(leat::as_bytes(part)));
    } else {
      CHECK_THROWS_AS(parser.parse_one(leat::as_bytes(part)), leat::decode_error);
    }
  }
}

TEST_CASE("sequence_example_builder: a step belongs to a list") {
  CHECK_THROWS_WITH(builder().step(longs{1}), Catch::Contains("call list() first"));
  builder b;
  b.list("a").step(longs{1});
  const std::string one = b.serialize();
  b.clear();
  CHECK(b.serialize().empty());
  b.list("a").step(longs{1});
  CHECK(b.serialize() == one);
}

}  // namespace sequence_example_parser_test
