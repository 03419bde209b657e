#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>
#include <utility>

#include "leat/tensor/detail/dimension_list.hpp"

namespace leat {

/// How many values a tensor has in each dimension; without a dimension it is a scalar.
///
/// A value type; moved from it is of count 0 and may only be assigned to. Thread safety:
/// thread-compatible. Cost: no allocation up to rank 4.
class shape {
 public:
  /// A scalar: [].
  shape() noexcept = default;
  /// Errors: invalid_argument for a negative dimension, or more values than memory can be asked
  ///         for; std::bad_alloc.
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

  /// How many dimensions there are.
  [[nodiscard]] std::size_t rank() const noexcept { return dimensions_.size(); }
  /// Outermost first. Precondition: index < rank().
  [[nodiscard]] std::int64_t operator[](std::size_t index) const noexcept {
    return dimensions_.data()[index];
  }
  [[nodiscard]] std::span<const std::int64_t> dimensions() const noexcept {
    return dimensions_.all();
  }
  /// How many values there are in all: the product of the dimensions, 1 for a scalar.
  [[nodiscard]] std::size_t count() const noexcept { return count_; }

  friend bool operator==(const shape& a, const shape& b) noexcept {
    return a.dimensions_ == b.dimensions_;
  }

 private:
  detail::dimension_list dimensions_;
  std::size_t count_ = 1;
};

/// "[2,3]"; "[]" for a scalar.
[[nodiscard]] std::string to_string(const shape& s);

/// The dimension that is not known, in a partial_shape.
inline constexpr std::int64_t unknown_dimension = -1;

/// What is known of a shape: some dimensions, or not even how many there are.
///
/// A value type; moved from it may only be assigned to. Thread safety: thread-compatible.
class partial_shape {
 public:
  using value_type = std::int64_t;  ///< a dimension

  /// A scalar: [].
  partial_shape() noexcept = default;
  /// Errors: invalid_argument for a negative dimension other than `unknown_dimension`, or for known
  ///         ones with more values than memory can be asked for; std::bad_alloc.
  partial_shape(std::initializer_list<std::int64_t> dimensions)
      : partial_shape(std::span(dimensions.begin(), dimensions.size())) {}
  explicit partial_shape(std::span<const std::int64_t> dimensions);
  partial_shape(const shape& all_known) : dimensions_(all_known.dimensions()) {}

  /// Any shape of any rank.
  [[nodiscard]] static partial_shape unknown_rank() noexcept;

  [[nodiscard]] bool has_rank() const noexcept { return has_rank_; }
  /// How many dimensions there are; 0 when that is not known.
  [[nodiscard]] std::size_t rank() const noexcept { return dimensions_.size(); }
  /// `unknown_dimension` for one that is not known. Precondition: index < rank().
  [[nodiscard]] std::int64_t operator[](std::size_t index) const noexcept {
    return dimensions_.data()[index];
  }
  [[nodiscard]] std::span<const std::int64_t> dimensions() const noexcept {
    return dimensions_.all();
  }
  /// True when nothing is unknown.
  [[nodiscard]] bool is_fully_defined() const noexcept;

  /// True when both can describe one and the same shape: equal in all that both know.
  [[nodiscard]] bool is_compatible_with(const partial_shape& other) const noexcept;
  /// True when `s` is such a shape.
  [[nodiscard]] bool is_compatible_with(const shape& s) const noexcept;

  /// The same with one more dimension in front: of a batch of so many.
  [[nodiscard]] partial_shape batch_of(std::int64_t count) const;

  friend bool operator==(const partial_shape&, const partial_shape&) noexcept = default;

 private:
  detail::dimension_list dimensions_;
  bool has_rank_ = true;
};

/// "[?,3]"; "<unknown>" when not even the rank is known.
[[nodiscard]] std::string to_string(const partial_shape& s);

/// All that either of them knows. Errors: invalid_argument when they are not compatible.
[[nodiscard]] partial_shape intersect_shapes(const partial_shape& a, const partial_shape& b);

/// All that they have in common: what differs becomes unknown.
[[nodiscard]] partial_shape generalize_shapes(const partial_shape& a, const partial_shape& b);

}  // namespace leat
