#include "leat/tensor/element_spec.hpp"

#include <algorithm>
#include <utility>

#include "leat/base/error.hpp"

namespace LEAT {
namespace {

std::string list(std::span<const std::string> names) {
  std::string out;
  for (const std::string& n : names) out += (out.empty() ? "'" : ", '") + n + "'";
  return out.empty() ? "none" : out;
}

std::vector<std::string> checked_names(std::vector<std::string> names) {
  for (auto n = names.begin(); n != names.end(); ++n) {
    if (n->empty()) {
      throw failure(errc::invalid_argument, "only some components have names (" + list(names) +
                                                "): name all components or no component");
    }
    if (std::find(names.begin(), n, *n) != n) {
      throw failure(errc::invalid_argument,
                    "two components have the name '" + *n + "': names must be unique");
    }
  }
  return names;
}

[[noreturn]] void throw_element_error(std::string_view owner, const std::string& why) {
  throw failure(errc::invalid_argument, owner.empty() ? why : std::string(owner) + ": " + why);
}

[[noreturn]] void throw_shape_error(std::string_view owner, std::size_t index,
                                    const partial_shape& expected, const shape& got) {
  // TensorFlow's text, for which users search.
  std::string why = "Shape mismatch in tuple component " + std::to_string(index) + ". Expected " +
                    to_string(expected) + ", got " + to_string(got);
  if (expected == partial_shape{}) why += " (must be a scalar)";
  throw_element_error(owner, why);
}

void check_type(std::string_view owner, std::size_t index, dtype expected, dtype got) {
  if (expected == got) return;
  throw_element_error(owner, "Type mismatch in tuple component " + std::to_string(index) +
                                 ". Expected " + std::string(to_string(expected)) + ", got " +
                                 std::string(to_string(got)));
}

}  // namespace

// ------------------------------------------------------------------------------------------ tuple

tensor_tuple tensor_tuple::named(std::vector<named_tensor> components) {
  std::vector<std::string> names;
  std::vector<tensor> values;
  names.reserve(components.size());
  values.reserve(components.size());
  for (named_tensor& c : components) {
    names.push_back(std::move(c.first));
    values.push_back(std::move(c.second));
  }
  return {std::move(values),
          std::make_shared<const std::vector<std::string>>(checked_names(std::move(names)))};
}

std::span<const std::string> tensor_tuple::names() const noexcept {
  return names_ ? std::span(*names_) : std::span<const std::string>();
}

bool operator==(const tensor_tuple& a, const tensor_tuple& b) noexcept {
  return a.components_ == b.components_ && std::ranges::equal(a.names(), b.names());
}

std::size_t tensor_tuple::index_of(std::string_view name) const {
  const auto all = names();
  const auto found = std::find(all.begin(), all.end(), name);
  if (found != all.end()) return static_cast<std::size_t>(found - all.begin());
  throw failure(errc::not_found, "component '" + std::string(name) + "' not found: " +
                                     (all.empty() ? "the components have no names"
                                                  : "the components are " + list(all)));
}

std::size_t tensor_tuple::byte_size() const noexcept {
  std::size_t sum = 0;
  for (const tensor& t : components_) sum += t.byte_size();
  return sum;
}

// ------------------------------------------------------------------------------------------- spec

element_spec::element_spec(std::vector<component_spec> components)
    : components_(std::move(components)) {
  if (components_.empty()) {
    throw failure(errc::invalid_argument, "element_spec has 0 components, must have 1 or more");
  }
  std::vector<std::string> names;
  bool any = false;
  for (const component_spec& c : components_) {
    names.push_back(c.name);
    any = any || !c.name.empty();
  }
  if (any) {
    names_ = std::make_shared<const std::vector<std::string>>(checked_names(std::move(names)));
  }
}

// Reorders the components of an element whose names are not in the order of this spec.
tensor_tuple element_spec::in_order(const tensor_tuple& element, std::string_view owner) const {
  if (!names_) {
    throw_element_error(owner, "components have the names " + list(element.names()) +
                                   ", but the spec has no names");
  }
  std::vector<tensor> components;
  const auto given = element.names();
  for (const std::string& n : *names_) {
    const auto found = std::find(given.begin(), given.end(), n);
    if (found == given.end() || given.size() != count()) {
      throw_element_error(owner, "components must have the names " + list(*names_) + ", but have " +
                                     (given.empty() ? "no names" : list(given)));
    }
    components.push_back(element[static_cast<std::size_t>(found - given.begin())]);
  }
  return {std::move(components), names_};
}

// `check` decides whether the tuple is a valid element or batch; this function handles the names
// and the number of components.
template <class Check>
void element_spec::check_in_order(tensor_tuple& element, std::string_view owner,
                                  Check check) const {
  // Compares the pointers: an element of this spec shares its list of names. The element changes
  // only after all checks.
  const bool is_in_order = element.names_ == names_;
  tensor_tuple arranged = is_in_order ? tensor_tuple() : in_order(element, owner);
  const tensor_tuple& checked = is_in_order ? element : arranged;
  if (checked.count() != count()) {
    throw_element_error(owner, "element has " + std::to_string(checked.count()) +
                                   " components, must have " + std::to_string(count()));
  }
  for (std::size_t i = 0; i < count(); ++i) {
    check_type(owner, i, components_[i].type, checked[i].type());
    check(checked, i);
  }
  if (!is_in_order) element = std::move(arranged);
}

void element_spec::check(tensor_tuple& element, std::string_view owner) const {
  check_in_order(element, owner, [&](const tensor_tuple& checked, std::size_t i) {
    const shape& got = checked[i].shape();
    if (!components_[i].shape.is_compatible_with(got))
      throw_shape_error(owner, i, components_[i].shape, got);
  });
}

std::size_t element_spec::check_batch(tensor_tuple& batch, std::string_view owner) const {
  std::int64_t length = 0;
  check_in_order(batch, owner, [&](const tensor_tuple& checked, std::size_t i) {
    const shape& got = checked[i].shape();
    if (got.rank() == 0) {
      throw_element_error(
          owner, "tuple component " + std::to_string(i) +
                     " of a batch is a scalar: dimension 0 must be the number of elements");
    }
    if (i == 0) length = got[0];
    if (got[0] != length) {
      throw_element_error(owner, "tuple component " + std::to_string(i) + " of a batch has " +
                                     std::to_string(got[0]) + " elements, component 0 has " +
                                     std::to_string(length) +
                                     ": dimension 0 must be the same in all components");
    }
    const partial_shape expected = components_[i].shape.batch_of(length);
    if (!expected.is_compatible_with(got)) throw_shape_error(owner, i, expected, got);
  });
  return static_cast<std::size_t>(length);
}

void element_spec::check_stackable(std::string_view owner) const {
  for (std::size_t i = 0; i < count(); ++i) {
    if (components_[i].shape.has_rank()) continue;
    throw_element_error(
        owner,
        "component " + std::to_string(i) +
            " has an unknown rank: list its dimensions, with unknown_dimension for unknown sizes");
  }
}

bool element_spec::is_compatible_with(const element_spec& other) const noexcept {
  return std::equal(begin(), end(), other.begin(), other.end(),
                    [](const component_spec& a, const component_spec& b) {
                      return a.type == b.type && a.name == b.name &&
                             a.shape.is_compatible_with(b.shape);
                    });
}

tensor_tuple element_spec::make_tuple(std::vector<tensor> components) const noexcept {
  return {std::move(components), names_};
}

element_spec generalize_specs(const element_spec& a, const element_spec& b) {
  const bool same = std::equal(a.begin(), a.end(), b.begin(), b.end(),
                               [](const component_spec& x, const component_spec& y) {
                                 return x.type == y.type && x.name == y.name;
                               });
  if (!same) {
    throw failure(errc::invalid_argument,
                  "element specs differ in the number, types or names of their components");
  }
  std::vector<component_spec> common(a.begin(), a.end());
  for (std::size_t i = 0; i < common.size(); ++i) {
    common[i].shape = generalize_shapes(a[i].shape, b[i].shape);
  }
  return element_spec(std::move(common));
}

}  // namespace LEAT
