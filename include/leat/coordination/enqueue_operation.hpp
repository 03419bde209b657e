#pragma once

#include <functional>
#include <string>
#include <type_traits>
#include <utility>

#include "leat/async/task.hpp"
#include "leat/base/braced.hpp"

namespace leat {

/// One step of a producer. True: run me again. False: my input has ended.
using enqueue_operation = std::function<task<bool>()>;

/// Something to be run once, such as the closing of a queue; nothing when `run` is empty.
struct named_operation {
  braced<std::string> name = {};                 ///< for messages and definitions
  braced<std::function<task<void>()>> run = {};  ///< lives as long as what it was given to
};

/// A callable that gives task<bool>, or task<void>, which ends its input by an error, as a step.
template <class Operation>
[[nodiscard]] enqueue_operation as_enqueue_operation(Operation operation) {
  if constexpr (std::is_same_v<std::invoke_result_t<Operation&>, task<bool>>) {
    return enqueue_operation(std::move(operation));
  } else {
    return [op = std::move(operation)]() mutable {
      return [](task<void> step) -> task<bool> {
        co_await std::move(step);
        co_return true;
      }(op());
    };
  }
}

}  // namespace leat
