#include "leat/codec/features.hpp"

#include <utility>

#include "leat/core/error.hpp"

namespace leat {
namespace {

template <class Value>
const Value& find(const parsed_features::value_map& values, std::string_view name,
                  const char* what) {
  const auto found = values.find(name);
  if (found != values.end()) {
    if (const auto* value = std::get_if<Value>(&found->second)) return *value;
    throw failure(errc::not_found, "the feature '" + std::string(name) + "' gives no " + what);
  }
  std::string all;
  for (const auto& [other, value] : values) all += (all.empty() ? "'" : ", '") + other + "'";
  throw failure(errc::not_found, "there is no feature '" + std::string(name) + "' among " +
                                     (all.empty() ? "none" : all));
}

}  // namespace

const tensor& parsed_features::dense(std::string_view name) const {
  return find<tensor>(values_, name, "tensor, but a sparse one");
}

const sparse_tensor& parsed_features::sparse(std::string_view name) const {
  return find<sparse_tensor>(values_, name, "sparse tensor");
}

tensor_tuple parsed_features::take() && {
  std::vector<named_tensor> components;
  for (auto& [name, v] : values_) {
    if (auto* dense = std::get_if<tensor>(&v)) {
      components.emplace_back(name, std::move(*dense));
    } else {
      auto& sparse = std::get<sparse_tensor>(v);
      components.emplace_back(name + "/indices", std::move(sparse.indices));
      components.emplace_back(name + "/values", std::move(sparse.values));
      components.emplace_back(name + "/dense_shape", std::move(sparse.dense_shape));
    }
  }
  values_.clear();
  return tensor_tuple::named(std::move(components));
}

}  // namespace leat
