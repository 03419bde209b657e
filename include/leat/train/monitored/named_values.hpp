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

namespace leat {

/// Values of any copyable type by name, in the order in which they came: what goes into a step, and
/// what it gives.
///
///     results.add("loss", 0.25).add("predictions", tensor);
///     results.get<leat::tensor>("predictions");
///
/// A text is kept as a std::string. Names are few: they are searched one after the other.
///
/// Thread safety: thread-compatible.
class named_values {
 public:
  /// Errors: already_exists for a name that is there; invalid_argument for an empty one.
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

  /// Whether there is a value of this name.
  [[nodiscard]] bool contains(std::string_view name) const noexcept { return find(name); }

  /// Errors: not_found, with the names that there are; invalid_argument for one of another type.
  template <class T>
  [[nodiscard]] const T& get(std::string_view name) const {
    const T* const value = std::any_cast<T>(&require(name).value);
    if (!value) refuse_type(name);
    return *value;
  }

  /// A value that is a number, of whatever type; none for another one. Errors: not_found.
  [[nodiscard]] std::optional<double> number(std::string_view name) const {
    return require(name).number;
  }

  /// In the order in which they came.
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

}  // namespace leat
