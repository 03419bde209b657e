#pragma once

#include <concepts>
#include <coroutine>
#include <ostream>
#include <source_location>
#include <string>
#include <system_error>
#include <type_traits>
#include <utility>
#include <variant>

#include "leat/async/detail/select_state.hpp"
#include "leat/async/task_scope.hpp"
#include "leat/async/wait_operation.hpp"
#include "leat/base/error.hpp"
#include "leat/base/internal/assert.hpp"

namespace LEAT {

/// The wait of an operation that cannot be undone once it has started, because code outside leat
/// performs it: an Asio operation, a function on another thread. The base of such operations, which
/// also derive from irrevocable_forms.
///
/// When the operation is over, call ended() on the scheduler of the wait. From another thread, set
/// `run_` to a function that calls ended(), and post the wait: `get_scheduler()->post(*this)`.
class irrevocable_wait : public wait_operation {
 public:
  /// Makes it branch `index` of a select. Called before start().
  void join_select(detail::select_state& s, int index) noexcept {
    select_state_ = &s;
    index_ = index;
    scheduler_ = s.get_scheduler();
  }
  /// Makes it wake its select when it ends, even if another branch has won.
  void wake_select_always() noexcept { wakes_select_ = true; }

 protected:
  using wait_operation::wait_operation;
  /// Returns true for a branch of a select or of a limit.
  [[nodiscard]] bool is_selected() const noexcept { return select_state_ != nullptr; }
  /// The task that waits, also in a select; null for another coroutine.
  [[nodiscard]] const task_context* task() const noexcept {
    return select_state_ ? select_state_->task() : context_;
  }
  /// The operation is over: wakes the select, or returns false if a coroutine waits.
  [[nodiscard]] bool end_in_select() noexcept {
    if (!select_state_) return false;
    if (select_state_->claim(index_) || wakes_select_) select_state_->wake();
    return true;
  }
  /// The operation is over: wakes the coroutine or the select.
  void ended() noexcept {
    if (end_in_select()) return;
    set_wakeup();
    scheduler_->post(*this);
  }

  /// The code of an operation that was asked to end and had no effect: `cancelled`, or the code of
  /// the limit. Call it only while the result is read.
  [[nodiscard]] std::error_code end_code() const noexcept {
    return make_error_code(ended_by_ ? ended_by_->code : errc::cancelled);
  }
  /// The limit in words, for the message of that error, such as
  /// " (limit of 10 ms at service.cpp:9 in serve)"; empty for a stop.
  [[nodiscard]] std::string end_text() const;

  bool wakes_select_ = false;  ///< see wake_select_always()

 private:
  template <class Operation>
  friend class detail::select_branch;
  template <class Operation>
  friend class irrevocable_forms;
  int index_ = 0;
  const detail::limit_end* ended_by_ = nullptr;  // while the result is read
  detail::select_state* select_state_ = nullptr;
};

/// An operation that cannot be undone once it has started. A select accepts one and starts it last.
template <class O>
concept irrevocable_operation =
    std::derived_from<O, irrevocable_wait> && std::move_constructible<O> &&
    requires(O& o, const O& present, std::error_code ec) {
      { o.start() } -> std::same_as<bool>;  // true: it is over already. May throw, without effect
      o.end_unstarted(ec);                  // completes it with this error, without starting it
      o.request_end();                      // asks it to end early; it still calls ended()
      { present.is_fresh() } noexcept -> std::same_as<bool>;
      { present.is_over() } noexcept -> std::same_as<bool>;
      { present.had_effect() } noexcept -> std::same_as<bool>;  // once it is over
      o.await_resume();
      o.await_tuple();
    };

/// The base, beside irrevocable_wait, that makes an irrevocable operation an awaitable.
template <class Operation>
class irrevocable_forms {
 public:
  bool await_ready() const noexcept {
    LEAT_ASSERT(self().is_fresh(), "operation awaited twice: create a new one for each co_await");
    return false;
  }
  bool await_suspend(std::coroutine_handle<> h) {
    Operation& o = self();
    if (!o.bound()) o.attach(h);
    if (o.stop_requested()) {
      o.end_unstarted(make_error_code(errc::cancelled));
      return o.yield_after_budget();
    }
    o.begin_wait();
    try {
      if (!o.start() || o.yield_after_budget()) return true;
    } catch (...) {
      o.end_wait();
      throw;
    }
    o.end_wait();
    return false;
  }

 protected:
  irrevocable_forms() = default;
  ~irrevocable_forms() = default;

 private:
  Operation& self() noexcept { return static_cast<Operation&>(*this); }
  const Operation& self() const noexcept { return static_cast<const Operation&>(*this); }
};

namespace detail {

template <irrevocable_operation Operation>
inline constexpr bool irrevocable<Operation> = true;

/// An irrevocable operation in a select or under a limit.
template <irrevocable_operation Operation>
class select_branch<Operation> {
  using value_type = decltype(std::declval<Operation&>().await_resume());
  static_assert(!std::is_reference_v<value_type>,
                "a limit or a select() needs an operation without a reference result: return a "
                "pointer");

 public:
  using result_type = std::conditional_t<std::is_void_v<value_type>, std::monostate, value_type>;

  select_branch(Operation&& o, select_state& s, int index)
      : operation_(std::move(o)), select_state_(s), index_(index) {}
  select_branch(select_branch&& unstarted, select_state& s, int index)
      : select_branch(std::move(unstarted.operation_), s, index) {}

  [[nodiscard]] bool try_complete() const noexcept { return false; }
  [[nodiscard]] bool begin() {
    operation_.join_select(select_state_, index_);
    return operation_.start() && select_state_.claim(index_);
  }
  void withdraw() const noexcept {}
  [[nodiscard]] bool is_over() const noexcept {
    return operation_.is_fresh() || operation_.is_over();
  }
  [[nodiscard]] bool uses_memory() const noexcept
    requires requires(const Operation& o) { o.uses_memory(); }
  {
    return operation_.uses_memory();
  }
  void wake_at_end() noexcept { operation_.wake_select_always(); }
  void request_cancel() noexcept {
    operation_.wake_select_always();
    operation_.request_end();
  }
  [[nodiscard]] bool had_effect() const noexcept {
    return operation_.is_over() && operation_.had_effect();
  }
  void interrupt(const limit_end& by) noexcept {
    operation_.ended_by_ = &by;
    if (operation_.is_fresh()) operation_.end_unstarted(make_error_code(by.code));
  }
  result_type result() {
    if constexpr (std::is_void_v<value_type>) {
      operation_.await_resume();
      return {};
    } else {
      return operation_.await_resume();
    }
  }
  auto tuple() noexcept { return operation_.await_tuple(); }
  void describe(std::ostream& out) const {
    out << operation_.what().verb << ' ';
    operation_.describe_object(out);
  }

 private:
  Operation operation_;
  select_state& select_state_;
  const int index_;
};

}  // namespace detail
}  // namespace LEAT
