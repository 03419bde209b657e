#pragma once

#include <atomic>
#include <coroutine>
#include <source_location>
#include <string>
#include <string_view>
#include <system_error>

#include "leat/async/operation_result.hpp"
#include "leat/async/scheduler/timer_heap.hpp"
#include "leat/async/task_scope.hpp"
#include "leat/async/wait_operation.hpp"
#include "leat/base/clock.hpp"
#include "leat/base/error.hpp"

namespace LEAT {

namespace detail {
class select_state;
template <class Operation>
class select_branch;
}  // namespace detail

/// The awaitable of task_scope::wait_until(): waits for one of several conditions of a scope, with
/// a deadline.
///
/// Returns true if a condition holds, or false if the deadline passed first.
///
/// Errors:       cancelled, if the waiting task was asked to stop; never for a wait that includes
///               `idle`, because a join always waits for the tasks. failed_precondition, if a
///               task of the scope waits for `idle`. std::bad_alloc, for a deadline.
/// Cancellation: total.
class [[nodiscard]] condition_wait : public wait_operation {
 public:
  condition_wait(task_scope& scope, unsigned conditions, time_point deadline,
                 const std::source_location& where) noexcept
      : wait_operation((conditions & task_scope::idle) != 0 ? join_kind : stop_kind, where),
        scope_(scope),
        conditions_(conditions),
        has_deadline_(deadline != no_deadline) {
    if (has_deadline_) ::new (&alarm_) alarm(*this, deadline);
  }
  condition_wait(condition_wait&& unstarted) noexcept  // possible until it is awaited
      : condition_wait(unstarted.scope_, unstarted.conditions_,
                       unstarted.has_deadline_ ? unstarted.alarm_.when_ : no_deadline,
                       unstarted.where()) {}
  ~condition_wait() {
    if (stage_ != stage::over) [[unlikely]]
      abandon();
  }

  bool await_ready() { return bound() && start(); }
  bool await_suspend(std::coroutine_handle<> h) {
    if (bound()) return true;
    attach(h);
    return !start();
  }
  /// Like await_ready(), after bind(). A short path without a call, for a join that is alone.
  [[gnu::always_inline]] bool await_ready_in_task() LEAT_NO_ANALYSIS {
    task_context& task = *context_;
    task_scope& scope = scope_;
    if (has_deadline_ || conditions_ != task_scope::idle) return start();
    set_wait_begin();  // before the lock, so that the compiler drops the default values
    if (&task.scope() == &scope || !scope.mutex_.try_lock_as_owner()) [[unlikely]] {
      return start();
    }
    if (scope.waiters_ != nullptr) [[unlikely]] {
      scope.mutex_.unlock(true);
      return start();
    }
    const bool over = scope.users_ == 0;
    if (!over) {
      set_waiting(task);
      stage_ = stage::alone;
      following_ = nullptr;
      previous_ = nullptr;
      linked_.store(true, std::memory_order_relaxed);
      scope.waiters_ = this;
    }
    scope.mutex_.unlock(true);
    return over;
  }
  /// Like await_suspend(), after bind().
  void await_suspend_in_task(std::coroutine_handle<>) const noexcept {}
  bool await_resume() {
    if (!has_deadline_ && resume_without_deadline()) [[likely]]
      return true;
    const auto [ec, satisfied] = await_tuple();
    if (ec) throw failed(ec);
    return satisfied;
  }
  operation_result<bool> await_tuple() noexcept;

 protected:
  /// The scope whose tasks this waits for.
  [[nodiscard]] task_scope& scope() const noexcept { return scope_; }

  /// Returns true after a wait without a deadline that was not cancelled or refused.
  [[nodiscard]] bool resume_without_deadline() noexcept {
    if (result_ != outcome::satisfied) return false;
    stage_ = stage::over;
    return true;
  }

  /// Returns true if the waiting task was asked to stop, also if it waits in a select. Returns
  /// false outside a task.
  [[nodiscard, gnu::cold]] bool is_task_stopped() const noexcept;

 private:
  friend class task_scope;
  template <class Operation>
  friend class detail::select_branch;
  friend std::string detail::to_text(const timer& t);
  enum class outcome : unsigned char { satisfied, deadline, cancelled, self_join };
  // `alone`: the only wait of its scope, for `idle` and of a task; it has no deadline and is not
  // part of a select. `over`: the waiting coroutine has resumed.
  enum class stage : unsigned char { general, alone, over };

  [[nodiscard, gnu::cold]] failure failed(std::error_code ec) const;
  [[nodiscard, gnu::cold]] static failure self_join_error(const task_scope& scope,
                                                          std::string_view who);
  bool start();
  [[nodiscard]] bool link_or_end() noexcept LEAT_NO_ANALYSIS;
  [[gnu::cold]] void abandon() noexcept;
  void link_into_scope() noexcept LEAT_NO_ANALYSIS {
    previous_ = nullptr;
    following_ = scope_.waiters_;
    if (following_) {
      following_->previous_ = this;
      following_->stage_ = stage::general;
    }
    scope_.waiters_ = this;
    linked_.store(true, std::memory_order_relaxed);
  }
  void end(outcome result) noexcept;
  void cancel_alarm() noexcept;

  // As one of the operations of a select; see detail::select_branch.
  void attach_to_select(detail::select_state& s, int index) noexcept;
  [[nodiscard]] bool claim() const noexcept { return !select_state_ || claim_in_select(); }
  [[nodiscard]] bool claim_in_select() const noexcept;
  [[nodiscard]] bool is_satisfied_now() const noexcept;
  [[nodiscard]] bool begin_selected() noexcept;
  void withdraw() noexcept;

  static void cancel(wait_operation&) noexcept;
  void name_scope(std::ostream& out) const;
  static void describe_join(const wait_operation& w, std::ostream& out);
  static void describe_stop(const wait_operation& w, std::ostream& out);
  static void inspect(const wait_operation& w, wait_target& object);
  static const kind join_kind;  // of a wait that includes `idle`
  static const kind stop_kind;

  struct alarm : timer {
    alarm(condition_wait& w, time_point deadline) noexcept : timer(&expired, deadline), owner(w) {}
    static void expired(timer& t) noexcept;
    condition_wait& owner;
  };

  task_scope& scope_;
  const unsigned conditions_;
  const bool has_deadline_;
  outcome result_ = outcome::satisfied;
  std::atomic<bool> linked_{false};  // changes under the lock of the scope, like the next one
  stage stage_ = stage::general;
  detail::select_state* select_state_ = nullptr;  // that it is part of
  int index_;                                     // in that
  union {
    alarm alarm_;  // if has_deadline_
  };
  condition_wait* previous_;  // while it is linked
  condition_wait* following_;
};

inline void task_scope::unlink(condition_wait& w) noexcept {
  (w.previous_ ? w.previous_->following_ : waiters_) = w.following_;
  if (w.following_) w.following_->previous_ = w.previous_;
  w.linked_.store(false, std::memory_order_release);
}

}  // namespace LEAT
