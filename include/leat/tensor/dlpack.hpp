#pragma once

#include <cstdint>

#include "leat/tensor/tensor.hpp"

namespace LEAT {

// The structures of DLPack's ABI, version 1.1, by which array libraries hand memory to each other.
// Their layout is that of DLTensor, DLManagedTensor and DLManagedTensorVersioned in dlpack.h: a
// pointer to one may be cast to a pointer to the other.

/// DLDevice: the location of the memory.
struct dl_device {
  std::int32_t device_type = 1;  ///< kDLCPU: ordinary memory; the only type that leat supports
  /// The number of the device among those of its type; 0 for ordinary memory.
  std::int32_t device_id = 0;
};

/// DLDataType: the type of a value.
struct dl_data_type {
  std::uint8_t code = 0;  ///< DLDataTypeCode: int, uint, float, bfloat, complex or bool
  /// The number of bits of a lane.
  std::uint8_t bits = 0;
  /// The number of lanes: 1 for a plain value, more for a vector.
  std::uint16_t lanes = 1;
};

/// DLTensor: values with a shape. Does not own them.
struct dl_tensor {
  void* data = nullptr;  ///< null if there are no values
  /// The device whose memory holds the values.
  dl_device device = {};
  /// The number of dimensions.
  std::int32_t ndim = 0;
  /// The type of the values.
  dl_data_type dtype = {};
  /// The dimensions, outermost first; `ndim` numbers.
  std::int64_t* shape = nullptr;
  std::int64_t* strides = nullptr;  ///< in values, not bytes; null if the values are contiguous
  /// The distance from `data` to the first value, in bytes.
  std::uint64_t byte_offset = 0;
};

/// DLManagedTensor: the form of version 0. Python passes it in a capsule named "dltensor".
struct dl_managed_tensor {
  /// The values and their shape.
  leat::dl_tensor dl_tensor = {};
  /// The data of the producer, for the deleter. The consumer does not use it.
  void* manager_ctx = nullptr;
  void (*deleter)(dl_managed_tensor* self) = nullptr;  ///< frees everything
};

/// DLPackVersion.
struct dl_version {
  /// The major version: it changes with the layout of the structures.
  std::uint32_t major = 1;
  /// The minor version: it changes with additions such as new types.
  std::uint32_t minor = 1;
};

/// DLManagedTensorVersioned: the form since version 1. Its capsule is named "dltensor_versioned".
struct dl_managed_tensor_versioned {
  static constexpr std::uint64_t read_only = 1;  ///< a flag: the values must not be changed
  static constexpr std::uint64_t is_copied = 2;  ///< a flag: nothing else shares the values

  /// The version of the ABI to which the structure conforms.
  dl_version version = {};
  /// The data of the producer, for the deleter. The consumer does not use it.
  void* manager_ctx = nullptr;
  void (*deleter)(dl_managed_tensor_versioned* self) = nullptr;  ///< frees everything
  /// The flags `read_only` and `is_copied`, combined by a bitwise or.
  std::uint64_t flags = 0;
  /// The values and their shape.
  leat::dl_tensor dl_tensor = {};
};

/// Exports the values of `t` to another library, without a copy. The consumer calls the deleter
/// once, from any thread; the values live until then.
///
///     leat::dl_managed_tensor* image = leat::to_dlpack(std::move((*batch)["image"]));
///
/// This form cannot mark the values as read-only. The consumer must not change them if they are
/// shared: if `t` was copied, not moved, from a tensor that still exists.
///
/// Errors: invalid_argument for strings, which DLPack does not support; std::bad_alloc.
/// Cost:   one allocation.
[[nodiscard]] dl_managed_tensor* to_dlpack(tensor t);

/// Like to_dlpack(), but in the form since version 1: marked as read-only if the values are shared.
[[nodiscard]] dl_managed_tensor_versioned* to_dlpack_versioned(tensor t);

/// Returns a tensor with a copy of the values that another library has exported; they may be
/// strided. Takes ownership: calls the deleter, even if an error is thrown.
///
/// Errors: invalid_argument for null, memory of a device other than the CPU, a type that has no
///         dtype, or a version with another layout; std::bad_alloc.
[[nodiscard]] tensor from_dlpack(dl_managed_tensor* managed);
[[nodiscard]] tensor from_dlpack(dl_managed_tensor_versioned* managed);

}  // namespace LEAT
