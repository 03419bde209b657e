#include "leat/tensor/stacking.hpp"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <string>
#include <utility>

#include "leat/base/error.hpp"
#include "tensor/internal/tensor_builder.hpp"
#include "tensor/tensor_rows.hpp"

namespace LEAT {
namespace {

using detail::dimension_list;
using detail::tensor_builder;
using dimensions = std::span<const std::int64_t>;

// --------------------------------------------------------------------------- writing into a tensor

// Copies ranges of values of a fixed size. Memory between them keeps its contents.
class row_writer {
 public:
  explicit row_writer(tensor& to) noexcept
      : to_(tensor_builder::bytes(to)), size_(size_of(to.type())) {}

  void add(const tensor& from, std::size_t first, std::size_t count, std::size_t at) noexcept {
    if (count == 0) return;
    std::memcpy(to_ + at * size_, tensor_builder::bytes(from) + first * size_, count * size_);
  }
  void finish() noexcept {}

 private:
  std::byte* const to_;
  const std::size_t size_;
};

// Copies ranges of strings, in ascending order of their destination. Strings in between become "".
class string_writer {
 public:
  explicit string_writer(tensor& to)
      : offsets_(tensor_builder::offsets(to)),
        text_(to.count() > 0 ? tensor_builder::text(to) : nullptr),
        count_(to.count()) {}

  void add(const tensor& from, std::size_t first, std::size_t count, std::size_t at) {
    if (count == 0) return;
    fill(at);
    const string_values source = from.strings();
    const std::int64_t* const offsets = source.offsets().data() + first;
    const std::int64_t moved = size_ - offsets[0];
    for (std::size_t i = 1; i <= count; ++i) offsets_[at + i] = offsets[i] + moved;
    const std::int64_t size = offsets[count] - offsets[0];
    std::copy_n(source.bytes().data() + offsets[0], size, text_ + size_);
    size_ += size;
    written_ = at + count;
  }
  void finish() noexcept { fill(count_); }

 private:
  void fill(std::size_t end) noexcept {
    for (; written_ < end; ++written_) offsets_[written_ + 1] = size_;
  }

