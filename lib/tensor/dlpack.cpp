#include "leat/tensor/dlpack.hpp"

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "leat/base/error.hpp"
#include "tensor/internal/tensor_builder.hpp"

namespace LEAT {
namespace {

enum code : std::uint8_t {
  dl_int = 0,
  dl_uint = 1,
  dl_float = 2,
  dl_bfloat = 4,
  dl_complex = 5,
  dl_bool = 6,
};

struct type_code {
  dtype type;
  std::uint8_t code;
};
constexpr type_code types[] = {
    {dtype::boolean, dl_bool},  {dtype::uint8, dl_uint},        {dtype::int8, dl_int},
    {dtype::uint16, dl_uint},   {dtype::int16, dl_int},         {dtype::uint32, dl_uint},
    {dtype::int32, dl_int},     {dtype::uint64, dl_uint},       {dtype::int64, dl_int},
    {dtype::float16, dl_float}, {dtype::bfloat16, dl_bfloat},   {dtype::float32, dl_float},
    {dtype::float64, dl_float}, {dtype::complex64, dl_complex}, {dtype::complex128, dl_complex},
};

[[noreturn]] void throw_dlpack_error(const std::string& why) {
  throw failure(errc::invalid_argument, "DLPack: " + why);
}

std::uint8_t bits_of(dtype type) { return static_cast<std::uint8_t>(8 * size_of(type)); }

dl_data_type exported(dtype type) {
  for (const type_code& t : types) {
    if (t.type == type) return {.code = t.code, .bits = bits_of(type), .lanes = 1};
  }
  throw_dlpack_error("tensor of type string cannot be exported: convert the strings to numbers");
}

dtype imported(const dl_data_type& type) {
  for (const type_code& t : types) {
    if (t.code == type.code && bits_of(t.type) == type.bits && type.lanes == 1) return t.type;
  }
  throw_dlpack_error("type with code " + std::to_string(type.code) + ", " +
                     std::to_string(type.bits) + " bits and " + std::to_string(type.lanes) +
                     " lanes is not supported: convert the values to a type of dtype");
}

// ----------------------------------------------------------------------------------------- export

// The owned tensor of an export, and the view of it that other libraries see.
// The view points to members of this object, which therefore never moves; the deleter, which the
// other library calls, destroys it.
template <class Managed>
struct exported_tensor {
  Managed managed;
  tensor values;
  std::vector<std::int64_t> shape;
  std::vector<std::int64_t> strides;

  explicit exported_tensor(tensor t)
      : values(std::move(t)),
        shape(values.shape().dimensions().begin(), values.shape().dimensions().end()),
        strides(shape.size(), 1) {
    for (std::size_t d = shape.size(); d-- > 1;) {
      strides[d - 1] = strides[d] * std::max<std::int64_t>(shape[d], 1);
    }
    dl_tensor& view = managed.dl_tensor;
    view.dtype = exported(values.type());
    if (values.count() > 0) view.data = detail::tensor_builder::bytes(values);
    view.ndim = static_cast<std::int32_t>(shape.size());
    view.shape = shape.data();
    view.strides = strides.data();
    managed.manager_ctx = this;
    managed.deleter = [](Managed* self) {
      delete static_cast<exported_tensor*>(self->manager_ctx);
    };
  }
};

// ----------------------------------------------------------------------------------------- import

// Calls the deleter at the end, if there is one.
struct release {
  template <class Managed>
  void operator()(Managed* managed) const noexcept {
    if (managed->deleter) managed->deleter(managed);
  }
};

// Copies the values of dimension `d` and the following dimensions from the memory of the other
// library to contiguous memory at `to`. Returns the address after the last value.
std::byte* copy_dimension(const dl_tensor& from, const std::byte* at, std::int32_t d,
                          std::size_t value_size, std::byte* to) {
  if (d == from.ndim) {
    std::memcpy(to, at, value_size);
    return to + value_size;
  }
  const std::int64_t step = from.strides[d] * static_cast<std::int64_t>(value_size);
  for (std::int64_t i = 0; i < from.shape[d]; ++i) {
    to = copy_dimension(from, at + i * step, d + 1, value_size, to);
  }
  return to;
}

tensor copy_of(const dl_tensor& from) {
  if (from.device.device_type != dl_device().device_type) {
    throw_dlpack_error("values are on a device of type " + std::to_string(from.device.device_type) +
                       ", must be on the CPU (type 1): copy them to the CPU");
  }
  if (from.ndim < 0)
    throw_dlpack_error("tensor has " + std::to_string(from.ndim) +
                       " dimensions, must have 0 or more");
  const dtype type = imported(from.dtype);
  tensor result = detail::tensor_builder::values(
      type, shape(std::span(from.shape, static_cast<std::size_t>(from.ndim))));
  if (result.count() == 0) return result;
  const auto* const data = static_cast<const std::byte*>(from.data) + from.byte_offset;
  std::byte* const to = detail::tensor_builder::bytes(result);
  if (from.strides) {
    copy_dimension(from, data, 0, size_of(type), to);
  } else {
    std::memcpy(to, data, result.byte_size());
  }
  if (type == dtype::boolean) {  // any byte but 0 is true
    std::transform(to, to + result.byte_size(), to,
                   [](std::byte b) { return std::byte{b != std::byte{0}}; });
  }
  return result;
}

}  // namespace

dl_managed_tensor* to_dlpack(tensor t) {
  return &std::make_unique<exported_tensor<dl_managed_tensor>>(std::move(t)).release()->managed;
}

dl_managed_tensor_versioned* to_dlpack_versioned(tensor t) {
  const bool shared = t.is_shared();
  auto made = std::make_unique<exported_tensor<dl_managed_tensor_versioned>>(std::move(t));
  if (shared) made->managed.flags = dl_managed_tensor_versioned::read_only;
  return &made.release()->managed;
}

tensor from_dlpack(dl_managed_tensor* managed) {
  if (!managed) throw_dlpack_error("pointer to the tensor is null");
  // Released in any case, also after an error.
  const std::unique_ptr<dl_managed_tensor, release> taken(managed);
  return copy_of(managed->dl_tensor);
}

tensor from_dlpack(dl_managed_tensor_versioned* managed) {
  if (!managed) throw_dlpack_error("pointer to the tensor is null");
  const std::unique_ptr<dl_managed_tensor_versioned, release> taken(managed);
  if (managed->version.major != dl_version().major) {
    throw_dlpack_error("tensor has version " + std::to_string(managed->version.major) +
                       ", must have version 1");
  }
  return copy_of(managed->dl_tensor);
}

}  // namespace LEAT
