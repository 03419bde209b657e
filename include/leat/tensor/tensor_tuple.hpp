#pragma once

#include <concepts>
#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "leat/tensor/tensor.hpp"

namespace LEAT {

/// A tensor with the name of its component.
using named_tensor = std::pair<std::string, tensor>;

/// A tuple of tensors, one for each component: an element, or a batch of elements. Components may
/// have names.
///
///     leat::tensor_tuple pair(image, label);
///     auto named = leat::tensor_tuple::named({{"image", image}, {"label", label}});
///     use(pair[0], named["image"]);
///
/// A value type; empty after a move. Thread safety: thread-compatible.
class tensor_tuple {
 public:
  /// Creates a tuple without components.
  tensor_tuple() noexcept = default;
  /// Creates a tuple of components without names.
  explicit tensor_tuple(std::vector<tensor> components) noexcept
      : components_(std::move(components)) {}
  /// Overload for a list of arguments.
  template <std::same_as<tensor>... More>
  explicit tensor_tuple(tensor first, More... more) {
    components_.reserve(1 + sizeof...(more));
    components_.push_back(std::move(first));
    (components_.push_back(std::move(more)), ...);
  }
  /// Returns a tuple of components with names.
  /// Errors: invalid_argument if a name is empty or occurs twice.
  [[nodiscard]] static tensor_tuple named(std::vector<named_tensor> components);

  /// Returns the number of components.
  [[nodiscard]] std::size_t count() const noexcept { return components_.size(); }
  /// Returns true if there are no components.
  [[nodiscard]] bool empty() const noexcept { return components_.empty(); }
  /// Precondition: index < count().
  [[nodiscard]] const tensor& operator[](std::size_t index) const { return components_[index]; }
  [[nodiscard]] tensor& operator[](std::size_t index) { return components_[index]; }
  /// Returns a component by name. Errors: not_found; the message lists the existing names.
  [[nodiscard]] const tensor& operator[](std::string_view name) const {
    return components_[index_of(name)];
  }
  [[nodiscard]] tensor& operator[](std::string_view name) { return components_[index_of(name)]; }

  /// Returns true if the components have names.
  [[nodiscard]] bool has_names() const noexcept { return names_ != nullptr; }
  /// Returns the name of each component; empty if they have no names.
  [[nodiscard]] std::span<const std::string> names() const noexcept;

  [[nodiscard]] auto begin() const noexcept { return components_.begin(); }
  [[nodiscard]] auto end() const noexcept { return components_.end(); }

  /// Returns the size in bytes of the values of all components.
  [[nodiscard]] std::size_t byte_size() const noexcept;

  /// Moves out the components without their names; the tuple is empty afterwards.
  [[nodiscard]] std::vector<tensor> take() && noexcept {
    names_ = nullptr;
    return std::exchange(components_, {});
  }

  /// Returns true if both have equal components in the same order, and equal names.
  friend bool operator==(const tensor_tuple& a, const tensor_tuple& b) noexcept;

 private:
  friend class element_spec;
  friend std::vector<tensor_tuple> unstack(const tensor_tuple& batch);
  using name_list = std::shared_ptr<const std::vector<std::string>>;

  tensor_tuple(std::vector<tensor> components, name_list names) noexcept
      : components_(std::move(components)), names_(std::move(names)) {}
  [[nodiscard]] std::size_t index_of(std::string_view name) const;

  std::vector<tensor> components_;
  name_list names_;  // shared with the spec that the tuple was checked against
};

}  // namespace LEAT
