// Exports tensors and a batch to other languages, for tensor_exports.py, as a library in C.

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "leat/tensor/arrow.hpp"
#include "leat/tensor/batch_spec.hpp"
#include "leat/tensor/dlpack.hpp"
#include "leat/tensor/tensor.hpp"

namespace {

using leat::dtype;
using leat::tensor;
using leat::tensor_tuple;

// The numbers 0 to 5. A boolean states whether its number is odd, and a complex number has the
// imaginary part -1.
template <class T>
tensor six() {
  std::vector<T> values(6);
  for (std::size_t i = 0; i < 6; ++i) values[i] = static_cast<T>(i);
  return tensor::of<T>({2, 3}, std::span<const T>(values));
}

template <class T, class Make>
tensor six_of(Make make) {
  T values[6];
  for (int i = 0; i < 6; ++i) values[i] = make(i);
  return tensor::of<T>({2, 3}, std::span<const T>(values));
}

std::vector<tensor> make_tensors() {
  const std::uint16_t half[] = {0, 0x3c00, 0x4000, 0x4200, 0x4400, 0x4500};
  const std::uint16_t brain[] = {0, 0x3f80, 0x4000, 0x4040, 0x4080, 0x40a0};
  return {
      six_of<bool>([](int i) { return i % 2 == 1; }),
      six<std::uint8_t>(),
      six<std::int8_t>(),
      six<std::uint16_t>(),
      six<std::int16_t>(),
      six<std::uint32_t>(),
      six<std::int32_t>(),
      six<std::uint64_t>(),
      six<std::int64_t>(),
      six_of<leat::float16>([&](int i) { return leat::float16{half[i]}; }),
      six_of<leat::bfloat16>([&](int i) { return leat::bfloat16{brain[i]}; }),
      six<float>(),
      six<double>(),
      six_of<leat::complex64>([](int i) { return leat::complex64{static_cast<float>(i), -1}; }),
      six_of<leat::complex128>([](int i) { return leat::complex128{static_cast<double>(i), -1}; }),
  };
}

std::vector<tensor>& tensors() {
  static std::vector<tensor> all = make_tensors();
  return all;
}

// Elements 0 to 9: a flag, a grid of 2 x 3, an id, a text and sparse weights.
leat::column_batch make_batch() {
  const leat::batch_spec spec(
      {{.type = dtype::boolean, .shape = {}, .name = "flag"},
       {.type = dtype::float32, .shape = {2, 3}, .name = "grid"},
       {.type = dtype::int64, .shape = {}, .name = "id"},
       {.type = dtype::string, .shape = {}, .name = "text"},
       {.type = dtype::float64, .shape = {100}, .name = "weights", .sparse = true},
       {.type = dtype::complex128, .shape = {}, .name = "z"}});
  std::vector<tensor_tuple> elements;
  for (std::int64_t i = 0; i < 10; ++i) {
    tensor grid(dtype::float32, {2, 3});
    for (float& x : grid.mutable_values<float>()) x = static_cast<float>(i) / 2;
    const std::int64_t count = i % 3;
    tensor at(dtype::int64, {count, 1});
    tensor weights(dtype::float64, {count});
    for (std::int64_t k = 0; k < count; ++k) {
      at.mutable_values<std::int64_t>()[static_cast<std::size_t>(k)] = 10 * i + k;
      weights.mutable_values<double>()[static_cast<std::size_t>(k)] = static_cast<double>(k) + 0.5;
    }
    elements.push_back(
        tensor_tuple(tensor::scalar(i % 4 == 0), std::move(grid), tensor::scalar(i),
                     tensor::scalar(std::string(static_cast<std::size_t>(i), 'x')), std::move(at),
                     std::move(weights), tensor::of<std::int64_t>({1}, {100}),
                     tensor::scalar(leat::complex128{static_cast<double>(i), 0.25})));
  }
  return spec.stack(elements);
}

leat::column_batch& batch() {
  static leat::column_batch one = make_batch();
  return one;
}

}  // namespace

extern "C" {

int leat_tensor_count() { return static_cast<int>(tensors().size()); }
void* leat_tensor_dlpack(int index) {
  return leat::to_dlpack(tensors()[static_cast<std::size_t>(index)]);
}
void* leat_tensor_dlpack_versioned(int index) {
  return leat::to_dlpack_versioned(tensors()[static_cast<std::size_t>(index)]);
}
// Returns 1 if another owner shares the values of a tensor.
int leat_tensor_is_shared(int index) {
  return tensors()[static_cast<std::size_t>(index)].is_shared() ? 1 : 0;
}
// Imports a tensor and returns 1 if it equals the tensor at that index.
int leat_tensor_is(void* managed, int index) {
  return leat::from_dlpack(static_cast<leat::dl_managed_tensor*>(managed)) ==
                 tensors()[static_cast<std::size_t>(index)]
             ? 1
             : 0;
}
void leat_batch_arrow(void* schema, void* array) {
  leat::to_arrow(batch(), *static_cast<leat::arrow_schema*>(schema),
                 *static_cast<leat::arrow_array*>(array));
}
int leat_batch_is_shared() {
  int shared = 0;
  for (const tensor& t : batch().components()) shared += t.is_shared() ? 1 : 0;
  return shared;
}

}  // extern "C"
