#pragma once

// Elements and batches for tests.

#include <concepts>
#include <span>

#include "leat/tensor.hpp"
#include "support/leat_test.hpp"

constexpr std::int64_t any = leat::unknown_dimension;

inline leat::tensor int_vector(const std::vector<int>& values) {
  return leat::tensor::of<int>({static_cast<std::int64_t>(values.size())}, values);
}
// With single arguments, since g++ 12 rejects a braced list in a statement that awaits.
template <std::same_as<int>... Values>
leat::tensor ints(Values... values) {
  return int_vector({values...});
}
template <class... Values>
leat::tensor texts(const Values&... values) {
  const std::vector<std::string> all = {values...};
  return leat::tensor::of({static_cast<std::int64_t>(all.size())},
                          std::span<const std::string>(all));
}
inline leat::tensor_tuple one(leat::tensor t) { return leat::tensor_tuple(std::move(t)); }
inline leat::tensor_tuple one(int value) { return one(leat::tensor::scalar(value)); }

// Returns first, first + 1, ... as a batch of `count` scalars.
inline leat::tensor_tuple run_of(int first, int count) {
  std::vector<int> values;
  for (int i = 0; i < count; ++i) values.push_back(first + i);
  return one(int_vector(values));
}

// Padded together, they would have the shape [2, 2^40, 2^40].
constexpr std::int64_t large_dimension = std::int64_t{1} << 40;
inline leat::tensor tall_tensor() { return {leat::dtype::int32, {large_dimension, 0}}; }
inline leat::tensor wide_tensor() { return {leat::dtype::int32, {0, large_dimension}}; }
inline leat::tensor_tuple tall() { return one(tall_tensor()); }
inline leat::tensor_tuple wide() { return one(wide_tensor()); }

inline leat::element_spec spec_of(leat::dtype type, leat::partial_shape shape) {
  return leat::element_spec({{.type = type, .shape = std::move(shape)}});
}
inline leat::element_spec scalars() { return spec_of(leat::dtype::int32, {}); }
