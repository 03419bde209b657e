#pragma once

#include <iosfwd>
#include <optional>
#include <source_location>
#include <string>
#include <system_error>
#include <tuple>
#include <type_traits>
#include <utility>

#include "leat/async/condition_wait.hpp"
#include "leat/async/detail/joint_scope.hpp"
#include "leat/async/detail/operation_results.hpp"
#include "leat/async/detail/select_state.hpp"
#include "leat/async/scheduler/timer_heap.hpp"
#include "leat/async/task.hpp"
#include "leat/base/clock.hpp"
#include "leat/base/error.hpp"

namespace LEAT::detail {

/// A task as an operation of a select or under a limit, without the type of its result.
///
/// It runs as the only task of a scope. When another operation wins, the scope is stopped, and the
/// select waits for the task. A task that does not end soon is printed to standard error.
///
/// Thread safety: thread-bound to the scheduler of the select.
class task_branch {
 public:
  task_branch(const task_branch&) = delete;
  task_branch& operator=(const task_branch&) = delete;

  [[nodiscard]] bool try_complete() const noexcept { return false; }
  void withdraw() const noexcept {}
  [[nodiscard]] bool is_over() const noexcept { return !scope_ || ended_; }
  [[nodiscard]] bool settle_after_begin() noexcept { return scope_->run_after_start(state_); }
  void request_cancel() noexcept;
  /// Keeps a description of the wait that a limit ends, for the message of the error.
  void keep_message() noexcept { needs_message_ = true; }
  void interrupt(const limit_end& by) noexcept { interrupted_by_ = &by; }
  void describe(std::ostream& out) const;

 protected:
  task_branch(select_state& s, int index) noexcept : state_(s), index_(index) {}
  ~task_branch();

  /// Called when the only task of `scope` has been started. `scope` must outlive this object.
  void started(joint_scope& scope);

  /// Throws the error of the task; or, if it has no result, that of the limit or stop that ended
  /// it.
  void rethrow_error() const;
  /// The code of the exception that rethrow_error() throws. Creates no message.
  [[nodiscard]] std::error_code error_code() const noexcept;

  select_state& state_;
  joint_scope* scope_ = nullptr;  // null: not started

 private:
  struct end_wait final : condition_wait {
    end_wait(joint_scope& scope, task_branch& b, const std::source_location& where) noexcept;
    task_branch& branch;
  };
  struct alarm : timer {
    explicit alarm(task_branch& b) noexcept;
    task_branch& branch;
  };

  void ended() noexcept;
  void print_late() const noexcept;
  [[nodiscard]] bool is_late() const noexcept {
    return interrupted_by_ && interrupted_by_->code == errc::deadline_exceeded;
  }

  const int index_;
  bool ended_ = false;
  bool cancel_requested_ = false;
  time_point cancelled_at_{};  // if cancel_requested_
  bool needs_message_ = false;
  const limit_end* interrupted_by_ = nullptr;  // while the result is read
  std::string waited_for_;  // when it was asked to stop; empty if no message needs it
  std::optional<end_wait> end_;
  alarm alarm_{*this};
};

/// True for a task: it cannot be undone once it has started.
template <class T>
inline constexpr bool irrevocable<task<T>> = true;

template <class T>
class select_branch<task<T>> : public task_branch {
  static_assert(!std::is_reference_v<T>,
                "a limit or a select() needs a task without a reference result: return a pointer");

 public:
  select_branch(task<T>&& t, select_state& s, int index) noexcept
      : task_branch(s, index), task_(std::move(t)) {}
  select_branch(select_branch&& unstarted, select_state& s, int index) noexcept
      : select_branch(std::move(unstarted.task_), s, index) {}

  [[nodiscard]] bool begin() {
    LEAT_ASSERT(
        task_.valid(),
        "limit or select() of an empty task: it was moved from or has already been awaited");
    scope_with_result_.emplace("select", false);
    try {
      scope_with_result_->start(std::move(task_), state_.where());
    } catch (...) {
      scope_with_result_.reset();
      throw;
    }
    started(*scope_with_result_);
    return false;
  }
  [[nodiscard]] bool had_effect() const noexcept {
    return scope_ && (slot().value || scope_->has_error());
  }
  joint_result<T> result() {
    if (!scope_ || !slot().value) rethrow_error();
    return slot().get();
  }
  operation_result<T> tuple() noexcept {
    if (!scope_ || !slot().value) return failed_with<operation_result<T>>(error_code());
    if constexpr (std::is_void_v<T>) {
      return {};
    } else {
      return result_of_call<T>(std::error_code(), [this] { return slot().get(); });
    }
  }

 private:
  [[nodiscard]] joint_slot<T>& slot() noexcept { return std::get<0>(scope_with_result_->slots); }
  [[nodiscard]] const joint_slot<T>& slot() const noexcept {
    return std::get<0>(scope_with_result_->slots);
  }

  task<T> task_;
  std::optional<tuple_scope<T>> scope_with_result_;
};

}  // namespace LEAT::detail
