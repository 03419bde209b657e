#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "leat/base/error.hpp"
#include "leat/tensor/tensor.hpp"

namespace LEAT::detail {

/// Creates tensors whose values are not written yet; the caller writes all of them.
struct tensor_builder {
  /// The size of the offsets of `count` strings, rounded up so that the bytes after them are
  /// aligned.
  static std::size_t size_of_offsets(std::size_t count) {
    const std::size_t mask = aligned_bytes::alignment - 1;
    return ((count + 1) * sizeof(std::int64_t) + mask) & ~mask;
  }

  /// Values of a fixed size, uninitialised.
  static tensor values(dtype type, shape s) {
    check_size(type, s);
    aligned_bytes bytes(s.count() * size_of(type));
    return {type, std::move(s), std::move(bytes)};
  }

  /// Strings of `size` bytes in all; the first offset is set, the others are not.
  static tensor strings(shape s, std::size_t size) {
    check_size(dtype::string, s);
    if (s.count() == 0) return {dtype::string, std::move(s), {}};
    const std::size_t before = size_of_offsets(s.count());
    if (size > PTRDIFF_MAX - before) throw std::bad_alloc();
    aligned_bytes bytes(before + size);
    tensor t(dtype::string, std::move(s), std::move(bytes));
    offsets(t)[0] = 0;
    return t;
  }

  /// Creates a tensor from memory of exactly the size of its values.
  static tensor from_bytes(dtype type, shape s, aligned_bytes bytes) noexcept {
    return {type, std::move(s), std::move(bytes)};
  }
  /// Returns a tensor that shares the values in another shape of the same count.
  static tensor in_shape(const tensor& t, shape s) noexcept {
    return {t.type_, std::move(s), t.bytes_};
  }

  static std::byte* bytes(tensor& t) noexcept { return t.bytes_.data(); }
  static const std::byte* bytes(const tensor& t) noexcept { return t.bytes_.data(); }
  static std::int64_t* offsets(tensor& t) noexcept {
    return reinterpret_cast<std::int64_t*>(t.bytes_.data());
  }
  static char* text(tensor& t) {
    return reinterpret_cast<char*>(t.bytes_.data() + size_of_offsets(t.count()));
  }

 private:
  static void check_size(dtype type, const shape& s) {
    const std::size_t one = type == dtype::string ? sizeof(std::int64_t) : size_of(type);
    if (s.count() < PTRDIFF_MAX / one - aligned_bytes::alignment) return;
    throw failure(errc::invalid_argument, "tensor of " + std::string(to_string(type)) + ' ' +
                                              to_string(s) + ": more bytes than 64 bits can count");
  }
};

}  // namespace LEAT::detail
