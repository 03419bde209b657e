#pragma once

#include <coroutine>
#include <exception>

namespace leat_test {

/// A coroutine type that is independent of leat. It starts immediately and owns nothing. Destroying
/// its handle ends it.
struct foreign_coroutine {
  struct promise_type {
    foreign_coroutine get_return_object() {
      return {std::coroutine_handle<promise_type>::from_promise(*this)};
    }
    std::suspend_never initial_suspend() const noexcept { return {}; }
    std::suspend_always final_suspend() const noexcept { return {}; }
    void return_void() const noexcept {}
    void unhandled_exception() const noexcept { std::terminate(); }
  };
  std::coroutine_handle<promise_type> handle;
};

}  // namespace leat_test
