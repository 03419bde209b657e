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

namespace leat {

/// What one component of an element has to be.
struct component_spec {
  dtype type = dtype::float32;
  partial_shape shape = partial_shape::unknown_rank();
  std::string name = {};  ///< all components of a spec have one, or none has

  friend bool operator==(const component_spec&, const component_spec&) = default;
};

/// What the elements of a queue have to be: their components, each with a type and what is known of
/// its shape.
///
///     using leat::dtype;
///     leat::element_spec spec({{.type = dtype::uint8, .shape = {28, 28}, .name = "image"},
///                              {.type = dtype::int64, .shape = {}, .name = "label"}});
///
/// A value type. Thread safety: thread-compatible.
class element_spec {
 public:
  /// Errors: invalid_argument without a component, with names for some only, or one name twice.
  explicit element_spec(std::vector<component_spec> components);
  element_spec(std::initializer_list<component_spec> components)
      : element_spec(std::vector<component_spec>(components)) {}

  [[nodiscard]] std::size_t count() const noexcept { return components_.size(); }
  /// Precondition: index < count().
  [[nodiscard]] const component_spec& operator[](std::size_t index) const {
    return components_[index];
  }
  [[nodiscard]] auto begin() const noexcept { return components_.begin(); }
  [[nodiscard]] auto end() const noexcept { return components_.end(); }
  [[nodiscard]] bool has_names() const noexcept { return names_ != nullptr; }

  /// Checks an element. One with names may have its components in any order: they are put into this
  /// spec's. `owner` begins the message of an error.
  ///
  /// Errors: invalid_argument; the element is as it was.
  void check(tensor_tuple& element, std::string_view owner = {}) const;

  /// Checks a batch of elements, one behind the other along the first dimension of each component,
  /// in the same way, and gives how many there are.
  std::size_t check_batch(tensor_tuple& batch, std::string_view owner = {}) const;

  /// Checks that elements can be stacked: that the rank of each component is known.
  /// Errors: invalid_argument; the message begins with `owner`.
  void check_stackable(std::string_view owner = {}) const;

  /// The same types and names, and shapes that can describe the same elements.
  [[nodiscard]] bool is_compatible_with(const element_spec& other) const noexcept;

  /// The components as a tuple, with this spec's names.
  /// Precondition: as many as the spec has.
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

/// What elements of either spec have in common: the same types and names, and of the shapes what is
/// equal. Errors: invalid_argument when types or names differ.
[[nodiscard]] element_spec generalize_specs(const element_spec& a, const element_spec& b);

}  // namespace leat
