#pragma once

#include <coroutine>
#include <exception>
#include <source_location>
#include <system_error>
#include <type_traits>
#include <utility>

#include "leat/async/scheduler/scheduler.hpp"
#include "leat/async/scheduler/work_item.hpp"
#include "leat/base/error.hpp"

namespace LEAT::detail {

class promise_base;

/// Returns a scheduler of an io_context that the calling thread runs, for a thread outside every
/// loop iteration; null if there is none. In handler_scheduler.cpp.
[[nodiscard]] scheduler* find_scheduler_of_handler() noexcept;

/// The part of awaiter_in_foreign_coroutine that does not depend on the operation.
///
/// A waiting coroutine counts as work of its scheduler, so io_context::run() does not return before
/// the wait ends. If the scheduler is destroyed first, the operation is withdrawn. It has no effect
/// then, and the coroutine does not continue: its owner may destroy it later. If the coroutine is
/// destroyed first, the operation is withdrawn or, if it has ended already, undone.
class wait_of_foreign_coroutine : private work_item {
 public:
  wait_of_foreign_coroutine(const wait_of_foreign_coroutine&) = delete;
  wait_of_foreign_coroutine& operator=(const wait_of_foreign_coroutine&) = delete;

  /// Called by the operation that starts on this thread, outside a task.
  static void set_operation(wait_operation& w) noexcept;

  /// For scheduler_driver::end_tasks(): withdraws the operations of the coroutines that wait,
  /// except those that use the frame.
  static void withdraw_all(scheduler& s) noexcept;
  /// For scheduler_driver::end_pinned_tasks(): requests the end of the others. Returns false if
  /// there are none.
  [[nodiscard]] static bool withdraw_pinned(scheduler& s) noexcept;
  /// For scheduler_driver::end_tasks(): forgets the waits whose wake-up has arrived and was
  /// discarded. Returns false if another thread may be about to post a wake-up.
  [[nodiscard]] static bool forget_ended(scheduler& s) noexcept;
  /// For the destructor of the scheduler.
  static void forget_all(scheduler& s) noexcept;

 protected:
  /// Starts the operation, in a loop iteration. Returns false if it completed immediately.
  using start_function = bool (*)(wait_of_foreign_coroutine&);

  explicit wait_of_foreign_coroutine(start_function f) noexcept : start_(f) {}
  ~wait_of_foreign_coroutine() = default;

  /// Ends the wait of a coroutine that is destroyed. The destructor of the derived class calls it
  /// before the operation is destroyed, which then withdraws or undoes itself.
  void end_in_destructor() noexcept {
    if (waits_ || starts_) [[unlikely]]
      abandon();
  }

  /// Finds the scheduler of the wait. Returns false if there is none.
  [[nodiscard]] bool find_scheduler() noexcept {
    scheduler_ = scheduler::current();
    if (!scheduler_) scheduler_ = find_scheduler_of_handler();
    return scheduler_ && !scheduler_->is_ending();
  }
  /// Returns true in a loop iteration of the scheduler.
  [[nodiscard]] bool is_current() const noexcept { return scheduler_ == scheduler::current(); }
  /// Returns true if the start was posted.
  [[nodiscard]] bool is_posted() const noexcept { return run_ != nullptr; }

  /// Starts the operation, or posts its start. Returns true if the coroutine waits; another thread
  /// may then resume it. Errors: those of the start, if it was not posted.
  [[nodiscard]] bool begin(std::coroutine_handle<> h);
  [[nodiscard]] std::coroutine_handle<> coroutine() const noexcept { return coroutine_; }

  /// Ends the wait. Errors: those of a posted start.
  void resume() {
    end();
    if (error_) std::rethrow_exception(std::exchange(error_, nullptr));
  }

 private:
  [[nodiscard]] static wait_of_foreign_coroutine* first(scheduler& s) noexcept {
    return static_cast<wait_of_foreign_coroutine*>(s.waits_of_foreign_coroutines());
  }
  [[nodiscard]] bool start_here();
  [[gnu::cold]] void abandon() noexcept;
  void end() noexcept;
  static void run_start(work_item& item) noexcept;

  const start_function start_;
  scheduler* scheduler_ = nullptr;
  std::coroutine_handle<> coroutine_;
  wait_operation* operation_ = nullptr;
  bool starts_ = false;  // it is posted, and its operation has not started
  bool waits_ = false;   // and counts as work, and is in the list of the scheduler
  wait_of_foreign_coroutine* previous_ = nullptr;
  wait_of_foreign_coroutine* following_ = nullptr;
  std::exception_ptr error_;
};

/// The error of a co_await on a thread without a scheduler.
[[nodiscard, gnu::cold]] failure no_scheduler_here();

/// Awaits an operation in a coroutine that is not a leat task.
///
/// In a loop iteration of a scheduler, the operation starts immediately. In another handler of an
/// io_context that has a scheduler, it starts in the scheduler's next loop iteration, because each
/// timer belongs to one. The coroutine resumes on the scheduler. On a thread without a scheduler,
/// co_await throws failed_precondition.
///
/// Operation: an operation, or a reference to one that outlives the wait.
template <class Operation>
class [[nodiscard]] awaiter_in_foreign_coroutine final : public wait_of_foreign_coroutine {
 public:
  template <class... Arguments>
  explicit awaiter_in_foreign_coroutine(Arguments&&... arguments)
      : wait_of_foreign_coroutine(&start), awaited_(std::forward<Arguments>(arguments)...) {}
  ~awaiter_in_foreign_coroutine() { end_in_destructor(); }

  bool await_ready() {
    if (find_scheduler()) return is_current() && awaited_.await_ready();
    if constexpr (requires { awaited_.set_start_error(std::error_code()); }) {
      awaited_.set_start_error(make_error_code(errc::failed_precondition));
      return true;
    } else {
      throw no_scheduler_here();
    }
  }
  bool await_suspend(std::coroutine_handle<> h) { return begin(h); }
  decltype(auto) await_resume() {
    resume();
    return awaited_.await_resume();
  }

 private:
  static bool start(wait_of_foreign_coroutine& wait) {
    auto& self = static_cast<awaiter_in_foreign_coroutine&>(wait);
    if (self.is_posted() && self.awaited_.await_ready()) return false;
    if constexpr (std::is_void_v<decltype(self.awaited_.await_suspend(self.coroutine()))>) {
      self.awaited_.await_suspend(self.coroutine());
      return true;
    } else {
      return self.awaited_.await_suspend(self.coroutine());
    }
  }

  Operation awaited_;
};

/// An operation of leat that a coroutine of another library awaits in an
/// awaiter_in_foreign_coroutine. A task binds it instead. An awaitable that needs no scheduler to
/// start has a type `own_awaiter`.
template <class Operation>
concept operation_for_any_coroutine =
    (requires(Operation& o, promise_base& p, std::coroutine_handle<> h) { o.bind(p, h); } ||
     requires(Operation& o, promise_base& p, std::coroutine_handle<> h,
              const std::source_location& where) { o.bind(p, h, where); }) &&
    !requires { typename Operation::own_awaiter; };

template <class Operation>
  requires operation_for_any_coroutine<std::remove_reference_t<Operation>>
auto operator co_await(Operation&& operation) {
  return awaiter_in_foreign_coroutine<std::remove_reference_t<Operation>&>(operation);
}

}  // namespace LEAT::detail

namespace LEAT {

using detail::operator co_await;

}  // namespace LEAT
