#pragma once

#include <concepts>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

#include "leat/base/flavour.hpp"

namespace LEAT::detail {

/// The items that a push_many owns: a braced list, a copy of a const range, or a vector that was
/// passed as an rvalue.
///
/// A braced list calls a constructor with one parameter per item, because g++ 12 does not compile
/// an array, such as the array of an initializer_list, within a co_await expression.
template <class T>
class owned_items {
 public:
  template <class... Values>
    requires(sizeof...(Values) > 0 && (std::convertible_to<Values, T> && ...) &&
             (!std::convertible_to<Values, std::span<T>> && ...))
  owned_items(Values&&... values) {
    items_.reserve(sizeof...(values));
    (items_.emplace_back(std::forward<Values>(values)), ...);
  }

  template <class Range>
    requires(std::is_const_v<std::remove_reference_t<Range>> &&
             std::convertible_to<Range&, std::span<const T>> &&
             !std::convertible_to<Range&, std::span<T>> && std::copy_constructible<T>)
  owned_items(Range&& range) {
    const std::span<const T> items(range);
    items_.assign(items.begin(), items.end());
  }

  owned_items(std::vector<T>&& items) noexcept : items_(std::move(items)) {}

  [[nodiscard]] std::vector<T> take() && noexcept { return std::move(items_); }

 private:
  std::vector<T> items_;
};

}  // namespace LEAT::detail
