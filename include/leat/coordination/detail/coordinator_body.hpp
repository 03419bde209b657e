#pragma once

#include <exception>
#include <type_traits>
#include <utility>

#include "leat/async/task.hpp"
#include "leat/base/internal/is_task.hpp"

namespace LEAT {

class coordinator;

namespace detail {

/// The task that with_coordinator(body) returns: one with the result of `body`.
template <class Body>
struct coordinator_body : task_of_call<Body&, coordinator&> {
  static_assert(coordinator_body::value,
                "with_coordinator() needs a body that returns a task: write "
                "[&](leat::coordinator& coord) -> leat::task<> { ...; co_return; }");
};
template <class Body>
using coordinator_task = typename coordinator_body<Body>::type;

/// The error of a with_coordinator() whose body has returned no result.
struct missing_result {
  /// Throws the error of the body, or `cancelled` if the body was stopped.
  [[noreturn, gnu::cold]] static void raise(coordinator& coord,
                                            const std::exception_ptr& body_error);
};

/// The result of the body of with_coordinator(), or the error that it threw.
template <class T>
class body_result {
 public:
  /// Returns a task that runs the body and stores its result. It throws the error of the body, too.
  template <class Body>
  [[nodiscard]] task<void> run(Body& body, coordinator& coord) {
    try {
      return store(body(coord));
    } catch (...) {  // the body is not a coroutine
      error_ = std::current_exception();
      throw;
    }
  }

  /// Returns the result. Errors: that of the body; cancelled if the body was stopped.
  T take(coordinator& coord) {
    if (!slot_.value) missing_result::raise(coord, error_);
    return slot_.take();
  }

 private:
  task<void> store(task<T> t) {
    try {
      if constexpr (std::is_reference_v<T>) {
        slot_.value = &co_await untraced<T>{std::move(t)};
      } else {
        slot_.value.emplace(co_await untraced<T>{std::move(t)});
      }
    } catch (...) {
      error_ = std::current_exception();
    }
    if (error_) std::rethrow_exception(error_);
  }

  result_slot<T> slot_;
  std::exception_ptr error_;
};

template <>
class body_result<void> {
 public:
  template <class Body>
  [[nodiscard]] static task<void> run(Body& body, coordinator& coord) {
    return body(coord);
  }
  static void take(coordinator&) noexcept {}
};

}  // namespace detail
}  // namespace LEAT
