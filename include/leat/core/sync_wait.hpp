#pragma once

#include <source_location>
#include <utility>

#include <asio/io_context.hpp>

#include "leat/core/asio_scheduler.hpp"
#include "leat/core/task.hpp"

namespace leat {

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
                 detail::run_into(std::move(t), slot), "", where);
  io.run();
  scope.rethrow_error();
  return slot.take();
}

}  // namespace leat
