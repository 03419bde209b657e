#include "leat/tensor/arrow.hpp"

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <limits>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "leat/base/error.hpp"
#include "tensor/internal/tensor_builder.hpp"

namespace LEAT {
namespace {

[[noreturn]] void throw_arrow_error(const std::string& why) {
  throw failure(errc::invalid_argument, "Arrow: " + why);
}

// ------------------------------------------------------------------------------------------ nodes

// Each structure owns its node, which `private_data` refers to and `release` deletes. The node of
// an array owns a reference to each tensor that its buffers are in, so the values live until the
// consumer has released the array, and no value is copied except for bool. Children are elements of
// the vector of the node, and release their own nodes.
//
// A `column` holds both structures while they are made, and releases them if an exception ends
// this.

// The memory of a schema or an array. The consumer releases children that it has moved out.
template <class Struct>
struct node {
  std::vector<Struct> children;
  std::vector<Struct*> child_pointers;

  node() = default;
  node(const node&) = delete;
  node& operator=(const node&) = delete;
  ~node() {
    for (Struct& child : children) {
      if (child.release) child.release(&child);
    }
  }
};

struct schema_node : node<arrow_schema> {
  std::string format;
  std::string name;
  std::string metadata;
};

struct array_node : node<arrow_array> {
  std::vector<tensor> values;  // that the buffers are in
  const void* buffers[3] = {};
};

// Passes ownership of `out` to `node`.
template <class Struct, class Node>
void own(Struct& out, std::unique_ptr<Node> n) {
  for (Struct& child : n->children) n->child_pointers.push_back(&child);
  out.n_children = static_cast<std::int64_t>(n->child_pointers.size());
  out.children = n->child_pointers.empty() ? nullptr : n->child_pointers.data();
  out.private_data = n.release();
  out.release = [](Struct* self) {
    delete static_cast<Node*>(self->private_data);
    self->release = nullptr;
  };
}

// A schema and its array, which are released unless they are exported.
struct column {
  arrow_schema schema;
  arrow_array array;

  column() = default;
  column(column&& o) noexcept
      : schema(std::exchange(o.schema, {})), array(std::exchange(o.array, {})) {}
  column& operator=(column&&) = delete;
  ~column() {
    if (schema.release) schema.release(&schema);
    if (array.release) array.release(&array);
  }
};

struct column_builder {
  std::unique_ptr<schema_node> schema = std::make_unique<schema_node>();
  std::unique_ptr<array_node> array = std::make_unique<array_node>();

  void add_child(column child) {
    // A child is added to both lists or to none.
    schema->children.emplace_back();
    try {
      array->children.push_back(child.array);
    } catch (...) {
      schema->children.pop_back();
      throw;
    }
    schema->children.back() = std::exchange(child.schema, {});
    child.array = {};
  }

