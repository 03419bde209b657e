#pragma once

#include <exception>
#include <functional>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "leat/core/error.hpp"
#include "leat/core/task.hpp"
#include "leat/sync/coordinator.hpp"
#include "leat/sync/queue_base.hpp"

namespace leat {

/// How a queue_runner sees the end of its input.
struct queue_runner_options {
  /// Errors by which an enqueue operation says that its input has ended.
  std::vector<errc> queue_closed_errors = {errc::out_of_range};
};

/// Keeps a queue filled: runs several enqueue operations over and over, each in a task of its own.
///
/// The last one that ends closes the queue; its items stay. A stop of the coordinator closes the
/// queue with cancel, so that nobody waits in it. An operation that fails stops the coordinator
/// with its error, and the queue passes that error on: a consumer sees why its input ended.
///
///     leat::queue_runner runner(lines);
///     runner.add([&] { return read_one_file(names, lines); }, "reader");
///     runner.start(coord);
///
/// Thread safety: thread-bound until it was started; shared-safe afterwards. Lives at least as long
/// as its tasks: until the coordinator was joined.
/// Source: tf.train.QueueRunner.
class queue_runner {
 public:
  /// One step of a producer. True: run me again. False: my input has ended.
  using enqueue_operation = std::function<task<bool>()>;

  /// Errors: invalid_argument for an empty list of closed errors.
  explicit queue_runner(queue_base& queue, queue_runner_options options = {});
  queue_runner(const queue_runner&) = delete;
  queue_runner& operator=(const queue_runner&) = delete;
  ~queue_runner();

  /// Adds an enqueue operation: a callable that gives task<bool> as above, or task<void>, which is
  /// run until it throws one of the closed errors. `home`: the scheduler to run on, null for that
  /// of start().
  template <class Operation>
  void add(Operation operation, std::string name = {}, scheduler* home = nullptr) {
    if constexpr (std::is_same_v<std::invoke_result_t<Operation&>, task<bool>>) {
      add_step(std::move(operation), std::move(name), home);
    } else {
      add_step([op = std::move(operation)]() mutable { return always(op()); }, std::move(name),
               home);
    }
  }

  /// Starts a task for each operation, all owned by `coord`, on the scheduler that runs now or on
  /// the one given. False: they run already, and nothing was started.
  /// Errors: invalid_argument when there is no operation.
  bool start(coordinator& coord);
  bool start(coordinator& coord, scheduler& home);

  /// Producers that have not ended.
  [[nodiscard]] std::size_t running() const noexcept;

  /// "queue_runner" and the queue's name.
  [[nodiscard]] std::string name() const;

 private:
  struct state;

  static task<bool> always(task<void> step) {
    co_await std::move(step);
    co_return true;
  }
  void add_step(enqueue_operation step, std::string name, scheduler* home);

  std::shared_ptr<state> state_;
};

}  // namespace leat
