#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "leat/tensor/sparse_tensor.hpp"
#include "leat/tensor/tensor.hpp"
#include "leat/tensor/tensor_tuple.hpp"

namespace LEAT {

namespace detail {

/// The components of a batch that form its columns; shared by all batches of one spec.
struct column_layout {
  struct column_slot {
    std::size_t first;  // component
    bool sparse;        // then it is three: indices, values, dense_shape
    friend bool operator==(const column_slot&, const column_slot&) = default;
  };
  std::vector<column_slot> slots;
  std::vector<std::string> names;  // one for each column, or none
};

}  // namespace detail

/// A batch of elements, stored by columns. Each column has one row for each element.
///
/// A dense column is a tensor [rows, ...]. A sparse column is a sparse_tensor: its indices begin
/// with the row, and its dense_shape is [rows, the largest of the batch in each dimension]. Each
/// column stores its values contiguously, aligned to 64 bytes, and copies share them. Columns with
/// names are sorted by name.
///
///     while (auto batch = co_await samples.next()) {
///       learn((*batch)["image"], (*batch)["label"].values<std::int64_t>());
///       const leat::sparse_tensor words = batch->sparse("words");
///     }
///
/// batch_spec::stack() creates a column_batch. A value type; empty after a move. Thread safety:
/// thread-compatible.
class column_batch {
 public:
  /// Creates a batch without columns.
  column_batch() noexcept = default;
  column_batch(const column_batch&) = default;
  column_batch(column_batch&& o) noexcept
      : rows_(std::exchange(o.rows_, 0)),
        components_(std::move(o.components_)),
        layout_(std::exchange(o.layout_, nullptr)) {}
  column_batch& operator=(column_batch o) noexcept {
    std::swap(rows_, o.rows_);
    std::swap(components_, o.components_);
    std::swap(layout_, o.layout_);
    return *this;
  }
  ~column_batch() = default;

  /// Returns the number of elements.
  [[nodiscard]] std::size_t rows() const noexcept { return rows_; }
  /// Returns the number of columns.
  [[nodiscard]] std::size_t count() const noexcept { return layout_ ? layout_->slots.size() : 0; }
  /// Returns true if there are no columns.
  [[nodiscard]] bool empty() const noexcept { return count() == 0; }
  /// Returns true if the columns have names.
  [[nodiscard]] bool has_names() const noexcept { return !names().empty(); }
  /// Returns the names of the columns, in ascending order; empty if the columns have no names.
  [[nodiscard]] std::span<const std::string> names() const noexcept;
  /// Precondition: index < count().
  [[nodiscard]] bool is_sparse(std::size_t index) const noexcept {
    return layout_->slots[index].sparse;
  }

  /// Returns a dense column. Precondition: index < count().
  /// Errors: invalid_argument if the column is sparse.
  [[nodiscard]] const tensor& operator[](std::size_t index) const {
    return components_[dense_slot(index)];
  }
  [[nodiscard]] tensor& operator[](std::size_t index) { return components_[dense_slot(index)]; }
  /// Returns a dense column by name. Errors: as above; not_found, with the existing names.
  [[nodiscard]] const tensor& operator[](std::string_view name) const {
    return (*this)[index_of(name)];
  }
  [[nodiscard]] tensor& operator[](std::string_view name) { return (*this)[index_of(name)]; }

  /// Returns a sparse column, which shares its values with this batch. Precondition: index <
  /// count().
  /// Errors: invalid_argument if the column is dense.
  [[nodiscard]] sparse_tensor sparse(std::size_t index) const;
  /// Returns a sparse column by name. Errors: as above; not_found, with the existing names.
  [[nodiscard]] sparse_tensor sparse(std::string_view name) const { return sparse(index_of(name)); }

  /// Returns all columns as tensors. A sparse column is three tensors, indices, values and
  /// dense_shape, with names NAME/indices and so on.
  [[nodiscard]] const tensor_tuple& components() const noexcept { return components_; }
  /// Moves out all columns, as in components(); the batch is empty afterwards.
  [[nodiscard]] tensor_tuple take() && noexcept {
    rows_ = 0;
    layout_ = nullptr;
    return std::move(components_);
  }

  /// Returns the size in bytes of the values of all columns.
  [[nodiscard]] std::size_t byte_size() const noexcept { return components_.byte_size(); }

  /// Returns true if both have equal columns in the same order, and equal names.
  friend bool operator==(const column_batch& a, const column_batch& b) noexcept {
    return a.rows_ == b.rows_ && a.components_ == b.components_ && same_slots(a, b);
  }

 private:
  friend class batch_spec;
  using shared_layout = std::shared_ptr<const detail::column_layout>;

  column_batch(std::size_t rows, tensor_tuple components, shared_layout layout) noexcept
      : rows_(rows), components_(std::move(components)), layout_(std::move(layout)) {}
  [[nodiscard]] std::size_t dense_slot(std::size_t index) const;
  [[nodiscard]] std::size_t index_of(std::string_view name) const;
  [[noreturn]] void throw_column_error(std::size_t index, const char* why) const;
  static bool same_slots(const column_batch& a, const column_batch& b) noexcept {
    return a.layout_ == b.layout_ ||
           (a.layout_ && b.layout_ && a.layout_->slots == b.layout_->slots);
  }

  std::size_t rows_ = 0;
  tensor_tuple components_;
  shared_layout layout_;
};

}  // namespace LEAT
