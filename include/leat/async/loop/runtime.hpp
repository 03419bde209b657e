#pragma once

#include <cstddef>
#include <memory>
#include <source_location>
#include <utility>

#include "leat/async/scheduler.hpp"
#include "leat/async/task.hpp"
#include "leat/base/detail/pimpl.hpp"

namespace leat {

/// How a runtime is made.
struct runtime_options {
  std::size_t threads = 1;  ///< schedulers, and an OS thread for each
  /// How often an idle thread looks for work of the others before it sleeps. Waking a thread costs
  /// microseconds, a look some tens of nanoseconds.
  int spins_before_sleep = 400;
};

/// A number of threads, each with an event loop and a scheduler of its own.
///
/// For programs without an event loop. Tasks stay on the scheduler on which they were spawned; what
/// connects them are queues. Starts the threads asked for and no other.
///
///     leat::runtime rt({.threads = 2});
///     rt.block_on(serve());
///
/// Every task must have ended when the runtime is destroyed; its destructor waits for those that
/// have not, and after ten seconds prints on standard error who they are.
///
/// Thread safety: thread-safe.
class runtime {
 public:
  /// Errors: invalid_argument for 0 threads; std::system_error when a thread cannot be started.
  explicit runtime(const runtime_options& options = {});
  ~runtime();
  runtime(const runtime&) = delete;
  runtime& operator=(const runtime&) = delete;

  /// Number of schedulers.
  [[nodiscard]] std::size_t size() const noexcept;

  /// The scheduler of thread `index`, from 0.
  [[nodiscard]] scheduler& get_scheduler(std::size_t index = 0) const noexcept;

  /// Runs a task on the first scheduler and blocks this OS thread until it has ended; gives its
  /// result or throws its error. Precondition: the thread runs no scheduler.
  template <class T>
  T block_on(task<T> t, std::source_location where = std::source_location::current()) {
    detail::result_slot<T> slot;
    detail::root_scope scope("runtime");
    scope.spawn_on(get_scheduler(), detail::store_result(std::move(t), slot), "", where);
    scope.block_until(detail::root_scope::idle, no_deadline, where);
    scope.rethrow_error();
    return slot.take();
  }

 private:
  struct worker;
  detail::pimpl<worker[]> workers_;
  std::size_t size_;
};

}  // namespace leat
