#pragma once

#include <atomic>
#include <cstddef>
#include <exception>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "leat/base/internal/thread_mutex.hpp"
#include "leat/coordination/queue_runner.hpp"
#include "leat/coordination/task_owner.hpp"
#include "leat/sync/event.hpp"

namespace LEAT::detail {

// State shared by all starts of a runner. Constant while it runs.
struct queue_runner_config {
  struct producer {
    enqueue_operation step;
    std::string name;
    scheduler* on;  // null: the scheduler of the start
  };

  queue_runner_config(queue_base& q, queue_runner_options o);
  [[nodiscard]] std::string name() const {
    return queue.name().empty() ? "queue_runner" : "queue_runner " + queue.name();
  }

  queue_base& queue;
  const queue_runner_options options;
  std::vector<producer> producers;
};

// One start of a runner. Shared by its tasks, the runner and the user: a task that has closed the
// queue may finish after the runner and the handle are destroyed.
class queue_runner_state {
 public:
  queue_runner_state(std::shared_ptr<const queue_runner_config> config, const task_owner& owner);

  // Starts the tasks. If it throws, none of them runs an operation.
  static void start(const std::shared_ptr<queue_runner_state>& self, scheduler& on);

  [[nodiscard]] std::size_t running_producers() const noexcept;
  [[nodiscard]] std::vector<std::exception_ptr> errors() const;
  [[nodiscard]] std::exception_ptr first_error() const noexcept;
  void rethrow_first() const;

  // The queue must not be accessed from now on: the runner is destroyed or starts again.
  void forget_stop() noexcept { on_stop_.reset(); }

  // Throws the error of the first operation that failed before all had run once.
  void rethrow_first_enqueue() const;

  event first_enqueue_done;  // all operations have run once, or one has failed before
  event ended;               // no producer is left

 private:
  struct cancel_queue {
    queue_runner_state* self;
    void operator()() const noexcept;
  };
  using producer = queue_runner_config::producer;

  static task<void> produce(std::shared_ptr<queue_runner_state> self, const producer& p);
  static task<void> run_cancel_op_after_stop(std::shared_ptr<queue_runner_state> self);
  task<void> repeat(const producer& p, bool& first);
  task<void> close_queue(bool failed);
  [[nodiscard]] std::exception_ptr to_producer_error(std::exception_ptr error,
                                                     bool stopped) const noexcept;
  void producer_failed(const std::exception_ptr& error, bool stopped) noexcept;
  void add_secondary(std::exception_ptr error);
  void add_error(std::exception_ptr error) noexcept;
  void count_first_enqueue() noexcept;
  void fail_first_enqueue(std::exception_ptr error) noexcept;
  [[nodiscard]] bool count_down_unless_last() noexcept;
  void finish_last_producer() noexcept;
  void abandon(std::size_t unspawned_count) noexcept;

  const std::shared_ptr<const queue_runner_config> config_;
  const task_owner owner_;
  event started_;  // all tasks are spawned

  mutable thread_mutex mutex_;
  std::size_t running_ LEAT_GUARDED_BY(mutex_);
  std::size_t before_first_enqueue_ LEAT_GUARDED_BY(mutex_);
  std::exception_ptr first_enqueue_error_ LEAT_GUARDED_BY(mutex_);
  std::vector<std::exception_ptr> errors_ LEAT_GUARDED_BY(mutex_);
  std::atomic<bool> abandoned_{false};           // the start has failed
  std::atomic<bool> ended_without_stop_{false};  // no stop has to cancel the queue any more
  // A stop ends every wait on the queue, also those of other tasks.
  std::optional<std::stop_callback<cancel_queue>> on_stop_;
};

}  // namespace LEAT::detail
