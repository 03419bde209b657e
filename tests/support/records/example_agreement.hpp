#pragma once

#include <array>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "leat/codec/example/example_fields.hpp"
#include "leat/codec/example/example_parser.hpp"

namespace leat_test {

/// The features that example_fields and example_parser read from any Example. Each type has one
/// list of any length and features of fixed length.
struct agreed_example {
  std::array<float, 2> f = {};
  std::vector<std::int64_t> i;
  std::int64_t j = 0;
  std::string k;
  std::vector<float> n;
  std::vector<std::string> s;
  std::array<std::string, 2> t;
  std::vector<float> three;
  std::vector<std::string> u;
  std::int64_t v = 0;
};
/// Two of these features, one of them with a fixed size.
struct agreed_part {
  std::array<char, 3> k = {};
  std::optional<std::int64_t> v;
};

inline const leat::example_fields<agreed_example>& agreed_fields() {
  using e = agreed_example;
  using leat::optional_field;
  static const leat::example_fields<e> fields(
      {optional_field<&e::v>("v", 7), optional_field<&e::f>("f", {0.5F, 1.5F}),
       optional_field<&e::i>("i"), optional_field<&e::j>("j", -1),
       optional_field<&e::k>("k", "none"), optional_field<&e::n>("n"), optional_field<&e::s>("s"),
       optional_field<&e::t>("t", {"x", "y"}), optional_field<&e::three>("three", {1, 2, 3}),
       optional_field<&e::u>("u", {"one", "two"})});
  return fields;
}
inline const leat::example_fields<agreed_part>& agreed_part_fields() {
  static const leat::example_fields<agreed_part> fields(
      {leat::optional_field<&agreed_part::k>("k", {'a', 'b', 'c'}),
       leat::optional_field<&agreed_part::v>("v")});
  return fields;
}
inline const leat::example_parser& agreed_parser() {
  using leat::dtype;
  using leat::fixed_len_feature;
  using leat::tensor;
  using leat::var_len_feature;
  const auto texts = [](std::vector<std::string> all) {
    return tensor::of({2}, std::span<const std::string>(all));
  };
  static const leat::example_parser parser(
      {{"f", fixed_len_feature{dtype::float32, {2}, tensor::of<float>({2}, {{0.5F, 1.5F}})}},
       {"i", var_len_feature{dtype::int64}},
       {"j", fixed_len_feature{dtype::int64, {}, tensor::scalar(std::int64_t{-1})}},
       {"k", fixed_len_feature{dtype::string, {}, tensor::scalar("none")}},
       {"n", var_len_feature{dtype::float32}},
       {"s", var_len_feature{dtype::string}},
       {"t", fixed_len_feature{dtype::string, {2}, texts({"x", "y"})}},
       {"three", fixed_len_feature{dtype::float32, {3}, tensor::of<float>({3}, {{1, 2, 3}})}},
       {"u", fixed_len_feature{dtype::string, {2}, texts({"one", "two"})}},
       {"v", fixed_len_feature{dtype::int64, {}, tensor::scalar(std::int64_t{7})}}});
  return parser;
}

template <class Value>
bool same_values(const leat::tensor& column, std::span<const Value> values) {
  if constexpr (std::is_same_v<Value, std::string>) {
    const auto all = column.strings();
    return std::equal(all.begin(), all.end(), values.begin(), values.end());
  } else {  // compares bits, since NaN differs from itself
    const auto all = column.values<Value>();
    return all.size() == values.size() &&
           (all.empty() || std::memcmp(all.data(), values.data(), all.size_bytes()) == 0);
  }
}

inline bool same_example(const leat::parsed_features& columns, const agreed_example& e) {
  const auto dense = [&](const char* key, auto values) {
    return same_values(columns.dense(key), values);
  };
  const auto list = [&](const char* key, auto values) {
    return same_values(columns.sparse(key).values, values);
  };
  using texts = std::span<const std::string>;
  using floats = std::span<const float>;
  using ints = std::span<const std::int64_t>;
  return dense("f", floats(e.f)) && list("i", ints(e.i)) && dense("j", ints(&e.j, 1)) &&
         dense("k", texts(&e.k, 1)) && list("n", floats(e.n)) && list("s", texts(e.s)) &&
         dense("t", texts(e.t)) && dense("three", floats(e.three)) && dense("u", texts(e.u)) &&
         dense("v", ints(&e.v, 1));
}

inline bool same_part(const agreed_example& whole, bool has_k, leat::byte_view record) {
  try {
    const agreed_part part = agreed_part_fields().parse(record);
    const std::string_view k(part.k.data(), part.k.size());
    return k == (has_k ? std::string_view(whole.k) : "abc") && part.v.value_or(7) == whole.v;
  } catch (const leat::decode_error& e) {
    const std::string size = std::to_string(whole.k.size());
    return has_k && whole.k.size() != 3 &&
           e.what() == "record 0, feature 'k': has a string of " + size +
                           " bytes, must have 3: invalid argument";
  }
}

/// Returns true if example_fields and example_parser read equal values from a record, or refuse it
/// with the same message. Sets `refusal` to the message, or to an empty string if they read the
/// record.
inline bool agree_on(leat::byte_view record, std::string& refusal) {
  static agreed_example used;  // values of earlier records must not remain
  refusal.clear();
  std::optional<leat::parsed_features> columns;
  try {
    columns = agreed_parser().parse_one(record);
  } catch (const leat::decode_error& e) {
    refusal = e.what();
  }
  try {
    agreed_fields().parse_into(record, used);
    if (!columns || !same_example(*columns, used)) return false;
    const agreed_example fresh = agreed_fields().parse(record);
    return same_example(*columns, fresh) && same_part(fresh, fresh.k != "none", record);
  } catch (const leat::decode_error& e) {
    return !columns && refusal == e.what();
  }
}

}  // namespace leat_test
