#pragma once

#include <cstdint>

#include "leat/tensor/column_batch.hpp"
#include "leat/tensor/tensor_tuple.hpp"

namespace LEAT {

// The structures of the Arrow C data interface, by which columnar libraries hand memory to each
// other. Their layout is that of ArrowSchema and ArrowArray in its specification: a pointer to one
// may be cast to a pointer to the other.

/// ArrowSchema: the type of a column, or of a batch. It is released if `release` is null.
struct arrow_schema {
  /// The type of the values, as a format string of the specification.
  const char* format = nullptr;
  /// The name of the column. May be null.
  const char* name = nullptr;
  /// Pairs of keys and values in the binary form of the specification. Null if there are none.
  const char* metadata = nullptr;
  /// The flags of the specification: 1 for ordered dictionaries, 2 for nullable, 4 for sorted maps.
  std::int64_t flags = 0;
  /// The number of children.
  std::int64_t n_children = 0;
  /// The types of the children: `n_children` pointers.
  arrow_schema** children = nullptr;
  /// The type of the dictionary values; null if the column is not dictionary-encoded.
  arrow_schema* dictionary = nullptr;
  /// Releases the structure and its children; null once it is released.
  void (*release)(arrow_schema* self) = nullptr;
  /// The data of the producer, for `release`. The consumer does not use it.
  void* private_data = nullptr;
};

/// ArrowArray: the values of a column, or of a batch. It is released if `release` is null.
struct arrow_array {
  /// The number of values.
  std::int64_t length = 0;
  /// The number of nulls; -1 if it is not known.
  std::int64_t null_count = 0;
  /// The number of values to skip at the start of the buffers.
  std::int64_t offset = 0;
  /// The number of buffers, which depends on the type.
  std::int64_t n_buffers = 0;
  /// The number of children.
  std::int64_t n_children = 0;
  /// The addresses of the buffers: `n_buffers` pointers.
  const void** buffers = nullptr;
  /// The values of the children: `n_children` pointers.
  arrow_array** children = nullptr;
  /// The dictionary values; null if the column is not dictionary-encoded.
  arrow_array* dictionary = nullptr;
  /// Releases the structure and its children; null once it is released.
  void (*release)(arrow_array* self) = nullptr;
  /// The data of the producer, for `release`. The consumer does not use it.
  void* private_data = nullptr;
};

/// Exports a batch to another library, as a struct array with a child for each column and no nulls:
///
///     column                     Arrow                             format
///     numbers [n]                primitive                         c C s S i I l L e f g
///     bool [n]                   bool                              b, repacked: the only copy
///     complex64, complex128 [n]  fixed_size_list of two floats     +w:2
///     bfloat16 [n]               fixed_size_binary of 2 bytes      w:2; Arrow has no bfloat16
///     strings [n]                large_binary                      Z, as in a tensor; z would
///                                                                  need other offsets
///     [n, a, b]                  fixed_size_list of a such lists   +w:a of +w:b
///     sparse                     large_list, for each row, of      +L of +s
///                                struct<index: fixed_size_list of int64, value>; an index begins
///                                with the row; the metadata of the column contains dense_shape,
///                                as "leat.dense_shape": "[32,1000]"
///
/// A column without a name is named by its number. The consumer calls `release` of both structures,
/// from any thread; the values live until then. It may move a child out and release it separately.
///
/// Errors: invalid_argument if there is no column, if a column is a scalar, if columns differ in
///         the number of rows, or if a dimension exceeds 2^31 - 1; std::bad_alloc. After an error
///         both structures are unchanged.
/// Cost:   some allocations for each column.
void to_arrow(column_batch batch, arrow_schema& schema, arrow_array& array);
/// Overload for a tuple of dense columns, such as the output of a decoder.
void to_arrow(tensor_tuple columns, arrow_schema& schema, arrow_array& array);

}  // namespace LEAT
