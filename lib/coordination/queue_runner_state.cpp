#include "coordination/queue_runner_state.hpp"

#include <algorithm>
#include <utility>

#include "coordination/root_cause.hpp"
#include "leat/async/internal/yield_turn.hpp"
#include "leat/async/select.hpp"
#include "leat/async/this_task.hpp"

namespace LEAT::detail {

// How the queue ends:
//
// - Without a stop, the last producer closes it in close_queue(), or makes it fail. running_ stays
//   1 until then, so that no new start interferes.
// - After a stop, the callback on_stop_ cancels it at once, on the thread that requests the stop.
//   If there is a cancel_op, the callback only makes the queue fail with the error of the stop, if
//   there is one, and the task run_cancel_op_after_stop() runs the cancel_op.
// - ended_without_stop_ tells this task that there is nothing to cancel.
//
// An error of a producer reaches the coordinator by the end of its task. Without a coordinator, it
// is kept in errors_, and the last producer throws the first one: an earlier throw would stop the
// group while others still run.

queue_runner_state::queue_runner_state(std::shared_ptr<const queue_runner_config> config,
                                       const task_owner& owner)
    : first_enqueue_done("first enqueues of " + config->name()),
      ended("end of " + config->name()),
      config_(std::move(config)),
      owner_(owner),
      started_("start of " + config_->name()),
      running_(config_->producers.size()),
      before_first_enqueue_(running_) {
  // One error per producer and a few of closing, so that no error is lost if memory runs out.
  errors_.reserve(running_ + 3);
}

// ------------------------------------------------------------------------------------------ start

void queue_runner_state::start(const std::shared_ptr<queue_runner_state>& self, scheduler& on) {
  const queue_runner_config& config = *self->config_;
  const std::string name = config.name() + " ";
  std::size_t spawned = 0;
  try {
    if (config.options.cancel_op.run) {
      self->owner_.spawn_on(on, run_cancel_op_after_stop(self), name + "close_on_stop");
    }
    for (const producer& p : config.producers) {
      self->owner_.spawn_on(p.on ? *p.on : on, produce(self, p), name + p.name);
      ++spawned;
    }
  } catch (...) {
    self->abandon(config.producers.size() - spawned);
    throw;
  }
  // Before started_ is set, so that a stop finds the callback if an operation has run. If the stop
  // was requested before, the callback runs in this call.
  self->on_stop_.emplace(self->owner_.get_stop_token(), cancel_queue{self.get()});
  self->started_.set();
}

// The tasks that were spawned end without running an operation.
void queue_runner_state::abandon(std::size_t unspawned_count) noexcept {
  abandoned_ = true;
  ended_without_stop_ = true;
  bool is_last = false;
  {
    const thread_lock lock(mutex_);
    running_ -= unspawned_count;
    is_last = running_ == 0;
  }
  if (is_last) ended.set();
  started_.set();
}

// -------------------------------------------------------------------------------------- producers

// Repeats the operation until it returns false, throws, or a stop is requested. `first`: the
// operation has not run yet.
task<void> queue_runner_state::repeat(const producer& p, bool& first) {
  // A producer on another scheduler may get here before the others are spawned. If one of them
  // cannot be spawned, no operation may have run.
  co_await started_.wait();
  for (bool more = !abandoned_; more;) {
    if (this_task::stop_requested()) {
      if (first)
        throw failure(errc::cancelled, "queue_runner '" + config_->queue.name() +
                                           "': stop requested before the first enqueue operation");
      break;
    }
    task<bool> step = p.step();
    more = co_await untraced<bool>{std::move(step)};
    if (std::exchange(first, false)) count_first_enqueue();
    if (more && is_turn_over()) co_await yield_turn();  // the operation may never wait
  }
}

task<void> queue_runner_state::produce(std::shared_ptr<queue_runner_state> self,
                                       const producer& p) {
  std::exception_ptr error;
  bool first = true;
  try {
    task<void> steps = self->repeat(p, first);
    co_await untraced<void>{std::move(steps)};
  } catch (...) {
    error = std::current_exception();
    if (first) self->fail_first_enqueue(error);
  }
  const bool stopped = this_task::stop_requested();
  error = self->to_producer_error(std::move(error), stopped);
  if (error) self->producer_failed(error, stopped);
  const bool last = self->count_down_unless_last();
  if (last) {
    try {
      if (!stopped && !self->abandoned_) co_await self->close_queue(error != nullptr);
    } catch (...) {  // no memory
      if (!error) error = std::current_exception();
      self->producer_failed(error, stopped);
      self->config_->queue.fail(error);
    }
    self->finish_last_producer();
  }
  if (self->owner_.get_coordinator()) {
    if (error) std::rethrow_exception(error);
  } else if (last) {
    self->rethrow_first();  // not before the others have ended: it stops the group
  }
}

// Returns null if `error` is not an error of the producer: the end of the input, or a wait that the
// stop has ended.
std::exception_ptr queue_runner_state::to_producer_error(std::exception_ptr error,
                                                         bool stopped) const noexcept {
  const std::error_code ec = to_error_code(error);
  const auto& closed = config_->options.queue_closed_errors;
  const bool means_closed =
      std::any_of(closed.begin(), closed.end(), [&](errc c) { return ec == c; });
  if (means_closed || (stopped && ec == errc::cancelled)) error = nullptr;
  return error;
}

// A coordinator receives the error from the task, and stops the other tasks.
void queue_runner_state::producer_failed(const std::exception_ptr& error, bool stopped) noexcept {
  if (!owner_.get_coordinator()) {
    add_error(error);
  } else if (!stopped) {
    config_->queue.fail(root_cause(error));
  }
}

// ------------------------------------------------------------------------------- the last one out

// Called if no stop was requested. `failed`: the last producer failed; others may have failed
// before.
task<void> queue_runner_state::close_queue(bool failed) {
  if (failed && owner_.get_coordinator()) co_return;  // the stop that follows cancels
  if (failed) ended_without_stop_ = true;             // the cancelling operation runs here
  const named_operation& op = failed ? config_->options.cancel_op : config_->options.close_op;
  // Before the operation, so that consumers see the error when the operation closes the queue.
  const std::exception_ptr cause = first_error();
  if (cause) config_->queue.fail(root_cause(cause));
  if (op.run) {
    std::exception_ptr error;
    try {
      co_await op.run();
    } catch (...) {
      error = std::current_exception();
    }
    const bool stopped = this_task::stop_requested();
    if (stopped && to_error_code(error) == errc::cancelled) co_return;  // the stop cancels
    if (error) {
      config_->queue.fail(error);  // the first cause counts
      add_secondary(std::move(error));
    }
  } else if (!cause) {
    config_->queue.close();
  }
  ended_without_stop_ = true;
}

// Consumers of the queue must not mistake a failure elsewhere for the end of the input, also if the
// cancel_op closes the queue.
void queue_runner_state::cancel_queue::operator()() const noexcept {
  queue_base& queue = self->config_->queue;
  std::exception_ptr error = self->owner_.stop_error();
  if (error) {
    queue.fail(std::move(error));
  } else if (!self->config_->options.cancel_op.run) {
    queue.close_and_cancel();
  }
}

task<void> queue_runner_state::run_cancel_op_after_stop(std::shared_ptr<queue_runner_state> self) {
  try {
    co_await self->ended.wait();
  } catch (const failure&) {  // the stop
  } catch (...) {             // no memory to wait for it
    self->config_->queue.close_and_cancel();
    throw;
  }
  if (self->ended_without_stop_) co_return;
  std::exception_ptr error;
  try {
    // Shielded, because this task was stopped: another group would be stopped with it.
    task_group group(shielded, self->config_->name());
    group.spawn(self->config_->options.cancel_op.run(), self->config_->options.cancel_op.name);
    co_await group.join();
  } catch (...) {
    error = std::current_exception();
  }
  if (!error) co_return;
  self->config_->queue.close_and_cancel();
  self->add_secondary(error);
  if (!self->owner_.get_coordinator()) std::rethrow_exception(error);
}

bool queue_runner_state::count_down_unless_last() noexcept {
  const thread_lock lock(mutex_);
  if (running_ == 1) return true;
  --running_;
  return false;
}

// The runner counts as running until the queue is closed, so that a new start cannot interfere.
void queue_runner_state::finish_last_producer() noexcept {
  {
    const thread_lock lock(mutex_);
    running_ = 0;
  }
  ended.set();
}

void queue_runner_state::count_first_enqueue() noexcept {
  {
    const thread_lock lock(mutex_);
    if (--before_first_enqueue_ != 0) return;
  }
  first_enqueue_done.set();
}

void queue_runner_state::fail_first_enqueue(std::exception_ptr error) noexcept {
  {
    const thread_lock lock(mutex_);
    if (!first_enqueue_error_) first_enqueue_error_ = std::move(error);
  }
  first_enqueue_done.set();
}

void queue_runner_state::rethrow_first_enqueue() const {
  std::exception_ptr error;
  {
    const thread_lock lock(mutex_);
    error = first_enqueue_error_;
  }
  if (error) std::rethrow_exception(error);
}

// ----------------------------------------------------------------------------------------- errors

void queue_runner_state::add_error(std::exception_ptr error) noexcept {
  const thread_lock lock(mutex_);
  errors_.push_back(std::move(error));  // capacity is reserved
}

void queue_runner_state::add_secondary(std::exception_ptr error) {
  if (owner_.get_coordinator()) {
    owner_.get_coordinator()->add_secondary_error(std::move(error));
  } else {
    add_error(std::move(error));
  }
}

std::size_t queue_runner_state::running_producers() const noexcept {
  const thread_lock lock(mutex_);
  return running_;
}

std::vector<std::exception_ptr> queue_runner_state::errors() const {
  const thread_lock lock(mutex_);
  return errors_;
}

std::exception_ptr queue_runner_state::first_error() const noexcept {
  const thread_lock lock(mutex_);
  return errors_.empty() ? nullptr : errors_.front();
}

void queue_runner_state::rethrow_first() const {
  const std::exception_ptr first = first_error();
  if (first) std::rethrow_exception(first);
}

}  // namespace LEAT::detail
