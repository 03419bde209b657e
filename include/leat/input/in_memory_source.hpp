#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "leat/async/task.hpp"
#include "leat/tensor/batch_spec.hpp"
#include "leat/tensor/tensor_tuple.hpp"

namespace LEAT {

/// A source of elements that are the rows of arrays in memory, in order, for one or more epochs.
/// Columns stay aligned.
///
///     const std::int64_t epochs = 10;
///     samples.add(leat::in_memory_source(spec, leat::tensor_tuple(images, labels), epochs));
///
/// The rows are created once, and elements in queues share their values. A copy of a source
/// continues independently from the same position.
///
/// Thread safety: thread-bound; any number of tasks of one scheduler may call it.
/// TensorFlow: preloaded data, tf.train.slice_input_producer without shuffling.
class in_memory_source {
 public:
  /// Creates a source. If `num_epochs` is std::nullopt, the epochs never end.
  ///
  /// Errors: invalid_argument if the columns do not match the spec, differ in the number of rows or
  ///         have no rows, or if `num_epochs` is 0; std::bad_alloc.
  in_memory_source(const batch_spec& spec, tensor_tuple columns,
                   std::optional<std::uint64_t> num_epochs = 1);

  /// Returns the next row, or an empty optional after the last row of the last epoch. Never waits.
  [[nodiscard]] task<std::optional<tensor_tuple>> operator()();

  /// Returns the number of rows in an epoch.
  [[nodiscard]] std::size_t rows() const noexcept { return rows_.size(); }

 private:
  std::vector<tensor_tuple> rows_;
  std::optional<std::uint64_t> epochs_left_;
  std::size_t next_ = 0;
};

}  // namespace LEAT
