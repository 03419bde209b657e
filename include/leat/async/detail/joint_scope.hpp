#pragma once

#include <coroutine>
#include <cstdint>
#include <exception>
#include <optional>
#include <source_location>
#include <string_view>
#include <system_error>
#include <tuple>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "leat/async/condition_wait.hpp"
#include "leat/async/detail/promise.hpp"
#include "leat/async/task.hpp"
#include "leat/async/task_scope.hpp"
#include "leat/base/error.hpp"

namespace leat::detail {

/// The owner of tasks that one coroutine awaits together, such as those of when_all(). They run on
/// the scheduler of that coroutine. The first error stops them all.
///
/// Thread safety: thread-bound, except for a stop request.
class joint_scope : public task_scope {
 public:
  explicit joint_scope(std::string_view kind, bool keeps_results = true)
      : task_scope(keeps_results_t{keeps_results}, kind, std::string_view()) {}
  ~joint_scope() override = default;

  /// Starts a task on the current scheduler.
  template <class T>
  void start(task<T>&& t, const std::source_location& where) {
    start_here(std::move(t), where);
  }
  /// Starts a task on `s`. It must be the only task of the scope, which is not thread-safe.
  template <class T>
  void start_on(scheduler& s, task<T>&& t, const std::source_location& where) {
    start_task_on(s, std::move(t), where);
  }

  using task_scope::idle;
  using task_scope::when_idle;

  /// Asks all tasks to stop.
  void request_stop() noexcept { request_scope_stop(); }

  /// Waits for all tasks, even after a stop request.
  [[nodiscard]] condition_wait join(const std::source_location& where) {
    return {*this, idle, no_deadline, where};
  }

  /// Stops all tasks because of `error`, which rethrow_error() throws. A `cancelled` that the stop
  /// of the scope caused is kept apart.
  void fail(std::exception_ptr error) noexcept;

  /// Returns true if a task has failed with an error other than that `cancelled`.
  [[nodiscard]] bool has_error() const noexcept { return error_ != nullptr; }
  /// Returns the code of that error.
  [[nodiscard]] std::error_code error_code() const noexcept { return to_error_code(error_); }

  /// Throws the first error, if there is one.
  void rethrow_error() const {
    if (error_) std::rethrow_exception(error_);
  }
  /// Throws the first error; or, if a task has no result because it was stopped, its `cancelled`.
  void rethrow_any() const {
    rethrow_error();
    if (cancelled_) std::rethrow_exception(cancelled_);
  }

 private:
  void task_failed(std::exception_ptr error) noexcept override { fail(std::move(error)); }

  std::exception_ptr error_;
  std::exception_ptr cancelled_;
};

/// The result of one of several tasks; std::monostate for void.
template <class T>
using joint_result = std::conditional_t<std::is_void_v<T>, std::monostate, T>;

/// Moves the result of a task out of its promise.
template <class T>
joint_result<T> take_result(promise_base& from) {
  if constexpr (std::is_void_v<T>) {
    return {};
  } else {
    return static_cast<promise<T>&>(from).result();
  }
}

/// Storage for the result of one of several tasks.
template <class T>
struct joint_slot {
  std::optional<joint_result<T>> value;
  void take_from(promise_base& p) { value.emplace(take_result<T>(p)); }
  joint_result<T> get() { return std::move(*value); }
};
template <class T>
struct joint_slot<T&> {
  T* value = nullptr;
  void take_from(promise_base& p) { value = &take_result<T&>(p); }
  T& get() const noexcept { return *value; }
};

/// The place of the co_await that awaits the current coroutine, for messages of the library about
/// its caller.
class awaited_at {
 public:
  void bind(promise_base& p, std::coroutine_handle<>) noexcept {
    where_ = p.parent() ? p.where() : p.context().spawned_at();
  }
  bool await_ready() const noexcept { return true; }
  void await_suspend(std::coroutine_handle<>) const noexcept {}
  [[nodiscard]] std::source_location await_resume() const noexcept { return where_; }

 private:
  std::source_location where_;
};

/// A joint_scope with a fixed number of tasks, of several types.
template <class... T>
class tuple_scope final : public joint_scope {
 public:
  /// `first_ends`: the first result stops the other tasks. `keeps_results`: if it is false, `slots`
  /// remain empty.
  tuple_scope(std::string_view kind, bool first_ends, bool keeps_results = true)
      : joint_scope(kind, keeps_results), first_ends_(first_ends) {}

  void start_all(const std::source_location& where, task<T>&... tasks) noexcept {
    try {
      (start(std::move(tasks), where), ...);
    } catch (...) {
      fail(std::current_exception());
    }
  }

  std::tuple<joint_slot<T>...> slots;

 private:
  void task_returned(std::uint64_t index, promise_base& p) override {
    take(index, p, std::index_sequence_for<T...>());
    if (first_ends_) request_scope_stop();
  }
  template <std::size_t... I>
  void take(std::uint64_t index, promise_base& p, std::index_sequence<I...> /*unused*/) {
    static_cast<void>(((index == I && (std::get<I>(slots).take_from(p), true)) || ...));
  }

  const bool first_ends_;
};

/// A joint_scope with tasks of one type.
template <class T>
class vector_scope final : public joint_scope {
 public:
  vector_scope(std::string_view kind, std::size_t count, bool first_ends, bool keeps_results = true)
      : joint_scope(kind, keeps_results),
        slots(keeps_results ? count : 0),
        first_ends_(first_ends) {}

  void start_all(std::vector<task<T>>& tasks, const std::source_location& where) noexcept {
    try {
      for (task<T>& t : tasks) start(std::move(t), where);
    } catch (...) {
      fail(std::current_exception());
    }
  }

  std::vector<joint_slot<T>> slots;

 private:
  void task_returned(std::uint64_t index, promise_base& p) override {
    slots[index].take_from(p);
    if (first_ends_) request_scope_stop();
  }

  const bool first_ends_;
};

}  // namespace leat::detail
