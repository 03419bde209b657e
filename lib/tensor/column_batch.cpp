#include "leat/tensor/column_batch.hpp"

#include <algorithm>

#include "leat/base/error.hpp"

namespace LEAT {

std::span<const std::string> column_batch::names() const noexcept {
  return layout_ ? std::span(layout_->names) : std::span<const std::string>();
}

std::size_t column_batch::dense_slot(std::size_t index) const {
  const auto& slot = layout_->slots[index];
  if (slot.sparse) throw_column_error(index, " is sparse: use sparse() instead of []");
  return slot.first;
}

sparse_tensor column_batch::sparse(std::size_t index) const {
  const auto& slot = layout_->slots[index];
  if (!slot.sparse) throw_column_error(index, " is dense: use [] instead of sparse()");
  return {.indices = components_[slot.first],
          .values = components_[slot.first + 1],
          .dense_shape = components_[slot.first + 2]};
}

void column_batch::throw_column_error(std::size_t index, const char* why) const {
  const std::string column = has_names() ? "'" + names()[index] + "'" : std::to_string(index);
  throw failure(errc::invalid_argument, "column " + column + why);
}

std::size_t column_batch::index_of(std::string_view name) const {
  const auto all = names();
  const auto found = std::find(all.begin(), all.end(), name);
  if (found != all.end()) return static_cast<std::size_t>(found - all.begin());
  std::string list;
  for (const std::string& n : all) list += (list.empty() ? "'" : ", '") + n + "'";
  throw failure(errc::not_found,
                "column '" + std::string(name) + "' not found: " +
                    (list.empty() ? "the columns have no names" : "the columns are " + list));
}

}  // namespace LEAT