  std::int64_t* const offsets_;
  char* const text_;
  const std::size_t count_;
  std::size_t written_ = 0;  // strings
  std::int64_t size_ = 0;    // their size in bytes
};

// Calls write(writer) with the writer for the type of `to`.
template <class Write>
void write_into(tensor& to, Write write) {
  if (to.type() == dtype::string) {
    string_writer w(to);
    write(w);
    w.finish();
  } else {
    row_writer w(to);
    write(w);
    w.finish();
  }
}

tensor make(dtype type, shape s, std::size_t string_size, bool zeros) {
  if (type == dtype::string) return tensor_builder::strings(std::move(s), string_size);
  return zeros ? tensor(type, std::move(s)) : tensor_builder::values(type, std::move(s));
}

std::size_t string_size(const tensor& t) {
  return t.type() == dtype::string ? t.strings().bytes().size() : 0;
}

// ------------------------------------------------------------------------------- small into large

// Calls copy(from, to) for each range of values that stays contiguous when a tensor is written to
// the low end of a larger one, with the positions of its first value in the two tensors. `block`:
// number of values in the first `outer` and all further dimensions of the larger one.
template <class Copy>
void for_each_range(const std::int64_t* small, const std::int64_t* large, std::size_t outer,
                    std::size_t block, std::size_t length, std::size_t& from, std::size_t to,
                    Copy& copy) {
  if (outer == 0) {
    copy(from, to);
    from += length;
    return;
  }
  block /= static_cast<std::size_t>(*large);
  for (std::int64_t i = 0; i < *small; ++i, to += block) {
    for_each_range(small + 1, large + 1, outer - 1, block, length, from, to, copy);
  }
}

// Writes `t` to the low end of the `block` values, of shape `large`, that begin at `to`.
template <class Writer>
void write_padded(Writer& writer, const tensor& t, dimensions large, std::size_t block,
                  std::size_t to) {
  if (t.count() == block) {  // and therefore has the same shape
    writer.add(t, 0, block, to);
    return;
  }
  if (t.count() == 0) return;
  const dimensions small = t.shape().dimensions();
  // The dimensions after `outer` are equal in both tensors, so `length` values are contiguous in
  // both. A dimension differs, because the counts do.
  std::size_t outer = small.size() - 1;  // the last dimension that differs
  std::size_t length = static_cast<std::size_t>(small[outer]);
  for (; small[outer] == large[outer]; length *= static_cast<std::size_t>(small[outer])) --outer;
  auto copy = [&](std::size_t begin, std::size_t at) { writer.add(t, begin, length, at); };
  std::size_t from = 0;
  for_each_range(small.data(), large.data(), outer, block, length, from, to, copy);
}

// ---------------------------------------------------------------------------------------- stacking

void check_row(const tensor& row, std::size_t index, const component_spec& spec) {
  if (row.type() != spec.type) {
    throw failure(errc::invalid_argument, "Type mismatch in row " + std::to_string(index) +
                                              ". Expected " + std::string(to_string(spec.type)) +
                                              ", got " + std::string(to_string(row.type())));
  }
  if (!spec.shape.is_compatible_with(row.shape())) {
    throw failure(errc::invalid_argument, "Shape mismatch in row " + std::to_string(index) +
                                              ". Expected " + to_string(spec.shape) + ", got " +
                                              to_string(row.shape()));
  }
}

// Stacks `count` rows; `row(i)` returns one. `spec` has a known rank.
template <class Row>
tensor stack_rows(std::size_t count, Row row, const component_spec& spec) {
  const std::size_t rank = spec.shape.rank();
  dimension_list all(rank + 1);
  std::int64_t* const batch = all.data();
  batch[0] = static_cast<std::int64_t>(count);
  for (std::size_t d = 0; d < rank; ++d) {
    batch[d + 1] = std::max<std::int64_t>(spec.shape[d], 0);
  }
  // The first pass over the rows finds the shape of the batch and the size of its strings. Only
  // then is memory allocated, once, and the second pass writes the values.
  std::size_t bytes = 0;
  for (std::size_t i = 0; i < count; ++i) {
    const tensor& r = row(i);
    check_row(r, i, spec);
    for (std::size_t d = 0; d < rank; ++d) batch[d + 1] = std::max(batch[d + 1], r.shape()[d]);
    bytes += string_size(r);
  }
  shape whole(all.all());
  const dimensions large = all.all().subspan(1);
  const std::size_t block = count > 0 ? whole.count() / count : 0;
  // Only a batch with padding has values that no row writes, and is cleared.
  bool padded = false;
  for (std::size_t i = 0; i < count && !padded; ++i) padded = row(i).count() != block;
  tensor result = make(spec.type, std::move(whole), bytes, padded);
  write_into(result, [&](auto& writer) {
    for (std::size_t i = 0; i < count; ++i) write_padded(writer, row(i), large, block, i * block);
  });
  return result;
}

template <class Row>
tensor stack_any_rows(std::size_t count, Row row, const component_spec& spec) {
  if (spec.shape.has_rank()) return stack_rows(count, row, spec);
  if (count > 0) return stack_rows(count, row, {.type = spec.type, .shape = row(0).shape()});
  throw failure(errc::invalid_argument,
                "no rows to stack and no known shape: pass a spec whose shape has a rank");
}

}  // namespace

namespace detail {

tensor stack_component(std::span<const tensor_tuple> elements, std::size_t c,
                       const component_spec& spec) {
  return stack_any_rows(
      elements.size(), [&](std::size_t i) -> const tensor& { return elements[i][c]; }, spec);
}

tensor concatenate_component(std::span<const tensor_tuple> elements, std::size_t c, dtype type) {
  std::int64_t count = 0;
  std::size_t bytes = 0;
  for (const tensor_tuple& e : elements) {
    count += static_cast<std::int64_t>(e[c].count());
    bytes += string_size(e[c]);
  }
  tensor result = make(type, {count}, bytes, false);
  write_into(result, [&](auto& writer) {
    std::size_t at = 0;
    for (const tensor_tuple& e : elements) {
      writer.add(e[c], 0, e[c].count(), at);
      at += e[c].count();
    }
  });
  return result;
}

tensor copy_values(const tensor& from, const shape& row, std::size_t first) {
  std::size_t bytes = 0;
  if (from.type() == dtype::string && row.count() > 0) {
    const auto offsets = from.strings().offsets();
    bytes = static_cast<std::size_t>(offsets[first + row.count()] - offsets[first]);
  }
  tensor result = make(from.type(), row, bytes, false);
  write_into(result, [&](auto& writer) { writer.add(from, first, row.count(), 0); });
  return result;
}

shape row_shape(const tensor& batch) {
  if (batch.shape().rank() > 0) return shape(batch.shape().dimensions().subspan(1));
  throw failure(errc::invalid_argument,
                "scalar has no rows: dimension 0 must be the number of rows");
}

}  // namespace detail

tensor stack(std::span<const tensor> rows) {
  if (rows.empty()) {
    throw failure(errc::invalid_argument, "no rows to stack: pass a component_spec");
  }
  return stack(rows, {.type = rows[0].type(), .shape = rows[0].shape()});
}

tensor stack(std::span<const tensor> rows, const component_spec& spec) {
  return stack_any_rows(rows.size(), [&](std::size_t i) -> const tensor& { return rows[i]; }, spec);
}

tensor_tuple stack(std::span<const tensor_tuple> elements, const element_spec& spec) {
  for (const tensor_tuple& e : elements) {
    if (e.count() == spec.count()) continue;
    throw failure(errc::invalid_argument, "element to stack has " + std::to_string(e.count()) +
                                              " components, must have " +
                                              std::to_string(spec.count()));
  }
  std::vector<tensor> batch;
  batch.reserve(spec.count());
  for (std::size_t c = 0; c < spec.count(); ++c) {
    batch.push_back(detail::stack_component(elements, c, spec[c]));
  }
  return spec.make_tuple(std::move(batch));
}

tensor pad(const tensor& t, const shape& to) {
  const dimensions small = t.shape().dimensions();
  const dimensions large = to.dimensions();
  if (!std::equal(small.begin(), small.end(), large.begin(), large.end(),
                  [](std::int64_t s, std::int64_t l) { return s <= l; })) {
    throw failure(errc::invalid_argument, "tensor of shape " + to_string(t.shape()) +
                                              " cannot be padded to " + to_string(to));
  }
  tensor result = make(t.type(), to, string_size(t), true);
  write_into(result, [&](auto& writer) { write_padded(writer, t, large, to.count(), 0); });
  return result;
}

std::vector<tensor> unstack(const tensor& batch) {
  const shape row = detail::row_shape(batch);
  const auto count = static_cast<std::size_t>(batch.shape()[0]);
  auto rows = detail::reserved_vector<tensor>(count);
  for (std::size_t i = 0; i < count; ++i)
    rows.push_back(detail::copy_values(batch, row, i * row.count()));
  return rows;
}

tensor unstack_row(const tensor& batch, std::size_t index) {
  const shape row = detail::row_shape(batch);
  if (index >= static_cast<std::size_t>(batch.shape()[0])) {
    throw failure(errc::invalid_argument, "row " + std::to_string(index) +
                                              " does not exist: the batch has the shape " +
                                              to_string(batch.shape()));
  }
  return detail::copy_values(batch, row, index * row.count());
}

std::vector<tensor_tuple> unstack(const tensor_tuple& batch) {
  std::vector<shape> rows;
  for (const tensor& t : batch) {
    rows.push_back(detail::row_shape(t));
    if (t.shape()[0] == batch[0].shape()[0]) continue;
    throw failure(errc::invalid_argument,
                  "components of the batch differ in dimension 0: their shapes are " +
                      to_string(batch[0].shape()) + " and " + to_string(t.shape()));
  }
  const std::size_t count = batch.empty() ? 0 : static_cast<std::size_t>(batch[0].shape()[0]);
  auto elements = detail::reserved_vector<tensor_tuple>(count);
  for (std::size_t i = 0; i < count; ++i) {
    std::vector<tensor> components;
    components.reserve(batch.count());
    for (std::size_t c = 0; c < batch.count(); ++c) {
      components.push_back(detail::copy_values(batch[c], rows[c], i * rows[c].count()));
    }
    elements.push_back(tensor_tuple(std::move(components), batch.names_));
  }
  return elements;
}

}  // namespace LEAT
