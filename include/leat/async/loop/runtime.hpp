#pragma once

#include <atomic>
#include <cstddef>
#include <memory>
#include <source_location>
#include <utility>

#include "leat/async/scheduler/scheduler.hpp"
#include "leat/async/task.hpp"
#include "leat/base/internal/pimpl.hpp"

namespace LEAT {

/// Options of a runtime.
struct runtime_options {
  std::size_t threads = 1;  ///< number of schedulers, each with an OS thread
  /// The number of times that an idle thread checks for work of other threads before it sleeps.
  /// Waking a thread costs microseconds, a check some tens of nanoseconds. A thread does not check
  /// if the one that last woke it runs on the same processor, and seldom after 32 times in vain.
  int spins_before_sleep = 400;
};

/// A fixed number of threads, each with its own event loop and scheduler.
///
/// For programs without an event loop. A task stays on the scheduler on which it was spawned; use
/// queues to connect tasks. The runtime starts exactly the requested number of threads.
///
///     leat::runtime rt({.threads = 2});
///     rt.block_on(serve());
///
/// Every task must have finished when the runtime is destroyed. The destructor waits for tasks that
/// have not; after ten seconds it prints them to standard error.
///
/// Thread safety: thread-safe.
class runtime {
 public:
  /// Errors: invalid_argument for 0 threads; std::system_error if a thread cannot be started.
  explicit runtime(const runtime_options& options = {});
  ~runtime();
  runtime(const runtime&) = delete;
  runtime& operator=(const runtime&) = delete;

  /// Returns the number of schedulers.
  [[nodiscard]] std::size_t size() const noexcept;

  /// Returns the scheduler of thread `index`, which counts from 0.
  [[nodiscard]] scheduler& get_scheduler(std::size_t index = 0) const noexcept;

  /// Returns the schedulers in turn, the first one first: spreads tasks over the threads.
  ///
  ///     group.spawn_on(rt.next_scheduler(), work(item));  // of a socket: docs/schedulers.md
  [[nodiscard]] scheduler& next_scheduler() noexcept;

  /// Runs a task on the first scheduler and blocks this OS thread until the task finishes. Returns
  /// the result of the task or throws its error. Precondition: the thread runs no scheduler.
  template <class T>
  T block_on(task<T> t, std::source_location where = std::source_location::current()) {
    detail::result_slot<T> slot;
    detail::root_scope scope = detail::root_scope::of_this_thread("runtime");
    scope.spawn_on(get_scheduler(), detail::store_result(std::move(t), slot), "", where);
    scope.block_until(detail::root_scope::idle, no_deadline, where);
    scope.rethrow_error();
    return slot.take();
  }

 private:
  struct worker;
  detail::pimpl<worker[]> workers_;
  std::size_t size_;
  std::atomic<std::size_t> next_{0};  // of next_scheduler(), modulo the size
};

}  // namespace LEAT
