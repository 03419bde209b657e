#pragma once

#include <cstddef>
#include <initializer_list>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "leat/tensor/column_batch.hpp"
#include "leat/tensor/dtype.hpp"
#include "leat/tensor/element_spec.hpp"
#include "leat/tensor/shape.hpp"
#include "leat/tensor/tensor_tuple.hpp"

namespace LEAT {

/// The specification of one column of a batch.
struct column_spec {
  /// The type of the values.
  dtype type = dtype::float32;
  /// Shape of one element, without the dimension of the rows; for a sparse column its dense_shape.
  partial_shape shape = partial_shape::unknown_rank();
  std::string name = {};  ///< either all columns of a spec have a name, or none
  bool sparse = false;    ///< if true, the column is a sparse_tensor

  friend bool operator==(const column_spec&, const column_spec&) = default;
};

/// The specification of elements that can form a batch, with functions to convert between both.
///
///     using leat::dtype;
///     leat::batch_spec spec({{.type = dtype::float32, .shape = {28, 28}, .name = "image"},
///                            {.type = dtype::string, .shape = {leat::unknown_dimension},
///                             .name = "words", .sparse = true}});
///
/// An element is a tensor_tuple. It contains a sparse value as three consecutive components,
/// indices, values and dense_shape. With names, these are NAME/indices, NAME/values and
/// NAME/dense_shape, as parsed_features::take() returns them. The value is stored nowhere else, so
/// it cannot leak. Columns with names are sorted by name, in whatever order they are listed here.
///
/// A value type. Thread safety: thread-compatible.
class batch_spec {
 public:
  /// Errors: invalid_argument if there is no column, if only some columns have names or two have
  ///         the same name, or if a sparse column has unknown rank.
  explicit batch_spec(std::vector<column_spec> columns);
  batch_spec(std::initializer_list<column_spec> columns)
      : batch_spec(std::vector<column_spec>(columns)) {}
  /// Creates a spec of dense columns.
  batch_spec(const element_spec& elements);

  /// Returns the number of columns.
  [[nodiscard]] std::size_t count() const noexcept { return columns_.size(); }
  /// Precondition: index < count().
  [[nodiscard]] const column_spec& operator[](std::size_t index) const { return columns_[index]; }
  [[nodiscard]] auto begin() const noexcept { return columns_.begin(); }
  [[nodiscard]] auto end() const noexcept { return columns_.end(); }
  /// Returns true if the columns have names.
  [[nodiscard]] bool has_names() const noexcept { return elements_.has_names(); }

  /// Returns the spec of the components of an element.
  [[nodiscard]] const element_spec& elements() const noexcept { return elements_; }

  /// Checks that batches can be made: that all dimensions of the dense columns are known or, if
  /// `padded`, that their ranks are known.
  /// Errors: invalid_argument; the message names the column and begins with `owner`.
  void check_batchable(bool padded, std::string_view owner = {}) const;

  /// Checks an element, including that the indices of sparse values are within their dense_shape.
  /// Rearranges named components in the order of this spec.
  /// Errors: invalid_argument; the message begins with `owner`. Cost: O(indices).
  void check(tensor_tuple& element, std::string_view owner = {}) const;

  /// Returns the elements of a batch. An element has one row of each dense column, and the values
  /// of each sparse column whose first index is that row. These first indices must not decrease.
  /// Each element has its own memory, except for its dense_shape. `keep` has one value for each
  /// row; rows with false are left out. If it is not set, all rows are returned.
  ///
  /// Errors: invalid_argument if the batch does not match this spec, or if columns or `keep` differ
  ///         in the number of rows; the message begins with `owner`. std::bad_alloc.
  /// TensorFlow: enqueue_many.
  [[nodiscard]] std::vector<tensor_tuple> rows(
      tensor_tuple batch, std::optional<std::span<const bool>> keep = std::nullopt,
      std::string_view owner = {}) const;

  /// Returns a batch of elements. Each unknown dimension is padded to its largest size among the
  /// elements, with 0, false or "".
  ///
  /// Errors: invalid_argument if an element does not match; std::bad_alloc.
  /// Cost:   two passes over the elements' shapes and one over their values; one allocation for
  ///         each component.
  [[nodiscard]] column_batch stack(std::span<const tensor_tuple> elements) const;

  friend bool operator==(const batch_spec& a, const batch_spec& b) noexcept {
    return a.columns_ == b.columns_;
  }

 private:
  [[nodiscard]] std::string name_of(std::size_t column) const;
  [[nodiscard]] std::size_t count_rows(const tensor_tuple& batch, std::string_view owner) const;
  void check_sparse(std::size_t column, const tensor_tuple& t, bool batched,
                    std::string_view owner) const;
  void require_components(const tensor_tuple& element) const;

  std::vector<column_spec> columns_;
  element_spec elements_;
  element_spec batches_;  // many elements in one tuple
  std::shared_ptr<const detail::column_layout> layout_;
};

/// Returns the spec of elements of several sources if each element must match all of the specs: it
/// has every dimension that is known in any of them.
///
/// Errors: invalid_argument if there is no spec, or if specs differ in the number, names, types or
///         sparseness of their columns, or have contradictory shapes. The message says in what they
///         differ and lists both. TensorFlow: the shapes and types of tf.train.batch_join.
[[nodiscard]] batch_spec intersect_specs(std::span<const batch_spec> joined);
[[nodiscard]] batch_spec intersect_specs(std::initializer_list<batch_spec> joined);

/// Returns the spec of elements of several sources if each element must match one of the specs:
/// only dimensions that are equal in all of them are known. A batcher must pad the others.
/// Errors: see intersect_specs().
[[nodiscard]] batch_spec generalize_specs(std::span<const batch_spec> joined);
[[nodiscard]] batch_spec generalize_specs(std::initializer_list<batch_spec> joined);

}  // namespace LEAT
