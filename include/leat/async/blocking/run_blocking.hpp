#pragma once

#include <concepts>
#include <exception>
#include <functional>
#include <optional>
#include <source_location>
#include <stop_token>
#include <system_error>
#include <type_traits>
#include <utility>

#include "leat/async/blocking/blocking_pool.hpp"
#include "leat/async/blocking/detail/blocking_call.hpp"
#include "leat/async/detail/asio_misuse.hpp"
#include "leat/async/detail/operation_results.hpp"
#include "leat/async/detail/promise.hpp"
#include "leat/async/operation/irrevocable.hpp"
#include "leat/base/error.hpp"
#include "leat/base/internal/assert.hpp"
#include "leat/base/internal/is_task.hpp"

namespace LEAT {
namespace detail {

template <class F>
inline constexpr bool accepts_stop_token = std::is_invocable_v<F, std::stop_token>;

/// The result of a function of run_blocking(), which may accept a stop token.
template <class F>
struct blocking_result : std::invoke_result<F> {};
template <class F>
  requires accepts_stop_token<F>
struct blocking_result<F> : std::invoke_result<F, std::stop_token> {};

/// The storage for a result.
template <class T>
struct blocking_slot {
  std::optional<T> value;
  template <class Call>
  void set(Call&& call) {
    value.emplace(call());
  }
  T get() { return std::move(*value); }
};
template <class T>
struct blocking_slot<T&> {
  T* value = nullptr;
  template <class Call>
  void set(Call&& call) {
    value = &call();
  }
  T& get() const noexcept { return *value; }
};
template <>
struct blocking_slot<void> {
  template <class Call>
  void set(Call&& call) {
    call();
  }
  void get() const noexcept {}
};

/// The awaitable that run_blocking() returns. Movable until it is awaited.
template <class F>
class [[nodiscard]] blocking_operation final : public blocking_call,
                                               public irrevocable_forms<blocking_operation<F>> {
 public:
  using value_type = std::remove_cv_t<typename blocking_result<F>::type>;
  static_assert(!must_be_awaited<std::remove_cvref_t<value_type>>,
                "run_blocking() calls a function that blocks a thread, but this one returns a task "
                "or an operation: await it, or pass a task to run_on()");
  static_assert(alignof(blocking_slot<value_type>) <= __STDCPP_DEFAULT_NEW_ALIGNMENT__ &&
                    alignof(F) <= __STDCPP_DEFAULT_NEW_ALIGNMENT__,
                "the function of run_blocking() or its result has a larger alignment than the "
                "frame of a coroutine: keep it in a std::unique_ptr or a std::vector");

  blocking_operation(blocking_pool* pool, F&& f, const std::source_location& where)
      : blocking_call(pool, where, &invoke), function_(std::move(f)), used_pool_(pool) {}
  blocking_operation(blocking_operation&& unstarted)
      : blocking_operation(unstarted.used_pool_, std::move(unstarted.function_),
                           unstarted.where()) {
    LEAT_ASSERT(unstarted.current_state() == state::fresh,
                "run_blocking() moved after it was awaited: create a new one for each co_await");
  }

  ~blocking_operation() { end_in_destructor(); }

  template <awaitable_of_operation Asio>
  operator Asio() const noexcept;

  value_type await_resume() {
    rethrow_error();
    return result_.get();
  }
  operation_result<value_type> await_tuple() noexcept {
    return result_of_call<value_type>(error_code(),
                                      [this]() -> value_type { return result_.get(); });
  }

  /// Passes the function to a thread.
  bool start() {
    if constexpr (accepts_stop_token<F>) stop_ = std::stop_source();
    submit();
    return false;
  }

 private:
  friend irrevocable_forms<blocking_operation>;

  static void invoke(blocking_call& call) noexcept {
    auto& self = static_cast<blocking_operation&>(call);
    try {
      self.result_.set([&self]() -> decltype(auto) {
        if constexpr (accepts_stop_token<F>) {
          return std::invoke(std::move(self.function_), self.stop_.get_token());
        } else {
          return std::invoke(std::move(self.function_));
        }
      });
    } catch (...) {
      self.exception_ = std::current_exception();
    }
  }

  [[no_unique_address]] F function_;
  [[no_unique_address]] blocking_slot<value_type> result_;
  blocking_pool* const used_pool_;
};

template <class F>
auto run_in(blocking_pool* pool, F&& f, const std::source_location& where) {
  using function = std::decay_t<F>;
  static_assert(std::is_invocable_v<function> || accepts_stop_token<function>,
                "run_blocking() needs a function without parameters, or with a std::stop_token");
  return blocking_operation<function>(pool, function(std::forward<F>(f)), where);
}

}  // namespace detail

/// Calls a function that blocks, such as one of a database library, on a thread of a pool, and
/// returns its result to the calling task. The task waits meanwhile, and the other tasks of its
/// scheduler run.
///
///     const auto load = [&] { return connection.query("select * from users"); };
///     const rows found = co_await leat::run_blocking(load);
///
/// The function is called when the result is awaited, as soon as a thread is available. It may use
/// references to local variables of the caller. It runs outside every scheduler, so it must not use
/// objects that tasks use meanwhile, unless these are thread-safe. It may call block_on(). A
/// function that waits for another one of the same pool can wait forever, if the pool is at its
/// limit.
///
/// If the function accepts a std::stop_token, it receives one. This token is stopped when the task
/// is asked to stop, when a limit or a select() ends the operation, and when the scheduler is
/// destroyed. leat cannot interrupt a function that ignores the token. The operation ends as
/// follows:
///
/// - If the operation has not started or waits for a thread, the function is not called, and the
///   operation throws `cancelled`, or `deadline_exceeded` after a limit.
/// - If the function runs, the operation waits until the function has returned. It returns the
///   value, or throws the exception of the function.
/// - If the function throws `cancelled` in that case, the operation throws the code of the limit.
///
/// If the scheduler is destroyed while the function runs, its destructor waits for the function. If
/// the process exits, leat does not wait: the function must not use static objects that are
/// destroyed at exit. A child of fork() has no thread that runs the function.
///
/// In a simulation, the function runs on the thread of the simulation, in a turn that the world
/// chooses. There it must not block until a task has done something.
///
/// Accepts a function object, which it owns and calls once. To return a reference, do not use it in
/// select() or under a limit.
///
/// Result:        the result of the function.
/// Errors:        the exception of the function; `cancelled`, `deadline_exceeded`;
///                resource_exhausted, if the pool has no thread and the system starts none;
///                std::bad_alloc.
/// Cancellation:  see above. In select() it is an irrevocable operation, like a task.
/// Thread safety: the task resumes on its own scheduler, never inside another call.
/// Cost:          two posts between threads; no allocation in steady state, except one for a stop
///                token.
template <class F>
  requires(!std::same_as<std::remove_cvref_t<F>, blocking_pool>)
[[nodiscard]] auto run_blocking(
    F&& f, const std::source_location& where = std::source_location::current()) {
  return detail::run_in(nullptr, std::forward<F>(f), where);
}

/// Overload for a pool of your own, with its own limit; see blocking_pool.
template <class F>
[[nodiscard]] auto run_blocking(
    blocking_pool& pool, F&& f,
    const std::source_location& where = std::source_location::current()) {
  return detail::run_in(&pool, std::forward<F>(f), where);
}

}  // namespace LEAT
