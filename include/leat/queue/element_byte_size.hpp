#pragma once

#include <cstddef>

#include "leat/tensor/tensor_tuple.hpp"

namespace LEAT {

/// The weight function of queues of tensors: the weight of an element is the size of its values in
/// bytes. Values that several elements share count in each of them.
struct element_byte_size {
  std::size_t operator()(const tensor_tuple& element) const noexcept { return element.byte_size(); }
};

}  // namespace LEAT
