#pragma once

#include <atomic>
#include <cstdint>
#include <exception>
#include <iosfwd>
#include <source_location>
#include <stop_token>
#include <system_error>

#include "leat/async/blocking/blocking_pool.hpp"
#include "leat/async/operation/irrevocable.hpp"
#include "leat/async/task_scope.hpp"
#include "leat/async/wait_operation.hpp"
#include "leat/base/clock.hpp"
#include "leat/base/error.hpp"

namespace LEAT::detail {

class blocking_calls;
class task_local_node;

/// The part of run_blocking() that does not depend on its function.
///
/// States: `fresh` until it is awaited; `waiting` for a thread; `running`; `returned`, when the
/// thread has stored the result and posts the call to its scheduler; then `over`. A thread of the
/// pool makes the transitions to `running` and `returned`, the scheduler all others. A call leaves
/// `waiting` under the lock of its pool, so that either a thread or a cancellation takes it.
class blocking_call : public irrevocable_wait {
 public:
  /// Calls the function and posts the call to its scheduler, after which the call may be gone. For
  /// the thread or simulation that has taken the call.
  void execute() noexcept {
    call_function();
    // release: if the coroutine is destroyed now, its thread sees the result.
    state_.store(state::returned, std::memory_order_release);
    scheduler_->post(*this);
  }
  /// Marks the call as running. Precondition: it was waiting.
  void set_running() noexcept { state_.store(state::running, std::memory_order_relaxed); }
  /// Returns true if no thread has taken the call yet.
  [[nodiscard]] bool is_waiting() const noexcept {
    return state_.load(std::memory_order_relaxed) == state::waiting;
  }
  using irrevocable_wait::is_selected;
  using irrevocable_wait::task;

  [[nodiscard]] bool is_fresh() const noexcept { return current_state() == state::fresh; }
  [[nodiscard]] bool is_over() const noexcept { return current_state() == state::over; }
  /// The function is not called.
  void end_unstarted(std::error_code) noexcept { set_not_called(); }
  /// Withdraws a call that waits for a thread; asks one that runs to stop.
  void request_end() noexcept;
  /// True unless the function was not called, or had no effect because it was asked to stop.
  [[nodiscard]] bool had_effect() const noexcept { return !not_called_ && !was_cancelled(); }

 protected:
  enum class state : std::uint8_t { fresh, waiting, running, returned, over };
  using invoke_function = void (*)(blocking_call&) noexcept;

  blocking_call(blocking_pool* pool, const std::source_location& where,
                invoke_function invoke) noexcept
      : irrevocable_wait(call_kind, where), invoke_(invoke), pool_(pool) {}
  ~blocking_call() = default;

  /// Ends the call. The destructor of the derived class calls it first, because the function, its
  /// arguments and its result are in use until it returns.
  void end_in_destructor() noexcept {
    const state s = state_.load(std::memory_order_relaxed);
    if (s != state::fresh && (s != state::over || is_dying())) [[unlikely]]
      end_slowly();
  }

  void set_not_called() noexcept {
    not_called_ = true;
    state_.store(state::over, std::memory_order_relaxed);
  }
  [[nodiscard]] state current_state() const noexcept {
    return state_.load(std::memory_order_relaxed);
  }

  /// Passes the call to a thread. Errors: std::bad_alloc; resource_exhausted, if there is no thread
  /// and the system starts none.
  void submit();

  /// True if the call was asked to stop, and its function has thrown `cancelled`.
  [[nodiscard]] bool was_cancelled() const noexcept;
  /// Throws the exception of the function, or the error of the stop or limit that has ended it.
  void rethrow_error();
  /// The code of the exception that rethrow_error() throws.
  [[nodiscard]] std::error_code error_code() const noexcept;

  std::exception_ptr exception_;
  std::stop_source stop_{std::nostopstate};  // for a function that accepts a token
  bool not_called_ = false;

 private:
  friend class blocking_calls;
  friend class blocking_threads;

  static void cancel(wait_operation& w) noexcept;
  static void describe(const wait_operation& w, std::ostream& out);
  static void inspect(const wait_operation& w, wait_target& target);
  static const kind call_kind;

  static void finish(work_item& item) noexcept;
  static void run_without_pool(work_item& item) noexcept;
  void call_function() noexcept;
  [[nodiscard]] bool withdraw() noexcept;
  void leave() noexcept;
  [[gnu::cold]] void end_slowly() noexcept;
  void print_late() const noexcept;

  const invoke_function invoke_;
  blocking_pool* const pool_;
  std::atomic<state> state_{state::fresh};
  bool end_requested_ = false;
  time_point end_requested_at_{};      // if end_requested_; as started_, it counts real time
  bool has_hold_ = false;              // of the scheduler, for a coroutine that is not a task
  task_local_node* locals_ = nullptr;  // of the task, which has them while it waits
  // The threads of the pool, and their list of the calls that wait. Null in a simulation.
  blocking_threads* threads_ = nullptr;
  blocking_call* previous_ = nullptr;
  blocking_call* following_ = nullptr;
  time_point started_{};  // with the lock of the pool, and so is the next line
  int thread_ = 0;        // the system's number of the thread that runs it
  // The calls of the scheduler.
  blocking_calls* calls_ = nullptr;
  blocking_call* previous_here_ = nullptr;
  blocking_call* following_here_ = nullptr;
};

}  // namespace LEAT::detail
