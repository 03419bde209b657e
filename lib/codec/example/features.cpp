#include "leat/codec/example/features.hpp"

#include <utility>

#include "leat/base/error.hpp"

namespace LEAT {
namespace {

// The kinds of values, by the alternatives of the variant.
constexpr const char* kinds[] = {"tensor", "sparse tensor", "ragged tensor"};

template <class Value>
const Value& find(const parsed_features::value_map& values, std::string_view name) {
  const auto found = values.find(name);
  if (found != values.end()) {
    if (const auto* value = std::get_if<Value>(&found->second)) return *value;
    throw failure(errc::not_found, "feature '" + std::string(name) + "' is a " +
                                       kinds[found->second.index()] + ", not a " +
                                       kinds[parsed_features::value(Value()).index()]);
  }
  std::string all;
  for (const auto& [other, value] : values) all += (all.empty() ? "'" : ", '") + other + "'";
  throw failure(errc::not_found,
                "feature '" + std::string(name) + "' not found: " +
                    (all.empty() ? "no features were parsed" : "the features are " + all));
}

// Adds the parts of a value as components.
struct component_adder {
  std::vector<named_tensor>& components;
  const std::string& name;

  void operator()(tensor& dense) const { components.emplace_back(name, std::move(dense)); }
  void operator()(sparse_tensor& sparse) const {
    components.emplace_back(name + "/indices", std::move(sparse.indices));
    components.emplace_back(name + "/values", std::move(sparse.values));
    components.emplace_back(name + "/dense_shape", std::move(sparse.dense_shape));
  }
  void operator()(ragged_tensor& ragged) const {
    components.emplace_back(name + "/values", std::move(ragged.values));
    for (std::size_t level = 0; level < ragged.row_splits.size(); ++level) {
      components.emplace_back(name + "/row_splits/" + std::to_string(level),
                              std::move(ragged.row_splits[level]));
    }
  }
};

}  // namespace

const tensor& parsed_features::dense(std::string_view name) const {
  return find<tensor>(values_, name);
}

const sparse_tensor& parsed_features::sparse(std::string_view name) const {
  return find<sparse_tensor>(values_, name);
}

const ragged_tensor& parsed_features::ragged(std::string_view name) const {
  return find<ragged_tensor>(values_, name);
}

tensor_tuple parsed_features::take() && {
  std::vector<named_tensor> components;
  for (auto& [name, v] : values_) std::visit(component_adder{components, name}, v);
  values_.clear();
  return tensor_tuple::named(std::move(components));
}

}  // namespace LEAT
