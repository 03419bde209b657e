#pragma once

#include <cstdint>

#include "leat/tensor/tensor.hpp"

namespace leat {

// The structures of DLPack's ABI, version 1.1, by which array libraries hand memory to each other.
// Their layout is that of DLTensor, DLManagedTensor and DLManagedTensorVersioned in dlpack.h: a
// pointer to one may be cast to a pointer to the other.

/// DLDevice: where the memory is.
struct dl_device {
  std::int32_t device_type = 1;  ///< kDLCPU: ordinary memory; the only one here
  std::int32_t device_id = 0;
};

/// DLDataType: the type of a value.
struct dl_data_type {
  std::uint8_t code = 0;  ///< DLDataTypeCode: int, uint, float, bfloat, complex or bool
  std::uint8_t bits = 0;
  std::uint16_t lanes = 1;
};

/// DLTensor: values in a shape. Does not own them.
struct dl_tensor {
  void* data = nullptr;  ///< null where there is no value
  dl_device device = {};
  std::int32_t ndim = 0;
  dl_data_type dtype = {};
  std::int64_t* shape = nullptr;
  std::int64_t* strides = nullptr;  ///< in values, not bytes; null: one behind the other
  std::uint64_t byte_offset = 0;
};

/// DLManagedTensor: the form of version 0. Python passes it in a capsule named "dltensor".
struct dl_managed_tensor {
  leat::dl_tensor dl_tensor = {};
  void* manager_ctx = nullptr;
  void (*deleter)(dl_managed_tensor* self) = nullptr;  ///< frees all of it
};

/// DLPackVersion.
struct dl_version {
  std::uint32_t major = 1;
  std::uint32_t minor = 1;
};

/// DLManagedTensorVersioned: the form since version 1. Its capsule is named "dltensor_versioned".
struct dl_managed_tensor_versioned {
  static constexpr std::uint64_t read_only = 1;  ///< a flag: the values must not be changed
  static constexpr std::uint64_t is_copied = 2;  ///< a flag: nobody else has them

  dl_version version = {};
  void* manager_ctx = nullptr;
  void (*deleter)(dl_managed_tensor_versioned* self) = nullptr;  ///< frees all of it
  std::uint64_t flags = 0;
  leat::dl_tensor dl_tensor = {};
};

/// The values of `t` for another library, without a copy. Whoever takes it calls its deleter, once,
/// from any thread; the values live until then.
///
///     leat::dl_managed_tensor* image = leat::to_dlpack(std::move((*batch)["image"]));
///
/// This form cannot say that the values must not be changed. They must not where others share them:
/// where `t` was copied, not moved, from a tensor that lives on.
///
/// Errors: invalid_argument for strings, of which DLPack has none; std::bad_alloc.
/// Cost:   one allocation.
[[nodiscard]] dl_managed_tensor* to_dlpack(tensor t);

/// The same in the form since version 1: flagged as read-only where others share the values.
[[nodiscard]] dl_managed_tensor_versioned* to_dlpack_versioned(tensor t);

/// A tensor with a copy of the values that another library has handed out; they may be strided. It
/// is taken over: its deleter is called, also when this throws.
///
/// Errors: invalid_argument for null, memory of a device other than the CPU, a type that tensors
///         have not, or a version with another layout; std::bad_alloc.
[[nodiscard]] tensor from_dlpack(dl_managed_tensor* managed);
[[nodiscard]] tensor from_dlpack(dl_managed_tensor_versioned* managed);

}  // namespace leat
