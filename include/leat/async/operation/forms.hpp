#pragma once

// The forms of an operation: await_operation(), initiate() and block_on_operation(). Include this
// header to write an operation of your own.

#include "leat/async/operation/detail/blocked_thread.hpp"
#include "leat/async/operation/detail/operation_awaiter.hpp"
#include "leat/async/operation/detail/select_operation.hpp"
#include "leat/async/operation/initiate.hpp"
#include "leat/async/operation/operation.hpp"

namespace leat {

/// Returns an operation for `co_await`, select(), limits and as_tuple().
template <operation Operation, class... Arguments>
[[nodiscard]] auto await_operation(const std::source_location& where, Arguments&&... arguments) {
  return detail::operation_awaiter<Operation>(where, std::forward<Arguments>(arguments)...);
}

}  // namespace leat
