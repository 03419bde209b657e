#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "leat/async/task.hpp"
#include "leat/async/task_group.hpp"
#include "leat/base/braced.hpp"
#include "leat/base/detail/thread_mutex.hpp"
#include "leat/base/error.hpp"
#include "leat/coordination/coordinator.hpp"
#include "leat/coordination/enqueue_operation.hpp"
#include "leat/coordination/queue_runner_handle.hpp"
#include "leat/queue/queue_base.hpp"

namespace leat {

class queue_runner_resolver;
struct queue_runner_def;
namespace detail {
struct queue_runner_config;
struct task_owner;
}  // namespace detail

/// How a queue_runner sees the end of its input, and what it does then.
struct queue_runner_options {
  /// Errors by which an enqueue operation says that its input has ended.
  braced<std::vector<errc>> queue_closed_errors = {errc::out_of_range};
  /// Run once instead of queue.close(), by the last producer, when the input has ended.
  named_operation close_op = {};
  /// Run once instead of queue.close_and_cancel(), after a stop or, without a coordinator, when the
  /// last producer has failed. The stop does not cancel this operation.
  named_operation cancel_op = {};
};

/// Keeps a queue filled: runs several enqueue operations over and over, each in a task of its own.
///
/// The last one that ends closes the queue; its items stay. A stop of the coordinator closes the
/// queue with cancel, so that nobody waits in it. An operation that fails stops the coordinator
/// with its error, and the queue passes that error on: a consumer sees why its input ended. So do
/// the queues of all runners of that coordinator or group, whoever has failed: none of them looks
/// as if its input were complete.
///
///     leat::queue_runner runner(lines);
///     runner.add([&] { return read_one_file(names, lines); }, "reader");
///     runner.start(coord);
///
/// Without a coordinator the tasks belong to a task group, or to run(), which is one: then an
/// operation that fails ends alone and the others go on. The last one out fails the queue with the
/// first error, and the group with it: nothing hangs, and nothing is lost.
///
/// A close_op that fails is secondary: it is kept in the coordinator's secondary_errors(), or at
/// the end of exceptions_raised(). The queue then passes its error on, since it might be open.
///
/// When its producers have ended, a runner can be started again; the queue is the same.
///
/// Thread safety: thread-bound until it was started; thread-safe afterwards. Lives at least as long
/// as its tasks: until the coordinator or group was joined. The queue outlives it.
/// TensorFlow: tf.train.QueueRunner.
class queue_runner {
 public:
  /// One step of a producer. True: run me again. False: my input has ended.
  using enqueue_operation = leat::enqueue_operation;

  /// Errors: invalid_argument for an empty list of closed errors, or one with what is no error.
  explicit queue_runner(queue_base& queue, queue_runner_options options = {});

  /// Creates the runner that `def` describes; `names` resolves the names in it. If the definition
  /// has no closed errors, out_of_range is one; close_op and cancel_op default as in the options.
  ///
  /// Errors: invalid_argument for no queue, no enqueue operation, or a closed error of no meaning;
  ///         not_found for a name that `names` does not know. TensorFlow: QueueRunner.from_proto.
  queue_runner(const queue_runner_def& def, const queue_runner_resolver& names);

  queue_runner(const queue_runner&) = delete;
  queue_runner& operator=(const queue_runner&) = delete;
  ~queue_runner();

  /// Adds an enqueue operation: a callable that gives task<bool> as above, or task<void>, which is
  /// run until it throws one of the closed errors. `on`: the scheduler to run on, null for that
  /// of start().
  template <class Operation>
  void add(Operation operation, std::string name = {}, scheduler* on = nullptr) {
    add_step(as_enqueue_operation(std::move(operation)), std::move(name), on);
  }

  /// Starts a task for each operation, all owned by `coord`, on the current scheduler or on the
  /// given one. If they run already, nothing is started and the returned handle is false.
  /// Errors: invalid_argument when there is no operation; std::bad_alloc: then no operation runs.
  queue_runner_handle start(coordinator& coord);
  queue_runner_handle start(coordinator& coord, scheduler& on);

  /// The same without a coordinator: the tasks are owned by `group`, and stop with it.
  queue_runner_handle start(task_group& group);
  queue_runner_handle start(task_group& group, scheduler& on);

  /// Starts the operations in a group of its own and joins it: ends with the last of them.
  /// Errors: the first one of an operation; failed_precondition when they run already; as start().
  /// Cancellation: a stop of the caller stops them; they are waited for.
  [[nodiscard]] task<void> run(std::source_location where = std::source_location::current());

  /// The same for an OS thread, which it blocks; the operations run on the scheduler `on`.
  void wait_run(scheduler& on, std::source_location where = std::source_location::current());

  /// The last start; false when there was none.
  [[nodiscard]] queue_runner_handle last_start() const;

  /// Producers of the last start that have not ended.
  [[nodiscard]] std::size_t running_producers() const noexcept {
    return last_start().running_producers();
  }

  /// "queue_runner" and the queue's name.
  [[nodiscard]] std::string name() const;
  [[nodiscard]] const std::string& queue_name() const noexcept;

  /// What describes this runner: the names of the queue and of the operations, the closed errors.
  /// TensorFlow: QueueRunner.to_proto.
  [[nodiscard]] queue_runner_def definition() const;

 private:
  friend class queue_runner_collection;

  void require_operations() const;
  void add_step(enqueue_operation step, std::string name, scheduler* on);
  queue_runner_handle start_in(const detail::task_owner& owner, scheduler* on);

  std::shared_ptr<detail::queue_runner_config> config_;
  mutable detail::thread_mutex mutex_;
  queue_runner_handle last_ LEAT_GUARDED_BY(mutex_);
};

}  // namespace leat
