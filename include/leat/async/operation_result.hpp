#pragma once

#include "leat/base/asio.hpp"

namespace LEAT {

/// The outcome of an operation that does not throw: see as_tuple().
///
///     auto popped = co_await leat::as_tuple(queue.pop());
///     if (popped.error || !popped.value) co_return;
///
/// It can also be decomposed: `auto& [ec, item] = popped;`. Decompose a named variable, not the
/// result of `co_await`: g++ 15 and 16 do not destroy the parts of `auto [ec, item] = co_await ...`
/// if the coroutine is destroyed while it waits (GCC bug 124584).
template <class R>
struct operation_result {
  asio_error_code error = {};  ///< no error: false
  R value{};                   ///< R() after most errors
};

/// The outcome of an operation without a result.
template <>
struct operation_result<void> {
  asio_error_code error = {};  ///< no error: false
};

}  // namespace LEAT
