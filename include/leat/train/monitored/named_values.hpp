#pragma once

#include <any>
#include <concepts>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "leat/base/flavour.hpp"

namespace LEAT {

/// A list of named values of any copyable types, in insertion order: the inputs or the results of a
/// step.
///
///     results.add("loss", 0.25).add("predictions", tensor);
///     results.get<leat::tensor>("predictions");
///
/// A text is stored as a std::string.
///
/// Thread safety: thread-compatible.
/// Cost:          a lookup by name is a linear search.
class named_values {
 public:
  /// Adds a value.
  ///
  /// Errors: already_exists for a name that is in use; invalid_argument for an empty name.
  template <class T>
  named_values& add(std::string name, T value) {
    if constexpr (std::is_convertible_v<T, std::string_view>) {
      insert(std::move(name), std::string(std::string_view(value)), std::nullopt);
    } else if constexpr (std::is_arithmetic_v<T>) {
      insert(std::move(name), value, static_cast<double>(value));
    } else {
      insert(std::move(name), std::move(value), std::nullopt);
    }
    return *this;
  }

  /// Returns true if there is a value with this name.
  [[nodiscard]] bool contains(std::string_view name) const noexcept { return find(name); }

  /// Returns the value with this name.
  ///
  /// Errors: not_found, with the existing names; invalid_argument if the value has another type.
  template <class T>
  [[nodiscard]] const T& get(std::string_view name) const {
    const T* const value = std::any_cast<T>(&require(name).value);
    if (!value) refuse_type(name);
    return *value;
  }

  /// Returns the value with this name as a double, or an empty optional if its type is not
  /// arithmetic.
  ///
  /// Errors: not_found.
  [[nodiscard]] std::optional<double> number(std::string_view name) const {
    return require(name).number;
  }

  /// Returns the names in insertion order.
  [[nodiscard]] std::vector<std::string> names() const;
  [[nodiscard]] std::size_t size() const noexcept { return entries_.size(); }
  [[nodiscard]] bool empty() const noexcept { return entries_.empty(); }

 private:
  struct entry {
    std::string name;
    std::any value;
    std::optional<double> number;
  };

  void insert(std::string name, std::any value, std::optional<double> number);
  [[nodiscard]] const entry* find(std::string_view name) const noexcept;
  [[nodiscard]] const entry& require(std::string_view name) const;
  [[noreturn]] static void refuse_type(std::string_view name);

  std::vector<entry> entries_;
};

}  // namespace LEAT
