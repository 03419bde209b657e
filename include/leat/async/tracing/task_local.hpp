#pragma once

#include <concepts>
#include <ostream>
#include <string_view>
#include <type_traits>
#include <utility>

#include "leat/async/detail/task_local_node.hpp"
#include "leat/async/scheduler/scheduler.hpp"
#include "leat/async/task.hpp"
#include "leat/async/task_context.hpp"

namespace LEAT {

namespace detail {

template <class T>
concept printable = requires(std::ostream& out, const T& value) { out << value; };

template <class T>
class task_local_value final : public task_local_node {
 public:
  task_local_value(const void* owner, std::string_view name, T&& v)
      : task_local_node(owner, name, current_task_locals()), value(std::move(v)) {
    keep_outer();
  }
  void print(std::ostream& out) const override {
    if constexpr (printable<T>) out << value;
  }

  const T value;
};

}  // namespace detail

/// A value that a task passes to everything it calls: to the tasks that it awaits and, at the
/// spawn, to the tasks that it starts. For IDs of requests and traces.
///
///     static leat::task_local<std::uint64_t> request_id("request");
///
///     leat::task<> serve(request r) {
///       co_await request_id.with(r.id, handle(std::move(r)));
///     }
///     void log(std::string_view text) {  // called anywhere below handle()
///       if (const auto* id = request_id.get()) std::cerr << "request " << *id << ": ";
///       std::cerr << text << '\n';
///     }
///
/// The value cannot change: a nested with() hides it until that with() ends. Tasks that outlive the
/// with() keep the value that they inherited. A dump and a trace show the values of named
/// task-locals whose type has an `operator<<` for std::ostream.
///
/// A function of run_blocking() sees the values of the task that waits for it, and so do the
/// destructors of a task that is destroyed with its scheduler. Other functions outside of tasks see
/// none: pass what they need as an argument.
///
/// T: an object type that can be moved. Its destructor runs on the thread that ends the last task
///    with the value.
///
/// Thread safety: thread-safe. The tasks that share a value read it at the same time.
/// Cost: with() takes one coroutine frame and one block for the value, both from a recycling
///       allocator. get() walks the tasks that await each other, from the innermost to with(), and
///       the values that were set in between. A program without task-locals pays one predictable
///       branch at each spawn.
template <class T>
class task_local {
  static_assert(std::is_object_v<T> && !std::is_const_v<T> && std::move_constructible<T>,
                "task_local<T> needs an object type T that can be moved, without const");
  static_assert(alignof(T) <= __STDCPP_DEFAULT_NEW_ALIGNMENT__,
                "the value of a task_local has a larger alignment than its block: hold it in a "
                "std::shared_ptr");

 public:
  /// `name` is shown in dumps and traces; its characters must outlive all tasks. Give a task-local
  /// static storage: tasks refer to it.
  constexpr explicit task_local(std::string_view name = {}) noexcept : name_(name) {}
  task_local(const task_local&) = delete;
  task_local& operator=(const task_local&) = delete;

  /// Returns a task that runs `body` with `value`, and returns its result. Await or spawn it.
  /// Errors: std::bad_alloc; the exceptions of T's move constructor and of `body`.
  /// Cancellation: a stop request reaches `body`.
  template <class Result>
  [[nodiscard]] task<Result> with(T value, task<Result> body) const {
    return run(*this, std::move(value), std::move(body));
  }

  /// Returns the value of the running task, or null if it has none. For calls outside of tasks, see
  /// the class. The value lives at least until the task ends or with() returns.
  [[nodiscard]] const T* get() const noexcept { return find(detail::current_task_locals()); }

  /// Returns the value of `t`, or null. For hooks: call it on the thread of the task's scheduler.
  [[nodiscard]] const T* get(const task_context& t) const noexcept { return find(t.locals()); }

 private:
  // A parameter of a coroutine lives in its frame, unlike `this`.
  template <class Result>
  static task<Result> run(const task_local& self, T value, task<Result> body) {
    scheduler::current()->has_task_locals() = true;
    const detail::task_local_owner owner(
        *new detail::task_local_value<T>(&self, self.name_, std::move(value)));
    co_return co_await detail::untraced<Result>{std::move(body), &owner.node()};
  }

  [[nodiscard]] const T* find(const detail::task_local_node* n) const noexcept {
    while (n && n->owner() != this) n = n->outer();
    return n ? &static_cast<const detail::task_local_value<T>*>(n)->value : nullptr;
  }

  const std::string_view name_;
};

}  // namespace LEAT
