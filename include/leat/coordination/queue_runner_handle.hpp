#pragma once

#include <cstddef>
#include <exception>
#include <memory>
#include <source_location>
#include <utility>
#include <vector>

#include "leat/async/loop/block_on.hpp"
#include "leat/async/task.hpp"
#include "leat/base/clock.hpp"

namespace LEAT {

namespace detail {
class queue_runner_state;
}  // namespace detail

/// A handle for one start of a queue_runner, with the number of its running producers and its
/// errors.
///
/// A copy refers to the same start; a later start has another handle. If start() found the runner
/// already running, the returned handle is empty: it converts to false and has no producers and no
/// errors. A handle may outlive the runner.
///
/// Thread safety: thread-safe.
class queue_runner_handle {
 public:
  queue_runner_handle() = default;

  /// Returns true if this start has started producers.
  [[nodiscard]] explicit operator bool() const noexcept { return state_ != nullptr; }

  /// Returns the number of producers that have not finished. The last one finishes shortly after it
  /// has closed the queue, so another thread may see the end of the queue first; join() waits for
  /// it.
  [[nodiscard]] std::size_t running_producers() const noexcept;

  /// Returns the errors of this start, in the order in which they occurred. If the start has a
  /// coordinator, the coordinator receives the errors and the list is empty.
  /// TensorFlow: QueueRunner.exceptions_raised.
  [[nodiscard]] std::vector<std::exception_ptr> exceptions_raised() const;

  /// Waits until each producer has run its operation once. Every error of a first run is then
  /// known, and the pipeline can be fed. The producers continue regardless of the result.
  ///
  /// Errors: deadline_exceeded after `limit`; the error of an operation that failed in its first
  ///         run, also an error that means the end of input; cancelled.
  [[nodiscard]] task<void> wait_for_first_enqueue(
      time_span limit = duration::max(),
      std::source_location where = std::source_location::current()) const;

  /// Waits until all producers have ended, and then throws the first of exceptions_raised(), if
  /// there is one. The tasks belong to the coordinator or group of the start: join that as well.
  /// Errors: the first of exceptions_raised(); cancelled.
  /// Cancellation: total.
  [[nodiscard]] task<void> join(std::source_location where = std::source_location::current()) const;

  /// The blocking form of join() in 0.2.
  [[deprecated("write leat::block_on(handle.join())")]] void wait_join() const { block_on(join()); }

 private:
  friend class queue_runner;
  explicit queue_runner_handle(std::shared_ptr<detail::queue_runner_state> state) noexcept
      : state_(std::move(state)) {}

  std::shared_ptr<detail::queue_runner_state> state_;
};

}  // namespace LEAT
