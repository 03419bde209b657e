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

namespace leat {

/// What one column of a batch is made of.
struct column_spec {
  dtype type = dtype::float32;
  /// Of one element, without the dimension of the rows; of a sparse one its dense_shape.
  partial_shape shape = partial_shape::unknown_rank();
  std::string name = {};  ///< all columns of a spec have one, or none has
  bool sparse = false;    ///< a sparse_tensor

  friend bool operator==(const column_spec&, const column_spec&) = default;
};

/// What elements have to be so that batches can be made of them, and how that is done.
///
///     using leat::dtype;
///     leat::batch_spec spec({{.type = dtype::float32, .shape = {28, 28}, .name = "image"},
///                            {.type = dtype::string, .shape = {leat::unknown_dimension},
///                             .name = "words", .sparse = true}});
///
/// An element is a tensor_tuple. A sparse value travels in it as three components, indices, values
/// and dense_shape, one behind the other, or named NAME/indices, NAME/values and NAME/dense_shape,
/// as parsed_features::take() gives them: it has no other place, from which it could leak. Columns
/// with names stand in the order of their names, whatever the order in which they are given here.
///
/// A value type. Thread safety: thread-compatible.
class batch_spec {
 public:
  /// Errors: invalid_argument without a column, with names for some only or one name twice, or for
  ///         a sparse column of unknown rank.
  explicit batch_spec(std::vector<column_spec> columns);
  batch_spec(std::initializer_list<column_spec> columns)
      : batch_spec(std::vector<column_spec>(columns)) {}
  /// Dense columns.
  batch_spec(const element_spec& elements);

  [[nodiscard]] std::size_t count() const noexcept { return columns_.size(); }
  /// Precondition: index < count().
  [[nodiscard]] const column_spec& operator[](std::size_t index) const { return columns_[index]; }
  [[nodiscard]] auto begin() const noexcept { return columns_.begin(); }
  [[nodiscard]] auto end() const noexcept { return columns_.end(); }
  [[nodiscard]] bool has_names() const noexcept { return elements_.has_names(); }

  /// The components of an element.
  [[nodiscard]] const element_spec& elements() const noexcept { return elements_; }

  /// Checks that batches can be made: that all dimensions of the dense columns are known, or, when
  /// they are to be padded, their rank. Errors: invalid_argument, which names the column; the
  /// message begins with `owner`.
  void check_batchable(bool padded, std::string_view owner = {}) const;

  /// Checks an element, also that the indices of sparse values are within their dense_shape. One
  /// with names may have its components in any order: they are put into this spec's.
  /// Errors: invalid_argument; the message begins with `owner`. Cost: O(indices).
  void check(tensor_tuple& element, std::string_view owner = {}) const;

  /// The elements of a batch: of dense columns its rows, of a sparse one what its indices, of which
  /// the first rises, say. Each has memory of its own, except for its dense_shape. `keep`: one for
  /// each row, those that are false are left out; none: all are given.
  ///
  /// Errors: invalid_argument for what does not match this spec, or columns or `keep` that differ
  ///         in the number of rows; the message begins with `owner`. std::bad_alloc.
  /// TensorFlow: enqueue_many.
  [[nodiscard]] std::vector<tensor_tuple> rows(
      tensor_tuple batch, std::optional<std::span<const bool>> keep = std::nullopt,
      std::string_view owner = {}) const;

  /// A batch of elements. Dimensions that are not known are padded to the largest of them with 0,
  /// false or "".
  ///
  /// Errors: invalid_argument for elements that do not match; std::bad_alloc.
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

/// What elements of several sources are when each of them has to match all of the specs: of their
/// shapes all that any of them knows.
///
/// Errors: invalid_argument for no spec, or for specs that differ in number, names, types or
///         sparseness of their columns, or whose shapes contradict each other; the message says
///         how, and lists both. TensorFlow: the shapes and types of tf.train.batch_join.
[[nodiscard]] batch_spec intersect_specs(std::span<const batch_spec> joined);
[[nodiscard]] batch_spec intersect_specs(std::initializer_list<batch_spec> joined);

/// The same when each of them has to match one of the specs: of their shapes what they have in
/// common. The rest is for a batcher that pads. Errors: as intersect_specs().
[[nodiscard]] batch_spec generalize_specs(std::span<const batch_spec> joined);
[[nodiscard]] batch_spec generalize_specs(std::initializer_list<batch_spec> joined);

}  // namespace leat
