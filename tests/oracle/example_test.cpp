// Compares example_parser, sequence_example_parser and the builders with protobuf's own reader and
// writer. They accept everything that protobuf accepts, with equal results.

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <catch2/catch.hpp>
#include <google/protobuf/stubs/logging.h>

#include "example.pb.h"
#include "leat/codec/example/decode_example.hpp"
#include "leat/codec/example/example_builder.hpp"
#include "leat/codec/example/example_parser.hpp"
#include "leat/codec/example/sequence_example_parser.hpp"
#include "leat/tensor/stacking.hpp"
#include "oracle/generator.hpp"
#include "support/effort.hpp"
#include "support/records/example_agreement.hpp"

namespace example_test {

using leat::dtype;
using leat::feature_map;
using leat::ragged_feature;
using leat::ragged_partition;
using leat::sparse_tensor;
using leat::tensor;
using leat::var_len_feature;
using leat::oracle::Example;
using leat::oracle::Feature;
using leat::oracle::FeatureList;
using leat::oracle::SequenceExample;
using leat_test::case_seed;
using leat_test::random_case_count;

const std::vector<std::string> keys = {"", "a", "bytes", "\xC3\xA4", "numbers/of/things"};

class generator : public oracle_test::generator_base {
 public:
  using generator_base::generator_base;

  std::int64_t number() {
    const std::int64_t wide = static_cast<std::int64_t>(random_());
    return below(2) == 0 ? wide : wide >> below(64);
  }

  Feature feature() {
    Feature f;
    const auto count = below(5) == 0 ? below(200) : below(4);
    switch (below(4)) {
      case 0: break;  // no kind
      case 1:
        f.mutable_bytes_list();
        for (auto n = count; n > 0; --n)
          f.mutable_bytes_list()->add_value(std::string(below(40), 'x'));
        break;
      case 2:
        f.mutable_float_list();
        for (auto n = count; n > 0; --n) {
          f.mutable_float_list()->add_value(static_cast<float>(number()) / 7);
        }
        break;
      default:
        f.mutable_int64_list();
        for (auto n = count; n > 0; --n) f.mutable_int64_list()->add_value(number());
    }
    return f;
  }

  template <class Map>
  void fill(Map& features) {
    for (auto n = below(5); n > 0; --n) features[keys[below(keys.size())]] = feature();
  }

  Example example() {
    Example e;
    fill(*e.mutable_features()->mutable_feature());
    return e;
  }

  SequenceExample sequence_example() {
    SequenceExample e;
    fill(*e.mutable_context()->mutable_feature());
    for (auto n = below(4); n > 0; --n) {
      auto& list = (*e.mutable_feature_lists()->mutable_feature_list())[keys[below(keys.size())]];
      for (auto steps = below(4); steps > 0; --steps) *list.add_feature() = feature();
    }
    return e;
  }

