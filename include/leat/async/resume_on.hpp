#pragma once

#include <concepts>
#include <coroutine>

#include "leat/async/detail/asio_misuse.hpp"
#include "leat/async/scheduler/scheduler.hpp"
#include "leat/async/scheduler/work_item.hpp"

namespace LEAT {

/// The awaitable of resume_on().
class [[nodiscard]] resume_on_awaiter final : private work_item {
 public:
  using own_awaiter = void;  ///< for detail::operation_for_any_coroutine

  explicit resume_on_awaiter(scheduler& s) noexcept : scheduler_(s) {}
  resume_on_awaiter(const resume_on_awaiter&) = delete;
  resume_on_awaiter& operator=(const resume_on_awaiter&) = delete;

  /// Does not compile: its error message explains why a coroutine of Asio cannot await this.
  template <detail::awaitable_of_operation Asio>
  operator Asio() const noexcept;

  /// Does not compile: a leat task stays on its scheduler.
  template <class Promise>
  void bind(Promise&, std::coroutine_handle<>) {
    static_assert(!std::same_as<Promise, Promise>,
                  "resume_on() is for coroutines of other libraries: a leat task stays on its "
                  "scheduler, so write leat::run_on(scheduler, task) for the other part");
  }

  bool await_ready() const noexcept { return scheduler::current() == &scheduler_; }
  void await_suspend(std::coroutine_handle<> h) noexcept;
  void await_resume() const noexcept {}

 private:
  scheduler& scheduler_;
  std::coroutine_handle<> coroutine_;
};

/// Moves a coroutine of another library to `s`. Afterwards, the coroutine may await the tasks and
/// operations of leat.
///
///     co_await leat::resume_on(leat::get_scheduler(io));
///     auto item = co_await queue.pop();
///
/// Completes immediately if the coroutine runs on `s`. Otherwise the coroutine continues in a loop
/// iteration of `s`. It resumes on `s` after each later wait for leat. If `s` is destroyed first,
/// the coroutine does not continue, and its owner may destroy it.
///
/// A leat task cannot use resume_on(), because a task stays on its scheduler. Use run_on() to run
/// another task.
///
/// Errors:        none.
/// Cancellation:  none.
/// Thread safety: thread-safe. `s` must outlive the call.
/// Cost:          one post.
[[nodiscard]] inline resume_on_awaiter resume_on(scheduler& s) noexcept {
  return resume_on_awaiter(s);
}

}  // namespace LEAT
