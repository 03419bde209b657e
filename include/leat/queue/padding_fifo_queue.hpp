#pragma once

#include <cstddef>
#include <string>
#include <utility>

#include "leat/queue/element_byte_size.hpp"
#include "leat/queue/fifo_queue.hpp"
#include "leat/queue/tensor_queue.hpp"
#include "leat/tensor/element_spec.hpp"

namespace LEAT {

/// A bounded queue of tensor tuples with shapes, which are delivered in the order in which they
/// were added. A batch is padded where the shapes of its elements differ.
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
/// If the spec defines all dimensions, nothing is padded, and the queue corresponds to TensorFlow's
/// FIFOQueue with shapes. The weight of an element, from element_byte_size, is the size of its
/// values in bytes, without the padding. See tensor_queue for the operations and their contract.
///
/// TensorFlow: PaddingFIFOQueue. Differs from TensorFlow: tensors of any rank can be padded.
/// TensorFlow pads only ranks up to 4.
class padding_fifo_queue final : public tensor_queue<fifo_queue<tensor_tuple, element_byte_size>> {
 public:
  static constexpr const char* kind = "padding_fifo_queue";  ///< for messages

  /// Creates a queue. `capacity` is a number of elements or `unbounded`; `name` appears in messages
  /// and dumps.
  ///
  /// Errors: invalid_argument for a capacity of 0 or a component of unknown rank; std::bad_alloc.
  padding_fifo_queue(element_spec spec, std::size_t capacity, std::string name = {})
      : padding_fifo_queue(std::move(spec), {.capacity = capacity, .name = std::move(name)}) {}
  /// The order of arguments of 0.2.
  [[deprecated("pass the spec first")]] padding_fifo_queue(std::size_t capacity, element_spec spec,
                                                           std::string name = {})
      : padding_fifo_queue(std::move(spec), capacity, std::move(name)) {}

  /// Creates a queue from options.
  ///
  /// Errors: like the other constructor; also invalid_argument for a max_weight of 0.
  padding_fifo_queue(element_spec spec, const queue_options& options)
      : tensor_queue(std::move(spec), options) {
    this->spec().check_stackable("queue '" + this->name() + "'");
  }
};

}  // namespace LEAT
