#pragma once

#include <functional>
#include <string>
#include <type_traits>
#include <utility>

#include "leat/async/task.hpp"
#include "leat/base/braced.hpp"
#include "leat/base/internal/copyable_callable.hpp"

namespace LEAT {

/// One step of a producer. Returns true if it is to run again, or false if its input has ended.
using enqueue_operation = std::function<task<bool>()>;

/// An operation that runs once, such as the closing of a queue. If `run` is empty, there is no
/// operation.
struct named_operation {
  option_string name = {};                 ///< for messages and definitions
  option_function<task<void>()> run = {};  ///< lives as long as the object that received it
};

/// Converts a callable to an enqueue_operation. The callable returns task<bool>, or task<void> if
/// it reports the end of its input with an error.
template <class Operation>
[[nodiscard]] enqueue_operation as_enqueue_operation(Operation operation) {
  if constexpr (std::is_same_v<std::invoke_result_t<Operation&>, task<bool>>) {
    return enqueue_operation(detail::copyable_callable(std::move(operation)));
  } else {
    return [op = detail::copyable_callable(std::move(operation))]() mutable {
      return [](task<void> step) -> task<bool> {
        co_await std::move(step);
        co_return true;
      }(op());
    };
  }
}

}  // namespace LEAT
