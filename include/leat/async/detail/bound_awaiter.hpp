#pragma once

#include <coroutine>
#include <source_location>

#include "leat/base/flavour.hpp"

namespace LEAT::detail {

class promise_base;

/// An awaitable that must know its task before it is tried.
template <class A>
concept task_aware = requires(A& a, promise_base& p, std::coroutine_handle<> h) { a.bind(p, h); };

/// An awaitable that must also know the location of the co_await, because no call of leat has
/// created it.
template <class A>
concept location_aware = requires(A& a, promise_base& p, std::coroutine_handle<> h,
                                  const std::source_location& where) { a.bind(p, h, where); };

/// Stands for an operation that lives elsewhere in the same expression. g++ 12 copies an awaiter
/// that await_transform() returns by reference.
template <class A>
struct bound_awaiter {
  A& operation;
  [[gnu::always_inline]] bool await_ready() {
    if constexpr (requires { operation.await_ready_in_task(); }) {
      return operation.await_ready_in_task();
    } else {
      return operation.await_ready();
    }
  }
  auto await_suspend(std::coroutine_handle<> h) {
    if constexpr (requires { operation.await_suspend_in_task(h); }) {
      return operation.await_suspend_in_task(h);
    } else {
      return operation.await_suspend(h);
    }
  }
  decltype(auto) await_resume() { return operation.await_resume(); }
  [[nodiscard]] decltype(auto) await_resume()
    requires(A::result_matters)
  {
    return operation.await_resume();
  }
};

}  // namespace LEAT::detail
