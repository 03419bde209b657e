#pragma once

#include <algorithm>
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

namespace LEAT::detail {

/// The owner of tasks that one coroutine awaits together, such as those of when_all(). They run on
/// the scheduler of that coroutine. The first error stops them all.
///
/// Thread safety: thread-bound, except for a stop request.
class joint_scope : public task_scope {
 public:
  explicit joint_scope(std::string_view kind, bool keeps_results = true)
      : task_scope(keeps_results_t{keeps_results}, kind, std::string_view()),
        awaiting_task_(scheduler::current_task()) {}
  ~joint_scope() override = default;

  /// Returns the task that awaits the tasks of the scope, or null outside a task.
  [[nodiscard]] const task_context* awaiting_task() const noexcept { return awaiting_task_; }

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

  /// Makes the start of the only task run `next` as soon as the task has suspended or ended.
  /// Returns false, without effect, if the task has begun. Call it on the scheduler of the task.
  [[nodiscard]] bool run_after_start(work_item& next) noexcept;

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
  friend class leat::task_scope;

  void task_failed(std::exception_ptr error) noexcept override { fail(std::move(error)); }
  static void start_and_then(work_item& item) noexcept;
  // The item that run_after_start() has set.
  [[nodiscard]] static work_item& next_of(const work_item& start) noexcept;

  const task_context* const awaiting_task_;
  std::exception_ptr error_;
  std::exception_ptr cancelled_;
  work_item* after_start_ = nullptr;
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

/// Tells whether a result ends the tasks of a scope with `first_ends`.
template <class T>
struct ends_race {
  static bool with(const T& /*result*/) noexcept { return true; }
};
template <class T>
[[nodiscard]] bool slot_ends_race(const joint_slot<T>& slot) noexcept {
  if constexpr (std::is_reference_v<T>) {
    return true;
  } else {
    return ends_race<joint_result<T>>::with(*slot.value);
  }
}

/// The place of the co_await that awaits the current coroutine, for messages of the library about
/// its caller. Coroutines of the library in between, which have no place, do not count.
class awaited_at {
 public:
  void bind(promise_base& p, std::coroutine_handle<>) noexcept {
    const promise_base* at = &p;
    while (at->parent() && at->where().line() == 0) at = at->parent();
    where_ = at->parent() ? at->where() : p.context().spawned_at();
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

  /// Calls f with each slot, until it returns true.
  template <class F>
  bool any(F&& f) {
    return std::apply([&](auto&... slot) { return (f(slot) || ...); }, slots);
  }
  /// Returns a tuple of what f returns for each slot.
  template <class F>
  auto transform(F&& f) {
    return std::apply([&](auto&... slot) { return std::tuple<decltype(f(slot))...>(f(slot)...); },
                      slots);
  }

  std::tuple<joint_slot<T>...> slots;

 private:
  void task_returned(std::uint64_t index, promise_base& p) override {
    if (take(index, p, std::index_sequence_for<T...>()) && first_ends_) request_scope_stop();
  }
  // Returns true if the result ends the race.
  template <std::size_t... I>
  bool take(std::uint64_t index, promise_base& p, std::index_sequence<I...> /*unused*/) {
    return ((index == I && take_into(std::get<I>(slots), p)) || ...);
  }
  template <class Slot>
  static bool take_into(Slot& slot, promise_base& p) {
    slot.take_from(p);
    return slot_ends_race(slot);
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

  /// Calls f with each slot, until it returns true.
  template <class F>
  bool any(F&& f) {
    return std::any_of(slots.begin(), slots.end(), f);
  }
  /// Returns a vector of what f returns for each slot.
  template <class F>
  auto transform(F&& f) {
    std::vector<decltype(f(slots.front()))> results;
    results.reserve(slots.size());
    for (joint_slot<T>& slot : slots) results.push_back(f(slot));
    return results;
  }

  std::vector<joint_slot<T>> slots;

 private:
  void task_returned(std::uint64_t index, promise_base& p) override {
    slots[index].take_from(p);
    if (first_ends_ && slot_ends_race(slots[index])) request_scope_stop();
  }

  const bool first_ends_;
};

}  // namespace LEAT::detail
