#pragma once

#include <concepts>
#include <cstddef>
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include "leat/base/internal/aligned_bytes.hpp"
#include "leat/tensor/dtype.hpp"
#include "leat/tensor/shape.hpp"
#include "leat/tensor/string_values.hpp"

namespace LEAT {

namespace detail {
struct tensor_builder;
}

/// Values of one type with a shape: a component of an element, or a column of a batch.
///
/// The values are contiguous, the last dimension varying fastest, in memory aligned to 64 bytes. A
/// copy of a tensor shares them. Only a sole owner changes them; see mutable_values(). A tensor can
/// therefore pass through queues, to any number of consumers, without a copy of its values.
///
///     auto image = leat::tensor::of<float>({2, 2}, {1, 2, 3, 4});
///     auto label = leat::tensor::scalar("leat");
///     for (const float x : image.values<float>()) ...
///
/// A value type; after a move it has no values and may only be assigned to. Thread safety:
/// thread-compatible, even for copies that share their values.
/// Cost: one allocation for a tensor with values (rank above 4: two); O(1) to copy and to move.
class tensor {
 public:
  /// Creates a tensor without values: float32 [0].
  tensor() noexcept;
  /// Creates a tensor whose values are all 0, false or "".
  /// Errors: std::bad_alloc; invalid_argument if 64 bits cannot count the bytes.
  tensor(dtype type, leat::shape shape);

  /// Returns a tensor with a copy of `values`.
  /// Errors: invalid_argument if their number is not that of the shape; std::bad_alloc.
  template <tensor_value T>
  [[nodiscard]] static tensor of(leat::shape shape, std::span<const T> values) {
    return copy_of(dtype_of<T>, std::move(shape), std::as_bytes(values), values.size());
  }
  /// Overload for a list of values.
  template <tensor_value T>
  [[nodiscard]] static tensor of(leat::shape shape, std::initializer_list<T> values) {
    return of(std::move(shape), std::span(values.begin(), values.size()));
  }
  /// Overloads for strings.
  [[nodiscard]] static tensor of(leat::shape shape, std::span<const std::string_view> values);
  [[nodiscard]] static tensor of(leat::shape shape, std::span<const std::string> values);
  [[nodiscard]] static tensor of(leat::shape shape,
                                 std::initializer_list<std::string_view> values) {
    return of(std::move(shape), std::span(values.begin(), values.size()));
  }

  /// Returns a tensor with one value, of shape []. Errors: std::bad_alloc.
  template <tensor_value T>
  [[nodiscard]] static tensor scalar(T value) {
    return of({}, std::span<const T>(&value, 1));
  }
  [[nodiscard]] static tensor scalar(std::string_view value) {
    return of({}, std::span<const std::string_view>(&value, 1));
  }

  /// Returns the type of the values.
  [[nodiscard]] dtype type() const noexcept { return type_; }
  /// Returns the shape of the values.
  [[nodiscard]] const leat::shape& shape() const noexcept { return shape_; }
  /// Returns the number of values.
  [[nodiscard]] std::size_t count() const noexcept { return shape_.count(); }
  /// Returns the size of the values in bytes; shared values count in full.
  [[nodiscard]] std::size_t byte_size() const noexcept { return bytes_.size(); }

  /// Returns the values. Errors: invalid_argument if they have another type.
  template <tensor_value T>
  [[nodiscard]] std::span<const T> values() const {
    require(dtype_of<T>);
    return {reinterpret_cast<const T*>(bytes_.data()), count()};
  }
  /// Rejected: strings are not numbers in memory.
  template <class T>
    requires(!tensor_value<T>)
  auto values() const {
    static_assert(tensor_value<T>,
                  "values<T>() needs the type of the dtype, such as std::int64_t or float: call "
                  "strings() for strings");
  }
  /// Returns the only value. Errors: invalid_argument if it has another type, or if the number of
  /// values is not 1.
  template <tensor_value T>
  [[nodiscard]] T value() const {
    require_one();
    return values<T>()[0];
  }
  /// Rejected, like values().
  template <class T>
    requires(!tensor_value<T>)
  auto value() const {
    return values<T>();
  }
  /// Returns the values of a tensor of strings. Errors: invalid_argument if it has another type.
  [[nodiscard]] string_values strings() const;

  /// Returns the values as a mutable span. If they are shared, first gives this tensor a copy of
  /// its own, so that no other tensor sees the change. Views from earlier values() calls then refer
  /// to the values of the other tensors.
  /// Errors: invalid_argument if they have another type; std::bad_alloc.
  template <tensor_value T>
  [[nodiscard]] std::span<T> mutable_values() {
    require(dtype_of<T>);
    unshare();
    return {reinterpret_cast<T*>(bytes_.data()), count()};
  }

  /// Returns true if a copy of the tensor shares the values.
  [[nodiscard]] bool is_shared() const noexcept { return !bytes_.sole_owner(); }

  /// Returns true if type, shape and the bits of each value are equal. NaN equals itself; 0.0 does
  /// not equal -0.0.
  friend bool operator==(const tensor& a, const tensor& b) noexcept { return a.equals(b); }

 private:
  friend struct detail::tensor_builder;

  tensor(dtype type, leat::shape shape, detail::aligned_bytes bytes) noexcept
      : bytes_(std::move(bytes)), shape_(std::move(shape)), type_(type) {}
  static tensor copy_of(dtype type, leat::shape shape, std::span<const std::byte> values,
                        std::size_t count);
  void require(dtype type) const {
    if (type_ != type) throw_type_error(type);
  }
  [[noreturn]] void throw_type_error(dtype type) const;
  void require_one() const;
  void unshare();
  [[nodiscard]] bool equals(const tensor& other) const noexcept;

  detail::aligned_bytes bytes_;  // of strings: first the offsets, then, aligned again, the bytes
  leat::shape shape_;
  dtype type_;
};

static_assert(std::is_nothrow_move_constructible_v<tensor> &&
              std::is_nothrow_move_assignable_v<tensor>);

}  // namespace LEAT
