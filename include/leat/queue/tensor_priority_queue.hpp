#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "leat/base/error.hpp"
#include "leat/queue/element_byte_size.hpp"
#include "leat/queue/priority_queue.hpp"
#include "leat/queue/tensor_queue.hpp"
#include "leat/tensor/element_spec.hpp"

namespace LEAT {

/// Orders elements by their first component, the priority, from the smallest up.
struct priority_less {
  bool operator()(const tensor_tuple& a, const tensor_tuple& b) const noexcept {
    return a[0].value<std::int64_t>() < b[0].value<std::int64_t>();
  }
};

/// A bounded queue of tensor tuples with shapes, which delivers the element with the smallest
/// priority first. Equal priorities are delivered in the order in which they were added. The
/// priority is the first component, an int64 scalar, and is delivered with its element.
///
/// For items of a C++ type use priority_queue, where the compiler checks the types. The weight of
/// an element, from element_byte_size, is the size of its values in bytes, the priority included.
/// See tensor_queue for the operations, and priority_queue for batches, including those with
/// weights and a budget.
///
/// TensorFlow: PriorityQueue.
class tensor_priority_queue final
    : public tensor_queue<priority_queue<tensor_tuple, priority_less, element_byte_size>> {
 public:
  static constexpr const char* kind = "tensor_priority_queue";  ///< for messages

  /// Creates a queue. `capacity` is a number of elements or `unbounded`; `name` appears in messages
  /// and dumps. `spec` includes the priority, whose shape may be unknown.
  ///
  /// Errors: invalid_argument for a capacity of 0, or for a first component that is not an int64
  ///         scalar; std::bad_alloc.
  tensor_priority_queue(element_spec spec, std::size_t capacity, std::string name = {})
      : tensor_priority_queue(std::move(spec), {.capacity = capacity, .name = std::move(name)}) {}
  /// The order of arguments of 0.2.
  [[deprecated("pass the spec first")]] tensor_priority_queue(std::size_t capacity,
                                                              element_spec spec,
                                                              std::string name = {})
      : tensor_priority_queue(std::move(spec), capacity, std::move(name)) {}

  /// Creates a queue from options.
  ///
  /// Errors: like the other constructor; also invalid_argument for a max_weight of 0.
  tensor_priority_queue(element_spec spec, const queue_options& options)
      : tensor_queue(with_priority(std::move(spec), options.name), options) {}

 private:
  static element_spec with_priority(element_spec spec, const std::string& name) {
    if (spec[0].type != dtype::int64 || !spec[0].shape.is_compatible_with(shape())) {
      throw failure(errc::invalid_argument,
                    "queue '" + name + "': the first component is the priority and must be an " +
                        "int64 scalar, not " + std::string(leat::to_string(spec[0].type)) + ' ' +
                        to_string(spec[0].shape));
    }
    std::vector<component_spec> components(spec.begin(), spec.end());
    components[0].shape = shape();
    return element_spec(std::move(components));
  }
};

}  // namespace LEAT
