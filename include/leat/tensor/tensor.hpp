#pragma once

#include <concepts>
#include <cstddef>
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include "leat/base/detail/aligned_bytes.hpp"
#include "leat/tensor/dtype.hpp"
#include "leat/tensor/shape.hpp"
#include "leat/tensor/string_values.hpp"

namespace leat {

namespace detail {
struct tensor_builder;
}

/// Values of one type in a shape: a component of an element, or a column of a batch.
///
/// The values stand one behind the other, the last dimension the fastest, in memory aligned to 64
/// bytes. A copy shares them; they can be changed by a sole owner only, see mutable_values(). So a
/// tensor goes through queues and to any number of consumers without a copy of its values.
///
///     auto image = leat::tensor::of<float>({2, 2}, {1, 2, 3, 4});
///     auto label = leat::tensor::scalar("leat");
///     for (const float x : image.values<float>()) ...
///
/// A value type; moved from it has no values and may only be assigned to. Thread safety:
/// thread-compatible, also for copies that share their values.
/// Cost: one allocation for a tensor with values (rank above 4: two); O(1) to copy and to move.
class tensor {
 public:
  /// No value: float32 [0].
  tensor() noexcept;
  /// All values 0, false or "".
  /// Errors: std::bad_alloc; invalid_argument when 64 bits cannot count the bytes.
  tensor(dtype type, leat::shape shape);

  /// A copy of `values`.
  /// Errors: invalid_argument when they are not as many as the shape has; std::bad_alloc.
  template <tensor_value T>
  [[nodiscard]] static tensor of(leat::shape shape, std::span<const T> values) {
    return copy_of(dtype_of<T>, std::move(shape), std::as_bytes(values), values.size());
  }
  /// The same.
  template <tensor_value T>
  [[nodiscard]] static tensor of(leat::shape shape, std::initializer_list<T> values) {
    return of(std::move(shape), std::span(values.begin(), values.size()));
  }
  /// Strings; see of().
  [[nodiscard]] static tensor of(leat::shape shape, std::span<const std::string_view> values);
  [[nodiscard]] static tensor of(leat::shape shape, std::span<const std::string> values);
  [[nodiscard]] static tensor of(leat::shape shape,
                                 std::initializer_list<std::string_view> values) {
    return of(std::move(shape), std::span(values.begin(), values.size()));
  }

  /// One value, of shape []. Errors: std::bad_alloc.
  template <tensor_value T>
  [[nodiscard]] static tensor scalar(T value) {
    return of({}, std::span<const T>(&value, 1));
  }
  [[nodiscard]] static tensor scalar(std::string_view value) {
    return of({}, std::span<const std::string_view>(&value, 1));
  }

  [[nodiscard]] dtype type() const noexcept { return type_; }
  [[nodiscard]] const leat::shape& shape() const noexcept { return shape_; }
  /// How many values there are.
  [[nodiscard]] std::size_t count() const noexcept { return shape_.count(); }
  /// Bytes of memory that the values take; shared ones count in full.
  [[nodiscard]] std::size_t byte_size() const noexcept { return bytes_.size(); }

  /// The values. Errors: invalid_argument when they are of another type.
  template <tensor_value T>
  [[nodiscard]] std::span<const T> values() const {
    require(dtype_of<T>);
    return {reinterpret_cast<const T*>(bytes_.data()), count()};
  }
  /// Rejected: strings are no numbers in memory.
  template <class T>
    requires(!tensor_value<T>)
  auto values() const {
    static_assert(tensor_value<T>,
                  "strings have no values<T>(): write strings(); other values have the type of "
                  "their dtype, such as std::int64_t or float");
  }
  /// The one value. Errors: invalid_argument when it is of another type, or not exactly one.
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
  /// The values of a tensor of strings. Errors: invalid_argument when it is of another type.
  [[nodiscard]] string_values strings() const;

  /// The values, to be changed. Where they are shared this tensor gets a copy of its own first, so
  /// nobody else sees the change; what values() gave before is then of the others.
  /// Errors: invalid_argument when they are of another type; std::bad_alloc.
  template <tensor_value T>
  [[nodiscard]] std::span<T> mutable_values() {
    require(dtype_of<T>);
    unshare();
    return {reinterpret_cast<T*>(bytes_.data()), count()};
  }

  /// True when a copy shares the values.
  [[nodiscard]] bool is_shared() const noexcept { return !bytes_.sole_owner(); }

  /// Equal in type, shape and the bits of each value: NaN equals itself, 0.0 does not equal -0.0.
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

}  // namespace leat