  // Changes, removes, doubles or cuts off a few bytes.
  std::string damaged(std::string bytes) {
    for (auto n = 1 + below(3); n > 0 && !bytes.empty(); --n) {
      const std::size_t at = below(bytes.size());
      switch (below(4)) {
        case 0: bytes[at] = static_cast<char>(below(256)); break;
        case 1: bytes.erase(at, 1 + below(4)); break;
        case 2: bytes.insert(at, bytes.substr(at, 1 + below(20))); break;
        default: bytes.resize(at);
      }
    }
    return bytes;
  }
};

dtype type_of(const Feature& f) {
  if (f.has_bytes_list()) return dtype::string;
  return f.has_float_list() ? dtype::float32 : dtype::int64;
}

// Returns the values of a feature that protobuf has parsed.
tensor values_of(const Feature& f) {
  const auto shape = [](int n) { return leat::shape{n}; };
  if (f.has_bytes_list()) {
    const auto& v = f.bytes_list().value();
    const std::vector<std::string> all(v.begin(), v.end());
    return tensor::of(shape(v.size()), std::span<const std::string>(all));
  }
  if (f.has_float_list()) {
    const auto& v = f.float_list().value();
    return tensor::of<float>(shape(v.size()),
                             std::span(v.data(), static_cast<std::size_t>(v.size())));
  }
  const auto& v = f.int64_list().value();
  const std::vector<std::int64_t> all(v.begin(), v.end());
  return tensor::of<std::int64_t>(shape(v.size()), all);
}

// Requests each key as a list of any length and as a row.
template <class Map>
feature_map wanted(const Map& features) {
  feature_map all;
  for (const std::string& key : keys) {
    const auto found = features.find(key);
    const dtype type = found == features.end() ? dtype::int64 : type_of(found->second);
    all.emplace(key, var_len_feature{type});
    if (key.empty()) continue;  // no value_key
    const ragged_partition row{.how = ragged_partition::row_limits, .key = "end of " + key};
    all.emplace("row of " + key, ragged_feature{type, key});
    all.emplace("no row of " + key, ragged_feature{type, "not " + key, {row}});
  }
  return all;
}

template <class Map>
void check_same(const Map& expected, const leat::parsed_features& parsed) {
  for (const std::string& key : keys) {
    const auto found = expected.find(key);
    const Feature none;
    const tensor values = values_of(found == expected.end() ? none : found->second);
    if (parsed.sparse(key).values != values) FAIL("another value of '" << key << "'");
    if (key.empty()) continue;
    if (parsed.dense("row of " + key) != values) FAIL("another row of '" << key << "'");
    if (parsed.ragged("no row of " + key).row_splits[0].count() != 1) FAIL("a row of nothing");
  }
}

void check_same(const google::protobuf::Map<std::string, Feature>& expected,
                const leat::decoded_example& all) {
  if (all.features.size() != expected.size()) FAIL("another number of features");
  for (const auto& [key, feature] : expected) {
    const leat::decoded_example::values& found = all.features.at(key);
    const bool has_kind = feature.kind_case() != Feature::KIND_NOT_SET;
    if (found.has_value() != has_kind || (has_kind && *found != values_of(feature))) {
      FAIL("another value of '" << key << "'");
    }
  }
}

// Compares the values of a list of features, step by step.
void check_same(const std::string& key, const FeatureList& expected, const sparse_tensor& found) {
  std::vector<std::int64_t> indices;
  std::vector<tensor> steps;
  std::int64_t most = 0;
  for (std::int64_t step = 0; step < expected.feature_size(); ++step) {
    const tensor values = values_of(expected.feature(static_cast<int>(step)));
    const auto count = static_cast<std::int64_t>(values.count());
    for (std::int64_t i = 0; i < count; ++i) indices.insert(indices.end(), {step, i});
    most = std::max(most, count);
    if (count > 0) steps.push_back(values);
  }
  const auto rows = static_cast<std::int64_t>(indices.size() / 2);
  if (found.indices != tensor::of<std::int64_t>({rows, 2}, indices)) {
    FAIL("other indices of '" << key << "'");
  }
  if (found.dense_shape != tensor::of<std::int64_t>({2}, {expected.feature_size(), most})) {
    FAIL("another shape of '" << key << "'");
  }
  std::vector<tensor> got = leat::unstack(found.values);
  for (const tensor& values : steps) {
    for (const tensor& value : leat::unstack(values)) {
      if (got.empty() || got.front() != value) FAIL("another value of '" << key << "'");
      got.erase(got.begin());
    }
  }
  if (!got.empty()) FAIL("more values of '" << key << "'");
}

// Protobuf treats a feature of an unknown kind as a feature without a kind.
bool is_unknown_kind(const leat::decode_error& e) {
  return std::string_view(e.what()).find("feature of an unknown kind") != std::string_view::npos;
}

bool check_example(const std::string& bytes) {
  const google::protobuf::LogSilencer quiet;  // protobuf logs invalid UTF-8
  Example e;
  const bool read = e.ParseFromString(bytes);
  const auto& features = e.features().feature();
  try {
    const auto parsed = leat::example_parser(wanted(features)).parse_one(leat::as_bytes(bytes));
    if (read) check_same(features, parsed);
  } catch (const leat::decode_error& error) {
    if (read && !is_unknown_kind(error)) FAIL("refused: " << error.what());
  }
  return read;
}

TEST_CASE("Example: reads the output of protobuf", "[oracle]") {
  generator random(case_seed(1));
  for (auto n = random_case_count(5'000); n > 0; --n) {
    const Example e = random.example();
    const std::string bytes = e.SerializeAsString();
    if (!check_example(bytes)) FAIL("not read");
    check_same(e.features().feature(), leat::decode_example(leat::as_bytes(bytes)));
  }
}

TEST_CASE("Example: reads corrupt bytes like protobuf", "[oracle]") {
  generator random(case_seed(2));
  std::uint64_t read = 0;
  for (auto n = random_case_count(50'000); n > 0; --n) {
    read += check_example(random.damaged(random.example().SerializeAsString()));
  }
  CHECK(read > random_case_count(1'000));
  CHECK(read < random_case_count(49'000));
}

TEST_CASE("Example: accepts exactly the names that protobuf accepts", "[oracle]") {
  const google::protobuf::LogSilencer quiet;  // protobuf logs invalid UTF-8
  generator random(case_seed(6));
  // Bytes that begin, continue or limit sequences.
  const std::string_view some =
      "a\x7f\x80\x8f\x90\x9f\xa0\xbf\xc1\xc2\xdf\xe0\xed\xef\xf0\xf4\xf5\xff";
  std::uint64_t read = 0;
  for (auto n = random_case_count(20'000); n > 0; --n) {
    std::string name;
    for (auto size = 1 + random.below(4); size > 0; --size) name += some[random.below(some.size())];
    Example e;
    (*e.mutable_features()->mutable_feature())[name] = random.feature();
    const std::string bytes = e.SerializeAsString();
    bool accepted = true;
    try {
      static_cast<void>(leat::decode_example(leat::as_bytes(bytes)));
    } catch (const leat::decode_error&) {
      accepted = false;
    }
    if (accepted != Example().ParseFromString(bytes)) FAIL("otherwise: " << accepted);
    read += accepted;
  }
  CHECK(read > random_case_count(500));
  CHECK(read < random_case_count(19'000));
}

TEST_CASE("Example: the builder's bytes are protobuf's", "[oracle]") {
  generator random(case_seed(3));
  for (auto n = random_case_count(2'000); n > 0; --n) {
    const Feature f = random.feature();
    Example e;
    (*e.mutable_features()->mutable_feature())["key"] = f;
    const tensor values = values_of(f);
    leat::example_builder builder;
    if (f.has_bytes_list()) {
      const std::vector<std::string_view> all(values.strings().begin(), values.strings().end());
      builder.add("key", all);
    } else if (f.has_float_list()) {
      builder.add("key", values.values<float>());
    } else if (f.has_int64_list()) {
      builder.add("key", values.values<std::int64_t>());
    } else {
      builder.add("key", leat::feature_values());
    }
    if (builder.serialize() != e.SerializeAsString()) FAIL("other bytes");
  }
}

// The keys are those of example_agreement.hpp. The kinds sometimes differ.
Example example_of_fields(generator& random) {
  Example e;
  auto& features = *e.mutable_features()->mutable_feature();
  for (const char* const key : {"f", "i", "j", "k", "n", "s", "t", "three", "u", "v"}) {
    if (random.below(2) == 0) features[key] = random.feature();
  }
  return e;
}

TEST_CASE("Example: example_fields reads what protobuf writes", "[oracle]") {
  generator random(case_seed(5));
  std::uint64_t read = 0;
  for (auto n = random_case_count(10'000); n > 0; --n) {
    const Example e = example_of_fields(random);
    const std::string bytes = e.SerializeAsString();
    std::string refusal;
    if (!leat_test::agree_on(leat::as_bytes(bytes), refusal)) FAIL("otherwise: " << refusal);
    std::string after_damage;
    const std::string damaged = random.damaged(bytes);
    if (!leat_test::agree_on(leat::as_bytes(damaged), after_damage)) FAIL(after_damage);
    if (!refusal.empty()) continue;
    ++read;
    const auto fields = leat_test::agreed_fields().parse(leat::as_bytes(bytes));
    const auto& all = e.features().feature();
    if (all.contains("i")) {
      const auto& values = all.at("i").int64_list().value();
      if (!std::ranges::equal(fields.i, values)) FAIL("other numbers");
    }
    if (all.contains("s")) {
      const auto& values = all.at("s").bytes_list().value();
      if (!std::ranges::equal(fields.s, values)) FAIL("other strings");
    }
  }
  CHECK(read > random_case_count(10));
}

TEST_CASE("SequenceExample: reads the output of protobuf", "[oracle]") {
  generator random(case_seed(4));
  for (auto n = random_case_count(5'000); n > 0; --n) {
    const SequenceExample e = random.sequence_example();
    const std::string bytes = e.SerializeAsString();
    feature_map lists;
    for (const auto& [key, list] : e.feature_lists().feature_list()) {
      const dtype type = list.feature_size() == 0 ? dtype::int64 : type_of(list.feature(0));
      lists.emplace(key, var_len_feature{type});
    }
    const leat::sequence_example_parser parser(wanted(e.context().feature()), lists);
    bool mixed = false;  // protobuf accepts steps of several kinds
    for (const auto& [key, list] : e.feature_lists().feature_list()) {
      for (const Feature& f : list.feature()) {
        mixed = mixed || (f.kind_case() != Feature::KIND_NOT_SET &&
                          type_of(f) != std::get<var_len_feature>(lists.at(key)).type);
      }
    }
    if (mixed) {
      CHECK_THROWS_AS(parser.parse_one(leat::as_bytes(bytes)), leat::decode_error);
      continue;
    }
    const auto parsed = parser.parse_one(leat::as_bytes(bytes));
    check_same(e.context().feature(), parsed.context);
    for (const auto& [key, list] : e.feature_lists().feature_list()) {
      check_same(key, list, parsed.sequences.sparse(key));
    }
  }
}

}  // namespace example_test
