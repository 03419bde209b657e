#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "leat/async/task.hpp"
#include "leat/tensor/batch_spec.hpp"
#include "leat/tensor/tensor_tuple.hpp"

namespace leat {

/// Arrays in memory as a source of elements: their rows, one after the other, once or again and
/// again. Columns stay aligned.
///
///     const std::int64_t epochs = 10;
///     samples.add(leat::in_memory_source(spec, leat::tensor_tuple(images, labels), epochs));
///
/// The rows are made once; what enters a queue shares their values. A copy goes on where this one
/// stands, on its own.
///
/// Thread safety: thread-bound; any number of tasks of one scheduler may call it.
/// TensorFlow: preloaded data, tf.train.slice_input_producer without shuffling.
class in_memory_source {
 public:
  /// `num_epochs`: none for no end.
  /// Errors: invalid_argument for columns that do not match the spec, differ in the number of rows
  ///         or have none, or for 0 epochs; std::bad_alloc.
  in_memory_source(const batch_spec& spec, tensor_tuple columns,
                   std::optional<std::uint64_t> num_epochs = 1);

  /// The next row; empty after the last one of the last epoch. It never waits.
  [[nodiscard]] task<std::optional<tensor_tuple>> operator()();

  [[nodiscard]] std::size_t rows() const noexcept { return rows_.size(); }

 private:
  std::vector<tensor_tuple> rows_;
  std::optional<std::uint64_t> epochs_left_;
  std::size_t next_ = 0;
};

}  // namespace leat
