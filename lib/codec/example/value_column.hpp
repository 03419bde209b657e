#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "codec/example/example_wire.hpp"
#include "leat/tensor/tensor.hpp"

namespace LEAT::detail {

/// Values of one type, float32, int64 or string, which are collected from the lists of Features
/// until they become a tensor. Until then, strings are views of their source.
class value_column {
 public:
  /// `expected`: the number of values, if known.
  explicit value_column(dtype type, std::size_t expected = 0);

  [[nodiscard]] dtype type() const noexcept { return type_; }
  /// Returns the kind of Features with values of this type.
  [[nodiscard]] feature_kind kind() const noexcept { return kind_; }
  [[nodiscard]] std::size_t count() const noexcept { return count_; }

  /// Adds the values of a list of this type's kind. Returns the number of values.
  /// Errors: std::bad_alloc; malformed_message, then some of the values may have been added.
  std::size_t add(std::string_view list);
  /// Adds the values of a tensor of this type.
  void add(const tensor& values);
  /// Adds the only value of a tensor `count` times.
  void pad(const tensor& value, std::size_t times);
  /// Adds `count` values of another column of this type, from `first` on.
  void add(const value_column& from, std::size_t first, std::size_t count);

  /// Removes all values but keeps their memory.
  void clear() noexcept {
    count_ = 0;
    strings_.clear();
  }

  /// Returns all values as a tensor and empties the column. Precondition: the shape has as many
  /// values.
  [[nodiscard]] tensor take(shape s);

  /// Returns the numbers of a column of int64.
  [[nodiscard]] const std::int64_t* ints() const noexcept {
    return reinterpret_cast<const std::int64_t*>(numbers_.data());
  }

 private:
  std::byte* reserve_more(std::size_t count) {
    if (count > capacity_ - count_) grow(count);
    return numbers_.data() + count_ * size_;
  }
  void grow(std::size_t by);

  dtype type_;
  feature_kind kind_;
  std::size_t size_;  // of one value; 0 for strings
  std::size_t count_ = 0;
  std::size_t capacity_ = 0;  // of `numbers_`
  aligned_bytes numbers_;
  std::vector<std::string_view> strings_;
};

}  // namespace LEAT::detail
