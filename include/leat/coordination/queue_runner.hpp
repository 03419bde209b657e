#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "leat/async/loop/block_on.hpp"
#include "leat/async/run_on.hpp"
#include "leat/async/task.hpp"
#include "leat/async/task_group.hpp"
#include "leat/base/braced.hpp"
#include "leat/base/error.hpp"
#include "leat/base/internal/thread_mutex.hpp"
#include "leat/coordination/coordinator.hpp"
#include "leat/coordination/enqueue_operation.hpp"
#include "leat/coordination/queue_runner_handle.hpp"
#include "leat/coordination/task_owner.hpp"
#include "leat/queue/queue_base.hpp"

namespace LEAT {

namespace detail {
struct queue_runner_config;
}  // namespace detail

/// Options of a queue_runner: how it detects the end of its input, and what it does then.
struct queue_runner_options {
  /// Errors with which an enqueue operation reports that its input has ended.
  option_list<errc> queue_closed_errors = {errc::out_of_range};
  /// Run once instead of queue.close(), by the last producer, when the input has ended.
  named_operation close_op = {};
  /// Run once instead of queue.close_and_cancel(), after a stop or, without a coordinator, when the
  /// last producer has failed. The stop does not cancel this operation. If an error caused the
  /// stop, the queue fails with this error first, and then the operation runs.
  named_operation cancel_op = {};
};

/// A runner of the tasks that keep a queue filled, called producers. Each producer runs one enqueue
/// operation repeatedly.
///
///     leat::queue_runner runner(lines);
///     runner.add([&] { return read_one_file(names, lines); }, "reader");
///     runner.start(coord);
///
/// The last producer closes the queue when it ends; the items in the queue remain. A stop of the
/// coordinator or group without an error calls queue.close_and_cancel(), so that no operation keeps
/// waiting on the queue.
///
/// If an enqueue operation fails, its error stops the coordinator, and the queue fails with that
/// error: a consumer learns why its input ended. If any other task stops the coordinator or group
/// with an error, the queues of all its runners fail with that error, so that none of them looks as
/// if its input were complete. A runner with a cancel_op runs that operation afterwards.
///
/// Without a coordinator, the tasks belong to a task group, or to the group that run() creates. A
/// producer that fails then ends alone, and the others continue. When the last one ends, the queue
/// and the group fail with the first error: no operation hangs, and nothing is lost.
///
/// The error of a close_op is a secondary error: it is added to the coordinator's
/// secondary_errors(), or to the end of exceptions_raised(). The queue then fails with that error,
/// because it might still be open.
///
/// After its producers have ended, a runner can be started again, with the same queue.
///
/// Thread safety: thread-bound until it is started, thread-safe afterwards.
/// Lifetime: the runner must live until the coordinator or group was joined. The queue must outlive
/// the runner.
/// TensorFlow: tf.train.QueueRunner.
class queue_runner {
 public:
  /// One step of a producer. Returns true if it is to run again, or false if its input has ended.
  using enqueue_operation = leat::enqueue_operation;

  /// Creates a runner that fills `queue`.
  /// Errors: invalid_argument if the list of closed errors is empty or contains a number that is
  ///         not an error.
  explicit queue_runner(queue_base& queue, queue_runner_options options = {});

  queue_runner(const queue_runner&) = delete;
  queue_runner& operator=(const queue_runner&) = delete;
  ~queue_runner();

  /// Adds an enqueue operation: a callable that returns task<bool>, as above, or task<void>. An
  /// operation that returns task<void> runs until it throws one of the closed errors. It runs on
  /// the scheduler `on`, or on the scheduler of start() if `on` is null.
  template <class Operation>
  void add(Operation operation, std::string name = {}, scheduler* on = nullptr) {
    add_step(as_enqueue_operation(std::move(operation)), std::move(name), on);
  }

  /// Starts a task for each operation, all owned by `owner`, a coordinator or a task group, on the
  /// current or the given scheduler. The tasks stop with their owner. If the runner is already
  /// running, nothing is started and the returned handle is false.
  /// Errors: invalid_argument if there is no operation; std::bad_alloc, and no operation runs.
  queue_runner_handle start(task_owner owner) { return start_on(owner, scheduler::current()); }
  queue_runner_handle start(task_owner owner, scheduler& on) { return start_on(owner, &on); }

  /// Starts the operations in a new task group and joins it. Completes when the last one has ended.
  /// Errors: the first error of an operation; failed_precondition if the runner is already running;
  ///         the errors of start().
  /// Cancellation: a stop of the calling task stops the operations. run() waits until they end, and
  ///               then returns normally.
  [[nodiscard]] task<void> run(std::source_location where = std::source_location::current());

  /// The blocking form of run() in 0.2.
  [[deprecated("write leat::block_on(leat::run_on(on, runner.run()))")]] void wait_run(
      scheduler& on) {
    block_on(run_on(on, run()));
  }

  /// Returns the handle of the last start, which is false if there was none.
  [[nodiscard]] queue_runner_handle last_start() const;

  /// Returns the number of producers of the last start that have not ended.
  [[nodiscard]] std::size_t running_producers() const noexcept {
    return last_start().running_producers();
  }

  /// Returns "queue_runner", followed by the name of the queue.
  [[nodiscard]] std::string name() const;
  /// Returns the name of the queue.
  [[nodiscard]] const std::string& queue_name() const noexcept;

  /// Returns the names of the enqueue operations, in the order of add().
  [[nodiscard]] std::vector<std::string> operation_names() const;
  /// Returns the options of this runner.
  [[nodiscard]] const queue_runner_options& options() const noexcept;

 private:
  friend class queue_runner_collection;

  void require_operations() const;
  void add_step(enqueue_operation step, std::string name, scheduler* on);
  queue_runner_handle start_on(task_owner owner, scheduler* on);

  std::shared_ptr<detail::queue_runner_config> config_;
  mutable detail::thread_mutex mutex_;
  queue_runner_handle last_ LEAT_GUARDED_BY(mutex_);
};

}  // namespace LEAT
