#pragma once

#include <source_location>
#include <type_traits>
#include <utility>

#include <asio/io_context.hpp>

#include "leat/async/condition_wait.hpp"
#include "leat/async/loop/asio_scheduler.hpp"
#include "leat/async/task.hpp"

namespace leat {

namespace detail {

/// Requests a stop of a scope when its last task has finished. It reaches the scopes that those
/// tasks made and that outlive them, such as that of a pipeline, so that the event loop ends.
struct stop_when_idle : condition_wait {
  stop_when_idle(root_scope& scope, const std::source_location& where) noexcept
      : condition_wait(scope, root_scope::idle, no_deadline, where), owner(scope) {
    run_ = [](work_item& item) noexcept {
      static_cast<stop_when_idle&>(item).owner.request_scope_stop();
    };
    scope.when_idle(*this);
  }
  root_scope& owner;
};

}  // namespace detail

/// Runs a task on this thread until it has ended; gives its result or throws its error.
///
/// Makes an event loop for the purpose: use it in main(), in tests, in a program without a loop. A
/// scheduler's own thread must not call it: `co_await` the task there.
///
///     int main() { return leat::sync_wait(run()); }
///
/// Thread safety: shared-safe. Cost: an io_context.
template <class T>
T sync_wait(task<T> t, std::source_location where = std::source_location::current()) {
  LEAT_ASSERT(scheduler::current() == nullptr,
              "sync_wait on a scheduler's own thread: co_await the task instead");
  asio::io_context io(1);
  detail::result_slot<T> slot;
  detail::root_scope scope("sync_wait");
  scope.spawn_on(get_scheduler(io, {.spins_before_sleep = 100}),
                 detail::store_result(std::move(t), slot), "", where);
  const detail::stop_when_idle at_end(scope, where);
  io.run();
  scope.rethrow_error();
  return slot.take();
}

/// Rejected: an operation is awaited in a task.
template <class Operation>
  requires(!detail::is_task<std::remove_cvref_t<Operation>>)
auto sync_wait(Operation&&) {
  static_assert(detail::is_task<Operation>,
                "sync_wait() needs a task: co_await the operation in one, or write "
                "queue.wait_pop(), group.wait_join()");
}

}  // namespace leat