  column make(std::int64_t length, std::int64_t buffers) && {
    column out;
    // Capacity for own(), which must not fail.
    schema->child_pointers.reserve(schema->children.size());
    array->child_pointers.reserve(array->children.size());
    out.schema.format = schema->format.c_str();
    out.schema.name = schema->name.c_str();
    out.schema.metadata = schema->metadata.empty() ? nullptr : schema->metadata.data();
    out.array.length = length;
    out.array.n_buffers = buffers;
    out.array.buffers = array->buffers;
    own(out.schema, std::move(schema));
    own(out.array, std::move(array));
    return out;
  }
};

// ----------------------------------------------------------------------------------------- values

const char* format_of(dtype type) {
  switch (type) {
    case dtype::boolean: return "b";
    case dtype::uint8: return "C";
    case dtype::int8: return "c";
    case dtype::uint16: return "S";
    case dtype::int16: return "s";
    case dtype::uint32: return "I";
    case dtype::int32: return "i";
    case dtype::uint64: return "L";
    case dtype::int64: return "l";
    case dtype::float16: return "e";
    case dtype::bfloat16: return "w:2";
    case dtype::float32:
    case dtype::complex64: return "f";
    case dtype::float64:
    case dtype::complex128: return "g";
    case dtype::string: return "Z";
  }
  throw_arrow_error("unknown dtype");
}

// Packs bytes into bits, the lowest first.
tensor packed(std::span<const bool> values) {
  tensor bits(dtype::uint8, {static_cast<std::int64_t>((values.size() + 7) / 8)});
  const auto out = bits.mutable_values<std::uint8_t>();
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (values[i]) out[i / 8] = static_cast<std::uint8_t>(out[i / 8] | 1U << i % 8);
  }
  return bits;
}

// An array of `length` values without children.
column leaf(std::string name, dtype type, std::int64_t length, const tensor& t) {
  static constexpr std::int64_t no_offsets[1] = {0};  // an array of no strings also has one offset
  column_builder p;
  p.schema->format = format_of(type);
  p.schema->name = std::move(name);
  p.array->values.push_back(type == dtype::boolean ? packed(t.values<bool>()) : t);
  const tensor& values = p.array->values[0];
  const bool strings = type == dtype::string;
  if (strings) {
    const string_values all = values.strings();
    p.array->buffers[1] = all.empty() ? no_offsets : all.offsets().data();
    p.array->buffers[2] = all.bytes().data();
  } else {
    p.array->buffers[1] = detail::tensor_builder::bytes(values);
  }
  return std::move(p).make(length, strings ? 3 : 2);
}

column make_list(std::string name, std::int64_t size, std::int64_t length, column items) {
  if (size > std::numeric_limits<std::int32_t>::max()) {
    throw_arrow_error("list of " + std::to_string(size) + " values exceeds 2^31 - 1");
  }
  column_builder p;
  p.schema->format = "+w:" + std::to_string(size);
  p.schema->name = std::move(name);
  p.add_child(std::move(items));
  return std::move(p).make(length, 1);
}

// Nested lists, one level per dimension. `length`: the total number of lists at the outermost
// level.
column nested(std::string name, const tensor& t, std::span<const std::int64_t> dimensions,
              std::int64_t length) {
  const bool is_complex = t.type() == dtype::complex64 || t.type() == dtype::complex128;
  if (dimensions.empty()) {
    if (!is_complex) return leaf(std::move(name), t.type(), length, t);
    return make_list(std::move(name), 2, length, leaf("item", t.type(), 2 * length, t));
  }
  std::int64_t items = 0;
  if (__builtin_mul_overflow(length, dimensions[0], &items)) {
    throw_arrow_error("more values than 64 bits can count");
  }
  return make_list(std::move(name), dimensions[0], length,
                   nested("item", t, dimensions.subspan(1), items));
}

// ---------------------------------------------------------------------------------------- columns

column dense(std::string name, const tensor& t, std::int64_t rows) {
  if (t.shape().rank() == 0) throw_arrow_error("column '" + name + "' is a scalar and has no rows");
  if (t.shape()[0] != rows) {
    throw_arrow_error("column '" + name + "' has " + std::to_string(t.shape()[0]) +
                      " rows, the other columns have " + std::to_string(rows));
  }
  return nested(std::move(name), t, t.shape().dimensions().subspan(1), rows);
}

void append(std::string& out, std::string_view text) {
  const auto size = static_cast<std::int32_t>(text.size());
  out.append(reinterpret_cast<const char*>(&size), sizeof size);
  out += text;
}

// Key and value in the format of the specification: each with its size before it.
std::string make_metadata(const tensor& dense_shape) {
  const std::int32_t count = 1;
  std::string out(reinterpret_cast<const char*>(&count), sizeof count);
  append(out, "leat.dense_shape");
  append(out, to_string(shape(dense_shape.values<std::int64_t>())));
  return out;
}

// The offset of each row among the values, and the end of the last row.
tensor row_offsets(const sparse_tensor& s, std::int64_t rows) {
  tensor offsets(dtype::int64, {rows + 1});
  const auto out = offsets.mutable_values<std::int64_t>();
  const auto indices = s.indices.values<std::int64_t>();
  const auto rank = static_cast<std::size_t>(s.indices.shape()[1]);
  for (std::size_t i = 0; i < indices.size(); i += rank) {
    ++out[static_cast<std::size_t>(indices[i]) + 1];
  }
  for (std::size_t row = 1; row < out.size(); ++row) out[row] += out[row - 1];
  return offsets;
}

column sparse(std::string name, const sparse_tensor& s, std::int64_t rows) {
  const std::int64_t count = s.indices.shape()[0];
  column_builder item;
  item.schema->format = "+s";
  item.schema->name = "item";
  item.add_child(dense("index", s.indices, count));
  item.add_child(dense("value", s.values, count));
  column_builder p;
  p.schema->format = "+L";
  p.schema->name = std::move(name);
  p.schema->metadata = make_metadata(s.dense_shape);
  p.array->values.push_back(row_offsets(s, rows));
  p.array->buffers[1] = detail::tensor_builder::bytes(std::as_const(p.array->values[0]));
  p.add_child(std::move(item).make(count, 1));
  return std::move(p).make(rows, 2);
}

// `child(i)` creates column i of `count` columns.
template <class Child>
void export_struct(std::size_t count, std::int64_t rows, Child child, arrow_schema& schema,
                   arrow_array& array) {
  if (count == 0) throw_arrow_error("batch has no columns");
  column_builder p;
  p.schema->format = "+s";
  for (std::size_t i = 0; i < count; ++i) p.add_child(child(i));
  column whole = std::move(p).make(rows, 1);
  schema = std::exchange(whole.schema, {});
  array = std::exchange(whole.array, {});
}

std::string name_of(std::span<const std::string> names, std::size_t index) {
  return names.empty() ? std::to_string(index) : names[index];
}

}  // namespace

void to_arrow(column_batch batch, arrow_schema& schema, arrow_array& array) {
  const auto rows = static_cast<std::int64_t>(batch.rows());
  const auto child = [&](std::size_t i) {
    std::string name = name_of(batch.names(), i);
    return batch.is_sparse(i) ? sparse(std::move(name), batch.sparse(i), rows)
                              : dense(std::move(name), batch[i], rows);
  };
  export_struct(batch.count(), rows, child, schema, array);
}

void to_arrow(tensor_tuple columns, arrow_schema& schema, arrow_array& array) {
  const bool has_rows = !columns.empty() && columns[0].shape().rank() > 0;
  const std::int64_t rows = has_rows ? columns[0].shape()[0] : 0;
  const auto child = [&](std::size_t i) {
    return dense(name_of(columns.names(), i), columns[i], rows);
  };
  export_struct(columns.count(), rows, child, schema, array);
}

}  // namespace LEAT
