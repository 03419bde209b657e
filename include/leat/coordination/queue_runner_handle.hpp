#pragma once

#include <cstddef>
#include <exception>
#include <memory>
#include <source_location>
#include <utility>
#include <vector>

#include "leat/async/task.hpp"
#include "leat/base/clock.hpp"

namespace leat {

namespace detail {
class queue_runner_state;
}  // namespace detail

/// One start of a queue_runner: how many of its producers live, and what went wrong.
///
/// A copy refers to the same start; a later start has a record of its own. If start() found the
/// runner already running, the returned handle is empty: it converts to false and has no producers
/// and no errors.
///
/// Thread safety: thread-safe. May live longer than the runner.
class queue_runner_handle {
 public:
  queue_runner_handle() = default;

  /// True: this start has started producers.
  [[nodiscard]] explicit operator bool() const noexcept { return state_ != nullptr; }

  /// Returns the number of producers that have not finished. The last one finishes shortly after it
  /// has closed the queue, so another thread may see the end of the queue first; join() waits for
  /// it.
  [[nodiscard]] std::size_t running_producers() const noexcept;

  /// Errors of this start, in the order in which they came. Those of a start with a coordinator go
  /// there: the list is empty then. TensorFlow: QueueRunner.exceptions_raised.
  [[nodiscard]] std::vector<std::exception_ptr> exceptions_raised() const;

  /// Waits until each producer has run its operation once: then the pipeline can be fed, and what
  /// fails at the first try has failed. The producers go on whatever comes of the wait.
  ///
  /// Errors: deadline_exceeded after `limit`; the error of an operation that has failed at its
  ///         first try, also one that means the end of input; cancelled.
  [[nodiscard]] task<void> wait_for_first_enqueue(
      time_span limit = duration::max(),
      std::source_location where = std::source_location::current()) const;

  /// Waits until no producer is left; throws the first of exceptions_raised(). The tasks belong to
  /// the coordinator or group of the start, which has to be joined all the same.
  /// Errors: what the producers failed with; cancelled. Cancellation: total.
  [[nodiscard]] task<void> join(std::source_location where = std::source_location::current()) const;

  /// The same for an OS thread, which it blocks.
  void wait_join(std::source_location where = std::source_location::current()) const;

 private:
  friend class queue_runner;
  explicit queue_runner_handle(std::shared_ptr<detail::queue_runner_state> state) noexcept
      : state_(std::move(state)) {}

  std::shared_ptr<detail::queue_runner_state> state_;
};

}  // namespace leat
