#pragma once

#include <cstddef>
#include <initializer_list>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "leat/tensor/dtype.hpp"
#include "leat/tensor/shape.hpp"
#include "leat/tensor/tensor_tuple.hpp"

namespace LEAT {

/// The specification of one component of an element.
struct component_spec {
  /// The type of the values.
  dtype type = dtype::float32;
  /// The shape of the component, which may be partly or completely unknown.
  partial_shape shape = partial_shape::unknown_rank();
  std::string name = {};  ///< either all components of a spec have a name, or none

  friend bool operator==(const component_spec&, const component_spec&) = default;
};

/// The specification of the elements of a queue: their components, each with a type and the known
/// part of its shape.
///
///     using leat::dtype;
///     leat::element_spec spec({{.type = dtype::uint8, .shape = {28, 28}, .name = "image"},
///                              {.type = dtype::int64, .shape = {}, .name = "label"}});
///
/// A value type. Thread safety: thread-compatible.
class element_spec {
 public:
  /// Errors: invalid_argument if there is no component, if only some have names, or if two have the
  ///         same name.
  explicit element_spec(std::vector<component_spec> components);
  element_spec(std::initializer_list<component_spec> components)
      : element_spec(std::vector<component_spec>(components)) {}

  /// Returns the number of components.
  [[nodiscard]] std::size_t count() const noexcept { return components_.size(); }
  /// Precondition: index < count().
  [[nodiscard]] const component_spec& operator[](std::size_t index) const {
    return components_[index];
  }
  [[nodiscard]] auto begin() const noexcept { return components_.begin(); }
  [[nodiscard]] auto end() const noexcept { return components_.end(); }
  /// Returns true if the components have names.
  [[nodiscard]] bool has_names() const noexcept { return names_ != nullptr; }

  /// Checks an element, and rearranges named components in the order of this spec. `owner` is the
  /// beginning of an error message.
  ///
  /// Errors: invalid_argument; the element is then unchanged.
  void check(tensor_tuple& element, std::string_view owner = {}) const;

  /// Like check(), but for a batch: its elements are consecutive along the first dimension of each
  /// component. Returns their number.
  std::size_t check_batch(tensor_tuple& batch, std::string_view owner = {}) const;

  /// Checks that elements can be stacked: the rank of each component must be known.
  /// Errors: invalid_argument; the message begins with `owner`.
  void check_stackable(std::string_view owner = {}) const;

  /// Returns true if types and names are the same and the shapes can describe the same elements.
  [[nodiscard]] bool is_compatible_with(const element_spec& other) const noexcept;

  /// Returns the components as a tuple, with the names of this spec.
  /// Precondition: their number is count().
  [[nodiscard]] tensor_tuple make_tuple(std::vector<tensor> components) const noexcept;

  friend bool operator==(const element_spec& a, const element_spec& b) noexcept {
    return a.components_ == b.components_;
  }

 private:
  template <class Check>
  void check_in_order(tensor_tuple& element, std::string_view owner, Check check) const;
  [[nodiscard]] tensor_tuple in_order(const tensor_tuple& element, std::string_view owner) const;

  std::vector<component_spec> components_;
  tensor_tuple::name_list names_;
};

/// Returns a spec that the elements of either spec match, with the same types and names. Only
/// dimensions that are equal in both specs are known.
/// Errors: invalid_argument if number, types or names of the components differ.
[[nodiscard]] element_spec generalize_specs(const element_spec& a, const element_spec& b);

}  // namespace LEAT
