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

namespace leat {

namespace detail {

/// Which components of a batch its columns are. The same for all batches of one spec.
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

/// A batch of elements, column by column, each with as many rows as there are elements.
///
/// A dense column is a tensor [rows, ...], a sparse one a sparse_tensor: its indices begin with the
/// row, its dense_shape is [rows, the largest of the batch in each dimension]. The values of each
/// stand one behind the other in memory aligned to 64 bytes, and copies share them. Columns with
/// names stand in the order of their names.
///
///     while (auto batch = co_await samples.next()) {
///       learn((*batch)["image"], (*batch)["label"].values<std::int64_t>());
///       const leat::sparse_tensor words = batch->sparse("words");
///     }
///
/// Made by batch_spec::stack(). A value type; moved from it is empty. Thread safety:
/// thread-compatible.
class column_batch {
 public:
  /// No column.
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

  /// How many elements there are.
  [[nodiscard]] std::size_t rows() const noexcept { return rows_; }
  /// How many columns there are.
  [[nodiscard]] std::size_t count() const noexcept { return layout_ ? layout_->slots.size() : 0; }
  [[nodiscard]] bool empty() const noexcept { return count() == 0; }
  [[nodiscard]] bool has_names() const noexcept { return !names().empty(); }
  /// One for each column, in rising order; none when they have no names.
  [[nodiscard]] std::span<const std::string> names() const noexcept;
  /// Precondition: index < count().
  [[nodiscard]] bool is_sparse(std::size_t index) const noexcept {
    return layout_->slots[index].sparse;
  }

  /// A dense column. Precondition: index < count().
  /// Errors: invalid_argument for a sparse one.
  [[nodiscard]] const tensor& operator[](std::size_t index) const {
    return components_[dense_slot(index)];
  }
  [[nodiscard]] tensor& operator[](std::size_t index) { return components_[dense_slot(index)]; }
  /// By name. Errors: the same; not_found, with the names there are.
  [[nodiscard]] const tensor& operator[](std::string_view name) const {
    return (*this)[index_of(name)];
  }
  [[nodiscard]] tensor& operator[](std::string_view name) { return (*this)[index_of(name)]; }

  /// A sparse column; it shares its values with this. Precondition: index < count().
  /// Errors: invalid_argument for a dense one.
  [[nodiscard]] sparse_tensor sparse(std::size_t index) const;
  /// By name. Errors: the same; not_found, with the names there are.
  [[nodiscard]] sparse_tensor sparse(std::string_view name) const { return sparse(index_of(name)); }

  /// All columns as tensors, a sparse one as three: indices, values and dense_shape, with names
  /// NAME/indices and so on.
  [[nodiscard]] const tensor_tuple& components() const noexcept { return components_; }
  /// The same, to be taken over; this is empty then.
  [[nodiscard]] tensor_tuple take() && noexcept {
    rows_ = 0;
    layout_ = nullptr;
    return std::move(components_);
  }

  /// Bytes of memory that the values of all columns take.
  [[nodiscard]] std::size_t byte_size() const noexcept { return components_.byte_size(); }

  /// Equal columns in the same order, and equal names.
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

}  // namespace leat
