#include "tensor/sparse_rows.hpp"

#include <algorithm>

#include "tensor/internal/tensor_builder.hpp"
#include "tensor/tensor_rows.hpp"

namespace LEAT::detail {
namespace {

using numbers = std::span<const std::int64_t>;

std::string text(numbers all) {
  std::string out = "[";
  for (const std::int64_t n : all) {
    if (out.size() > 1) out += ',';
    out += std::to_string(n);
  }
  return out + ']';
}

tensor make_uninitialized(std::initializer_list<std::int64_t> dimensions) {
  return tensor_builder::values(dtype::int64, shape(dimensions));
}

}  // namespace

std::string sparse_error(const sparse_view& s, const partial_shape& dense_shape, bool rising) {
  const numbers sizes = s.dense_shape.values<std::int64_t>();
  const std::size_t rank = sizes.size();
  for (std::size_t d = 0; d < rank; ++d) {
    const bool known = dense_shape[d] != unknown_dimension;
    if (sizes[d] < 0 || (known && sizes[d] != dense_shape[d])) {
      return "dense_shape is " + text(sizes) + ", must be " + to_string(dense_shape);
    }
  }
  const auto count = static_cast<std::size_t>(s.indices.shape()[0]);
  if (count != s.values.count()) {
    return std::to_string(count) + " indices, but " + std::to_string(s.values.count()) + " values";
  }
  const numbers indices = s.indices.values<std::int64_t>();
  for (std::size_t i = 0; i < count; ++i) {
    const numbers index = indices.subspan(i * rank, rank);
    const bool inside = std::equal(index.begin(), index.end(), sizes.begin(),
                                   [](auto at, auto size) { return at >= 0 && at < size; });
    if (!inside) return "index " + text(index) + " is outside dense_shape " + text(sizes);
    if (rising && i > 0 && index[0] < indices[(i - 1) * rank]) {
      return "index " + text(index) + " follows an index of row " +
             std::to_string(indices[(i - 1) * rank]) + ": sort the indices by row";
    }
  }
  return {};
}

// -------------------------------------------------------------------------------- batch into rows

sparse_rows::sparse_rows(const sparse_view& batch)
    : batch_(batch),
      rank_(batch.dense_shape.count() - 1),
      dense_shape_(tensor::of<std::int64_t>({static_cast<std::int64_t>(rank_)},
                                            batch.dense_shape.values<std::int64_t>().subspan(1))) {}

void sparse_rows::add(std::int64_t row, std::vector<tensor>& to) {
  const numbers all = batch_.indices.values<std::int64_t>();
  const std::size_t count = batch_.values.count();
  const auto row_of = [&](std::size_t i) { return all[i * (rank_ + 1)]; };
  while (next_ < count && row_of(next_) < row) ++next_;
  const std::size_t first = next_;
  while (next_ < count && row_of(next_) == row) ++next_;

  const auto size = static_cast<std::int64_t>(next_ - first);
  tensor indices = make_uninitialized({size, static_cast<std::int64_t>(rank_)});
  auto* out = indices.mutable_values<std::int64_t>().data();
  for (std::size_t i = first; i < next_; ++i) {
    out = std::copy_n(all.data() + i * (rank_ + 1) + 1, rank_, out);
  }
  to.push_back(std::move(indices));
  to.push_back(copy_values(batch_.values, {size}, first));
  to.push_back(dense_shape_);
}

// -------------------------------------------------------------------------------- rows into batch

namespace {

tensor stack_indices(std::span<const tensor_tuple> elements, std::size_t c, std::size_t rank) {
  std::int64_t count = 0;
  for (const tensor_tuple& e : elements) count += e[c].shape()[0];
  tensor all = make_uninitialized({count, static_cast<std::int64_t>(rank + 1)});
  auto* out = all.mutable_values<std::int64_t>().data();
  for (std::size_t row = 0; row < elements.size(); ++row) {
    const tensor& indices = elements[row][c];
    const auto* in = indices.values<std::int64_t>().data();
    for (std::int64_t i = 0; i < indices.shape()[0]; ++i, in += rank) {
      *out++ = static_cast<std::int64_t>(row);
      out = std::copy_n(in, rank, out);
    }
  }
  return all;
}

tensor largest(std::span<const tensor_tuple> elements, std::size_t c, std::size_t rank) {
  tensor all(dtype::int64, {static_cast<std::int64_t>(rank + 1)});
  const auto sizes = all.mutable_values<std::int64_t>();
  sizes[0] = static_cast<std::int64_t>(elements.size());
  for (const tensor_tuple& e : elements) {
    const numbers one = e[c].values<std::int64_t>();
    for (std::size_t d = 0; d < rank; ++d) sizes[d + 1] = std::max(sizes[d + 1], one[d]);
  }
  return all;
}

}  // namespace

void stack_sparse(std::span<const tensor_tuple> elements, std::size_t first, dtype type,
                  std::size_t rank, std::vector<tensor>& to) {
  to.push_back(stack_indices(elements, first, rank));
  to.push_back(concatenate_component(elements, first + 1, type));
  to.push_back(largest(elements, first + 2, rank));
}

}  // namespace LEAT::detail
