#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>
#include <utility>

#include "leat/tensor/detail/dimension_list.hpp"

namespace LEAT {

/// The dimensions of a tensor; without dimensions, of a scalar.
///
/// A value type; after a move its count is 0 and it may only be assigned to. Thread safety:
/// thread-compatible. Cost: no allocation up to rank 4.
class shape {
 public:
  /// Creates the shape of a scalar: [].
  shape() noexcept = default;
  /// Errors: invalid_argument for a negative dimension, or for more values than 64 bits can count;
  ///         std::bad_alloc.
  shape(std::initializer_list<std::int64_t> dimensions)
      : shape(std::span(dimensions.begin(), dimensions.size())) {}
  explicit shape(std::span<const std::int64_t> dimensions);
  shape(const shape&) = default;
  shape(shape&& o) noexcept
      : dimensions_(std::move(o.dimensions_)), count_(std::exchange(o.count_, 0)) {}
  shape& operator=(const shape&) = default;
  shape& operator=(shape&& o) noexcept {
    if (this == &o) return *this;
    dimensions_ = std::move(o.dimensions_);
    count_ = std::exchange(o.count_, 0);
    return *this;
  }
  ~shape() = default;

  /// Returns the number of dimensions.
  [[nodiscard]] std::size_t rank() const noexcept { return dimensions_.size(); }
  /// Returns a dimension, outermost first. Precondition: index < rank().
  [[nodiscard]] std::int64_t operator[](std::size_t index) const noexcept {
    return dimensions_.data()[index];
  }
  /// Returns the dimensions, outermost first; valid until the shape is changed or destroyed.
  [[nodiscard]] std::span<const std::int64_t> dimensions() const noexcept {
    return dimensions_.all();
  }
  /// Returns the number of values: the product of the dimensions, 1 for a scalar.
  [[nodiscard]] std::size_t count() const noexcept { return count_; }

  friend bool operator==(const shape& a, const shape& b) noexcept {
    return a.dimensions_ == b.dimensions_;
  }

 private:
  detail::dimension_list dimensions_;
  std::size_t count_ = 1;
};

/// Returns a text such as "[2,3]"; "[]" for a scalar.
[[nodiscard]] std::string to_string(const shape& s);

/// The value of an unknown dimension in a partial_shape.
inline constexpr std::int64_t unknown_dimension = -1;

/// A partly known shape: dimensions, or even the rank, may be unknown.
///
/// A value type; after a move it may only be assigned to. Thread safety: thread-compatible.
class partial_shape {
 public:
  using value_type = std::int64_t;  ///< a dimension

  /// Creates the shape of a scalar: [].
  partial_shape() noexcept = default;
  /// Errors: invalid_argument for a negative dimension other than `unknown_dimension`, or if the
  ///         known ones have more values than 64 bits can count; std::bad_alloc.
  partial_shape(std::initializer_list<std::int64_t> dimensions)
      : partial_shape(std::span(dimensions.begin(), dimensions.size())) {}
  explicit partial_shape(std::span<const std::int64_t> dimensions);
  partial_shape(const shape& all_known) : dimensions_(all_known.dimensions()) {}

  /// Returns the shape that describes every shape of every rank.
  [[nodiscard]] static partial_shape unknown_rank() noexcept;

  /// Returns true if the rank is known.
  [[nodiscard]] bool has_rank() const noexcept { return has_rank_; }
  /// Returns the number of dimensions; 0 if the rank is unknown.
  [[nodiscard]] std::size_t rank() const noexcept { return dimensions_.size(); }
  /// Returns a dimension, or `unknown_dimension`. Precondition: index < rank().
  [[nodiscard]] std::int64_t operator[](std::size_t index) const noexcept {
    return dimensions_.data()[index];
  }
  /// Returns the dimensions, outermost first, or an empty span if the rank is unknown. The span is
  /// valid until the shape is changed or destroyed.
  [[nodiscard]] std::span<const std::int64_t> dimensions() const noexcept {
    return dimensions_.all();
  }
  /// Returns true if the rank and all dimensions are known.
  [[nodiscard]] bool is_fully_defined() const noexcept;

  /// Returns true if both can describe the same shape: all dimensions that both know are equal.
  [[nodiscard]] bool is_compatible_with(const partial_shape& other) const noexcept;
  /// Returns true if this can describe `s`.
  [[nodiscard]] bool is_compatible_with(const shape& s) const noexcept;

  /// Returns this shape with `count` as an additional first dimension: the shape of a batch.
  [[nodiscard]] partial_shape batch_of(std::int64_t count) const;

  friend bool operator==(const partial_shape&, const partial_shape&) noexcept = default;

 private:
  detail::dimension_list dimensions_;
  bool has_rank_ = true;
};

/// Returns a text such as "[?,3]"; "<unknown>" if the rank is unknown.
[[nodiscard]] std::string to_string(const partial_shape& s);

/// Returns all that either shape knows. Errors: invalid_argument if they are not compatible.
[[nodiscard]] partial_shape intersect_shapes(const partial_shape& a, const partial_shape& b);

/// Returns all that both shapes have in common: a dimension in which they differ becomes unknown.
[[nodiscard]] partial_shape generalize_shapes(const partial_shape& a, const partial_shape& b);

}  // namespace LEAT
