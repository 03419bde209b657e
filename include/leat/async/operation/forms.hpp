#pragma once

// The forms of an operation: await_operation() and initiate(). Include this header to write an
// operation of your own.

#include <concepts>
#include <source_location>
#include <utility>

#include "leat/async/operation/detail/blocked_thread.hpp"
#include "leat/async/operation/detail/operation_awaiter.hpp"
#include "leat/async/operation/detail/select_operation.hpp"
#include "leat/async/operation/initiate.hpp"
#include "leat/async/operation/operation.hpp"

namespace LEAT {

/// An operation whose `co_await` returns an R: `awaits<bool> auto push(...)`.
template <class Operation, class R>
concept awaits = requires(Operation& o) {
  { o.await_resume() } -> std::same_as<R>;
};

/// Returns an operation for `co_await`, select(), limits and as_tuple().
template <operation Operation, class... Arguments>
[[nodiscard]] auto await_operation(const std::source_location& where, Arguments&&... arguments) {
  return detail::operation_awaiter<Operation>(where, std::forward<Arguments>(arguments)...);
}

}  // namespace LEAT
