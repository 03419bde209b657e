#pragma once

#include <cstddef>

#include "leat/tensor/tensor_tuple.hpp"

namespace leat {

/// The weigher of queues of tensors: an element weighs the bytes that its values take.
///
/// Values that several elements share count in each of them.
struct element_byte_size {
  std::size_t operator()(const tensor_tuple& element) const noexcept { return element.byte_size(); }
};

}  // namespace leat
