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

namespace leat {

/// Elements by their first component, the priority: the smallest first.
struct priority_less {
  bool operator()(const tensor_tuple& a, const tensor_tuple& b) const noexcept {
    return a[0].value<std::int64_t>() < b[0].value<std::int64_t>();
  }
};

/// A bounded queue of elements with shapes that gives the one of the smallest priority; of equal
/// ones the one that entered first. The priority is the first component, an int64 scalar, and
/// leaves with its element.
///
/// Whose items have a C++ type takes a priority_queue: there all this is checked by the compiler.
/// Elements weigh what element_byte_size says: the bytes of their values, the priority among them.
/// See tensor_queue for the operations, and priority_queue for how batches are taken, by weight and
/// with a budget too.
///
/// TensorFlow: PriorityQueue.
class tensor_priority_queue final
    : public tensor_queue<priority_queue<tensor_tuple, priority_less, element_byte_size>> {
 public:
  static constexpr const char* kind = "tensor_priority_queue";  ///< for messages

  /// `capacity` in elements, or `unbounded`. `spec` with the priority, whose shape may be left out;
  /// `name` for messages and dumps.
  /// Errors: invalid_argument for a capacity of 0, or a first component that is no int64 scalar.
  tensor_priority_queue(std::size_t capacity, element_spec spec, std::string name = {})
      : tensor_priority_queue(std::move(spec), {.capacity = capacity, .name = std::move(name)}) {}

  /// Errors: as before; invalid_argument for a max_weight of 0, too.
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

}  // namespace leat
