#include "leat/tensor/batch_spec.hpp"

#include <algorithm>
#include <cstdint>
#include <utility>

#include "leat/base/error.hpp"
#include "tensor/sparse_rows.hpp"
#include "tensor/tensor_rows.hpp"

namespace LEAT {
namespace {

// A dense column is one component of a tuple, and a sparse column is three consecutive ones:
// indices, values and dense_shape. The layout has the first component of each column. In a batch,
// an index begins with its row, and dense_shape with the number of rows.

[[noreturn]] void throw_spec_error(std::string_view owner, const std::string& why) {
  throw failure(errc::invalid_argument, owner.empty() ? why : std::string(owner) + ": " + why);
}

// Sorts named columns by name; columns without names keep their order.
std::vector<column_spec> in_order(std::vector<column_spec> columns) {
  if (columns.empty() || columns[0].name.empty()) return columns;
  std::sort(columns.begin(), columns.end(),
            [](const column_spec& a, const column_spec& b) { return a.name < b.name; });
  return columns;
}

std::vector<column_spec> dense_columns(const element_spec& elements) {
  std::vector<column_spec> columns;
  for (const component_spec& c : elements) {
    columns.push_back({.type = c.type, .shape = c.shape, .name = c.name});
  }
  return columns;
}

// The components that store the columns: of one element, or of a batch.
element_spec components(const std::vector<column_spec>& columns, bool batched) {
  std::vector<component_spec> all;
  for (const column_spec& c : columns) {
    if (!c.sparse) {
      all.push_back({.type = c.type,
                     .shape = batched ? c.shape.batch_of(unknown_dimension) : c.shape,
                     .name = c.name});
      continue;
    }
    if (!c.shape.has_rank()) {
      throw_spec_error(
          {}, "sparse column " +
                  (c.name.empty() ? std::to_string(&c - columns.data()) : "'" + c.name + "'") +
                  " has an unknown rank: list its dimensions, with unknown_dimension for unknown "
                  "sizes");
    }
    const auto part = [&](dtype type, partial_shape shape, const char* suffix) {
      all.push_back({.type = type,
                     .shape = std::move(shape),
                     .name = c.name.empty() ? std::string() : c.name + suffix});
    };
    const auto rank = static_cast<std::int64_t>(c.shape.rank()) + (batched ? 1 : 0);
    part(dtype::int64, {unknown_dimension, rank}, "/indices");
    part(c.type, {unknown_dimension}, "/values");
    part(dtype::int64, {rank}, "/dense_shape");
  }
  return element_spec(std::move(all));
}

std::shared_ptr<const detail::column_layout> make_layout(const std::vector<column_spec>& columns) {
  auto layout = std::make_shared<detail::column_layout>();
  std::size_t next = 0;
  for (const column_spec& c : columns) {
    layout->slots.push_back({.first = next, .sparse = c.sparse});
    if (!c.name.empty()) layout->names.push_back(c.name);
    next += c.sparse ? 3 : 1;
  }
  return layout;
}

// The text of a column: "sparse float32 [?] 'words'".
std::string text(const column_spec& c) {
  std::string out = c.sparse ? "sparse " : "";
  out += std::string(to_string(c.type)) + ' ' + to_string(c.shape);
  if (!c.name.empty()) out += " '" + c.name + "'";
  return out;
}

std::string text(const batch_spec& spec) {
  std::string out;
  for (const column_spec& c : spec) out += (out.empty() ? "" : ", ") + text(c);
  return out;
}

}  // namespace

batch_spec::batch_spec(std::vector<column_spec> columns)
    : columns_(in_order(std::move(columns))),
      elements_(components(columns_, false)),
      batches_(components(columns_, true)),
      layout_(make_layout(columns_)) {}

batch_spec::batch_spec(const element_spec& elements) : batch_spec(dense_columns(elements)) {}

std::string batch_spec::name_of(std::size_t column) const {
  const std::string& name = columns_[column].name;
  return "column " + (name.empty() ? std::to_string(column) : "'" + name + "'");
}

// ----------------------------------------------------------------------------------------- checks

void batch_spec::check_batchable(bool padded, std::string_view owner) const {
  for (std::size_t i = 0; i < count(); ++i) {
    const partial_shape& shape = columns_[i].shape;
    if (columns_[i].sparse || shape.is_fully_defined()) continue;
    if (!shape.has_rank()) {
      throw_spec_error(owner, name_of(i) +
                                  " has an unknown rank: list its dimensions, with "
                                  "unknown_dimension for unknown sizes");
    }
    if (!padded) {
      throw_spec_error(owner, name_of(i) + " has the shape " + to_string(shape) +
                                  ": specify all dimensions, or set dynamic_pad");
    }
  }
}

void batch_spec::check_sparse(std::size_t column, const tensor_tuple& t, bool batched,
                              std::string_view owner) const {
  const partial_shape& shape = columns_[column].shape;
  const std::string wrong =
      detail::sparse_error({t, layout_->slots[column].first},
                           batched ? shape.batch_of(unknown_dimension) : shape, batched);
  if (!wrong.empty()) throw_spec_error(owner, "sparse " + name_of(column) + ": " + wrong);
}

void batch_spec::check(tensor_tuple& element, std::string_view owner) const {
  elements_.check(element, owner);
  for (std::size_t i = 0; i < count(); ++i) {
    if (columns_[i].sparse) check_sparse(i, element, false, owner);
  }
}

// Returns the number of rows of the columns of a batch.
std::size_t batch_spec::count_rows(const tensor_tuple& batch, std::string_view owner) const {
  const auto rows = [&](std::size_t i) {
    const auto& slot = layout_->slots[i];
    return slot.sparse ? batch[slot.first + 2].values<std::int64_t>()[0]
                       : batch[slot.first].shape()[0];
  };
  for (std::size_t i = 1; i < count(); ++i) {
    if (rows(i) == rows(0)) continue;
    throw_spec_error(owner, name_of(0) + " has " + std::to_string(rows(0)) + " rows, " +
                                name_of(i) + " has " + std::to_string(rows(i)) +
                                ": all columns of a batch must have the same number of rows");
  }
  return static_cast<std::size_t>(rows(0));
}

// ---------------------------------------------------------------------------------- rows and back

std::vector<tensor_tuple> batch_spec::rows(tensor_tuple batch,
                                           std::optional<std::span<const bool>> keep,
                                           std::string_view owner) const {
  batches_.check(batch, owner);
  std::vector<detail::sparse_rows> sparse;
  for (std::size_t i = 0; i < count(); ++i) {
    if (!columns_[i].sparse) continue;
    check_sparse(i, batch, true, owner);
    sparse.emplace_back(detail::sparse_view(batch, layout_->slots[i].first));
  }
  const std::size_t all = count_rows(batch, owner);
  if (keep && keep->size() != all) {
    throw_spec_error(owner, "keep has " + std::to_string(keep->size()) + " values for " +
                                std::to_string(all) + " rows: pass one value per row");
  }
  std::vector<shape> shapes(batch.count());
  for (const auto& slot : layout_->slots) {
    if (!slot.sparse) shapes[slot.first] = detail::row_shape(batch[slot.first]);
  }
  auto result = detail::reserved_vector<tensor_tuple>(all);
  for (std::size_t row = 0; row < all; ++row) {
    if (keep && !(*keep)[row]) continue;
    std::vector<tensor> element;
    element.reserve(batch.count());
    auto next_sparse = sparse.begin();
    for (const auto& slot : layout_->slots) {
      const shape& s = shapes[slot.first];
      if (slot.sparse) {
        next_sparse++->add(static_cast<std::int64_t>(row), element);
      } else {
        element.push_back(detail::copy_values(batch[slot.first], s, row * s.count()));
      }
    }
    result.push_back(elements_.make_tuple(std::move(element)));
  }
  return result;
}

// Checks that an element can be stacked; its dense components are checked while they are stacked.
void batch_spec::require_components(const tensor_tuple& element) const {
  bool right = element.count() == elements_.count();
  for (const auto& slot : layout_->slots) {
    if (!right || !slot.sparse) continue;
    for (std::size_t c = slot.first; c < slot.first + 3; ++c) {
      right = right && element[c].type() == elements_[c].type &&
              elements_[c].shape.is_compatible_with(element[c].shape());
    }
    right = right && element[slot.first].shape()[0] == element[slot.first + 1].shape()[0];
  }
  if (!right) throw_spec_error({}, "element to stack does not match the spec: " + text(*this));
}

column_batch batch_spec::stack(std::span<const tensor_tuple> elements) const {
  for (const tensor_tuple& e : elements) require_components(e);
  std::vector<tensor> batch;
  batch.reserve(elements_.count());
  for (std::size_t i = 0; i < count(); ++i) {
    const auto [first, sparse] = layout_->slots[i];
    if (sparse) {
      detail::stack_sparse(elements, first, columns_[i].type, columns_[i].shape.rank(), batch);
    } else {
      batch.push_back(detail::stack_component(elements, first, elements_[first]));
    }
  }
  return {elements.size(), elements_.make_tuple(std::move(batch)), layout_};
}

// ------------------------------------------------------------------------------------------ joins

namespace {

// Returns the difference of two specs that cannot be joined; empty if they can.
std::string difference(const batch_spec& a, const batch_spec& b) {
  if (a.count() != b.count()) return "their number of columns";
  for (std::size_t i = 0; i < a.count(); ++i) {
    const std::string column = " of column " + std::to_string(i);
    if (a[i].name != b[i].name) return "the names of their columns";
    if (a[i].type != b[i].type) return "the type" + column;
    if (a[i].sparse != b[i].sparse) return "the sparseness" + column;
    if (!a[i].shape.is_compatible_with(b[i].shape)) return "the shape" + column;
  }
  return {};
}

template <class Combine>
batch_spec join(std::span<const batch_spec> joined, Combine combine) {
  if (joined.empty()) throw_spec_error({}, "no specs to join: pass the spec of each source");
  std::vector<column_spec> columns(joined[0].begin(), joined[0].end());
  for (std::size_t s = 1; s < joined.size(); ++s) {
    // Each pair is compared, because compatibility is not transitive: [?] is compatible with [2]
    // and with [3].
    for (std::size_t other = 0; other < s; ++other) {
      const std::string differ = difference(joined[other], joined[s]);
      if (differ.empty()) continue;
      throw_spec_error({}, "sources to join differ in " + differ + ": source " +
                               std::to_string(other) + " has " + text(joined[other]) + "; source " +
                               std::to_string(s) + " has " + text(joined[s]));
    }
    for (std::size_t i = 0; i < columns.size(); ++i) {
      columns[i].shape = combine(columns[i].shape, joined[s][i].shape);
    }
  }
  return batch_spec(std::move(columns));
}

std::span<const batch_spec> to_span(std::initializer_list<batch_spec> list) {
  return {list.begin(), list.size()};
}

}  // namespace

batch_spec intersect_specs(std::span<const batch_spec> joined) {
  return join(joined, [](const partial_shape& a, const partial_shape& b) {
    return intersect_shapes(a, b);
  });
}
batch_spec intersect_specs(std::initializer_list<batch_spec> joined) {
  return intersect_specs(to_span(joined));
}

batch_spec generalize_specs(std::span<const batch_spec> joined) {
  return join(joined, [](const partial_shape& a, const partial_shape& b) {
    return generalize_shapes(a, b);
  });
}
batch_spec generalize_specs(std::initializer_list<batch_spec> joined) {
  return generalize_specs(to_span(joined));
}

}  // namespace LEAT
