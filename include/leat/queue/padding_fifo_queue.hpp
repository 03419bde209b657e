#pragma once

#include <cstddef>
#include <string>
#include <utility>

#include "leat/queue/element_byte_size.hpp"
#include "leat/queue/fifo_queue.hpp"
#include "leat/queue/tensor_queue.hpp"
#include "leat/tensor/element_spec.hpp"

namespace leat {

/// A bounded queue of elements with shapes that leave in the order in which they entered; a batch
/// is padded where its elements differ.
///
///     using leat::dtype;
///     leat::element_spec spec({{.type = dtype::string, .shape = {leat::unknown_dimension}},
///                              {.type = dtype::int64, .shape = {}}});
///     leat::padding_fifo_queue sentences(64, spec, "sentences");
///     co_await sentences.push(leat::tensor_tuple(words, label));
///     while (auto batch = co_await sentences.pop_up_to(32)) {
///       learn((*batch)[0], (*batch)[1]);  // [32, longest], [32]
///     }
///
/// With all dimensions known nothing is padded: then it is TensorFlow's FIFOQueue with shapes.
/// Elements weigh what element_byte_size says: the bytes of their values, without the padding.
/// See tensor_queue for the operations and their contract.
///
/// TensorFlow: PaddingFIFOQueue; any rank can be padded, the original stops at 4.
class padding_fifo_queue final : public tensor_queue<fifo_queue<tensor_tuple, element_byte_size>> {
 public:
  static constexpr const char* kind = "padding_fifo_queue";  ///< for messages

  /// `capacity` in elements, or `unbounded`; `name` for messages and dumps.
  /// Errors: invalid_argument for a capacity of 0, or a component of unknown rank; std::bad_alloc.
  padding_fifo_queue(std::size_t capacity, element_spec spec, std::string name = {})
      : padding_fifo_queue(std::move(spec), {.capacity = capacity, .name = std::move(name)}) {}

  /// Errors: as before; invalid_argument for a max_weight of 0, too.
  padding_fifo_queue(element_spec spec, const queue_options& options)
      : tensor_queue(std::move(spec), options) {
    this->spec().check_stackable("queue '" + this->name() + "'");
  }
};

}  // namespace leat
