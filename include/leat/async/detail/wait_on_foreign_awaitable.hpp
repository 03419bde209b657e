#pragma once

#include <coroutine>
#include <exception>
#include <ostream>
#include <source_location>
#include <type_traits>
#include <utility>

#include "leat/async/wait_operation.hpp"
#include "leat/base/internal/frame_allocator.hpp"
#include "leat/base/internal/is_task.hpp"

namespace LEAT::detail {

/// The coroutine that an awaitable of another library resumes instead of the task: it posts the
/// task to its scheduler, from any thread, and ends.
struct return_coroutine {
  struct promise_type {
    return_coroutine get_return_object() noexcept {
      return {std::coroutine_handle<promise_type>::from_promise(*this)};
    }
    std::suspend_always initial_suspend() const noexcept { return {}; }
    std::suspend_never final_suspend() const noexcept { return {}; }
    void return_void() const noexcept {}
    void unhandled_exception() const noexcept { std::terminate(); }

    static void* operator new(std::size_t size) { return allocate_frame(size); }
    static void operator delete(void* p, std::size_t size) noexcept { free_frame(p, size); }
  };
  std::coroutine_handle<> handle;
};

/// Returns the awaiter of an awaitable by the rules of the language.
template <class A>
decltype(auto) get_awaiter(A&& awaitable) {
  if constexpr (requires { static_cast<A&&>(awaitable).operator co_await(); }) {
    return static_cast<A&&>(awaitable).operator co_await();
  } else if constexpr (requires { operator co_await(static_cast<A&&>(awaitable)); }) {
    return operator co_await(static_cast<A&&>(awaitable));
  } else {
    return static_cast<A&&>(awaitable);
  }
}

/// True for an awaiter that any coroutine can use.
template <class Awaiter>
concept awaiter_for_any = requires(Awaiter& a, std::coroutine_handle<> h) {
  a.await_ready();
  a.await_suspend(h);
  a.await_resume();
};

/// Ends the process, since the task `c` is destroyed with its scheduler while another library could
/// still resume it.
[[noreturn]] void foreign_awaitable_destroyed(const wait_operation& w,
                                              const task_context& c) noexcept;

/// An awaitable of another library, awaited in a task.
///
/// Any thread may resume it; the task then continues on its own scheduler. leat cannot cancel such
/// a wait, so the task sees a stop only after it. If the scheduler is destroyed before the task has
/// been resumed, the process ends.
template <class A>
class [[nodiscard]] wait_on_foreign_awaitable final : public wait_operation {
  using awaiter = decltype(get_awaiter(std::declval<A>()));
  static_assert(!is_task<std::remove_cvref_t<A>>,
                "co_await consumes a task: write co_await std::move(task)");
  static_assert(!is_generator<std::remove_cvref_t<A>>,
                "an async_generator cannot be awaited: write co_await generator.next()");
  static_assert(
      is_task<std::remove_cvref_t<A>> || is_generator<std::remove_cvref_t<A>> ||
          awaiter_for_any<awaiter>,
      "leat::task cannot await this type: pass leat::use_task to an Asio operation instead of "
      "asio::use_awaitable, and write asio::co_spawn(executor, coroutine, leat::use_task) for an "
      "asio::awaitable");

 public:
  using own_awaiter = void;  // only a task awaits it

  wait_on_foreign_awaitable(A&& awaitable, promise_base& promise, std::coroutine_handle<> h,
                            const std::source_location& where)
      : wait_operation(foreign_kind(), where), awaiter_(get_awaiter(static_cast<A&&>(awaitable))) {
    bind(promise, h);
  }
  ~wait_on_foreign_awaitable() {
    if (is_dying()) end_dying();
    if (return_handle_) return_handle_.destroy();
  }

  bool await_ready() { return awaiter_.await_ready(); }

  // Returns true if the task is suspended.
  bool await_suspend(std::coroutine_handle<>) {
    const std::coroutine_handle<> handle = resume_on_scheduler(*this).handle;
    return_handle_ = handle;
    begin_wait();
    scheduler& sched = *scheduler_;
    // After this call, another thread may resume the return coroutine, and the task may be gone.
    using result = decltype(awaiter_.await_suspend(handle));
    try {
      if constexpr (std::is_void_v<result>) {
        awaiter_.await_suspend(handle);
        return true;
      } else if constexpr (std::is_same_v<result, bool>) {
        if (awaiter_.await_suspend(handle)) return true;
      } else {
        const std::coroutine_handle<> next = awaiter_.await_suspend(handle);
        if (next != handle) {
          sched.transfer_to(next);
          return true;
        }
      }
    } catch (...) {
      end_wait();
      throw;
    }
    end_wait();
    return false;
  }

  decltype(auto) await_resume() { return awaiter_.await_resume(); }

 private:
  // leat cannot withdraw a wait that another library will resume. If it has resumed it, the wake-up
  // is here.
  void end_dying() noexcept {
    scheduler_->run_posted_items();
    if (!is_wakeup_dropped()) foreign_awaitable_destroyed(*this, *context_);
  }

  static return_coroutine resume_on_scheduler(wait_on_foreign_awaitable& w) {
    w.return_handle_ = nullptr;  // the return coroutine runs, and ends by itself
    w.wake();
    co_return;
  }

  static const kind& foreign_kind() noexcept {
    static constexpr kind instance{
        "await", [](wait_operation&) noexcept {},
        [](const wait_operation&, std::ostream& out) { out << "a foreign operation"; }};
    return instance;
  }

  awaiter awaiter_;
  std::coroutine_handle<> return_handle_;  // while it has not been resumed
};

}  // namespace LEAT::detail
