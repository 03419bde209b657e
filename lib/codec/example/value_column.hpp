#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "codec/example/example_wire.hpp"
#include "leat/tensor/tensor.hpp"

namespace leat::detail {

/// Values of one type, float32, int64 or string, collected from the lists of Features until they
/// become a tensor. Strings are views of what they were added from until then.
class value_column {
 public:
  /// `expected`: how many there will be, when that is known.
  explicit value_column(dtype type, std::size_t expected = 0);

  [[nodiscard]] dtype type() const noexcept { return type_; }
  /// Of the Features that have such values.
  [[nodiscard]] feature_kind kind() const noexcept { return kind_; }
  [[nodiscard]] std::size_t count() const noexcept { return count_; }

  /// Adds the values of a list of this type's kind. Returns the number of values.
  /// Errors: std::bad_alloc; malformed_message, then some of the values may have been added.
  std::size_t add(std::string_view list);
  /// Adds those of a tensor of this type.
  void add(const tensor& values);
  /// Adds the one value of a tensor so many times.
  void pad(const tensor& value, std::size_t times);
  /// Adds `count` values of another column of this type, from `first` on.
  void add(const value_column& from, std::size_t first, std::size_t count);

  /// Forgets all values, not the memory for them.
  void clear() noexcept {
    count_ = 0;
    strings_.clear();
  }

  /// All of them, as a tensor; this is empty then. Precondition: as many as the shape has.
  [[nodiscard]] tensor take(shape s);

  /// The numbers of a column of int64.
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
  std::size_t size_;  // of one; 0 for strings
  std::size_t count_ = 0;
  std::size_t capacity_ = 0;  // of `numbers_`
  aligned_bytes numbers_;
  std::vector<std::string_view> strings_;
};

}  // namespace leat::detail
