#include "leat/tensor/column_batch.hpp"

#include <algorithm>

#include "leat/base/error.hpp"

namespace leat {

std::size_t batch_columns::dense_place(std::size_t index) const {
  const auto& place = layout_->places[index];
  if (place.sparse) refuse(index, " is sparse: sparse() gives it");
  return place.first;
}

sparse_tensor batch_columns::sparse(std::size_t index) const {
  const auto& place = layout_->places[index];
  if (!place.sparse) refuse(index, " is dense: [] gives it");
  return {.indices = components_[place.first],
          .values = components_[place.first + 1],
          .dense_shape = components_[place.first + 2]};
}

void batch_columns::refuse(std::size_t index, const char* why) const {
  const std::string column = has_names() ? "'" + names()[index] + "'" : std::to_string(index);
  throw failure(errc::invalid_argument, "column " + column + why);
}

std::size_t batch_columns::index_of(std::string_view name) const {
  const auto all = names();
  const auto found = std::find(all.begin(), all.end(), name);
  if (found != all.end()) return static_cast<std::size_t>(found - all.begin());
  std::string list;
  for (const std::string& n : all) list += (list.empty() ? "'" : ", '") + n + "'";
  throw failure(errc::not_found, "no column has the name '" + std::string(name) +
                                     "'; the names are " + (list.empty() ? "none" : list));
}

}  // namespace leat
