#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <source_location>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "leat/async/loop/block_on.hpp"
#include "leat/async/select.hpp"
#include "leat/async/task.hpp"
#include "leat/async/task_group.hpp"
#include "leat/async/wait_limit.hpp"
#include "leat/base/batch_remainder.hpp"
#include "leat/base/braced.hpp"
#include "leat/base/clock.hpp"
#include "leat/base/error.hpp"
#include "leat/coordination/coordinator.hpp"
#include "leat/coordination/internal/producer_list.hpp"
#include "leat/coordination/queue_runner.hpp"
#include "leat/input/detail/starvation.hpp"
#include "leat/queue/fifo_queue.hpp"
#include "leat/queue/memory_budget.hpp"
#include "leat/queue/queue_fullness.hpp"
#include "leat/queue/queue_options.hpp"
#include "leat/queue/queue_statistics.hpp"
#include "leat/queue/random_shuffle_queue.hpp"

namespace LEAT {

/// Options of a batcher. Set max_weight and budget only with a weight function.
struct batcher_options {
  std::size_t batch_size = 0;                         ///< elements in a batch, at least 1
  std::size_t capacity = 32;                          ///< of the queue, in items
  batch_remainder remainder = batch_remainder::keep;  ///< keep: the last batch may be smaller
  std::size_t max_weight = unbounded;                 ///< of all items in the queue
  memory_budget* budget = nullptr;  ///< shared with other queues; must outlive them
  option_string name = "batch";     ///< of the queue, in messages and reports
  /// The time that next() waits for a batch before it fails with deadline_exceeded and removes
  /// nothing. The message states how many items the batcher has and what should feed it. If not
  /// set, there is no limit, except start_patience.
  std::optional<time_span> patience = {};
  /// The time that next() waits for the first batch if start() was never called, or if a producer
  /// that feeds the sources was never started. It then fails with deadline_exceeded. Not used if
  /// `patience` is set.
  time_span start_patience = detail::default_start_patience;
};

/// Options of a shuffle_batcher.
struct shuffle_batcher_options {
  /// Number of elements in a batch, at least 1.
  std::size_t batch_size = 0;
  std::size_t capacity = 0;           ///< of the queue, in items
  std::size_t min_after_dequeue = 0;  ///< items that remain in the queue while the input lasts
  /// The seed of the random order; if not set, a random seed is used.
  std::optional<std::uint64_t> seed = {};
  /// Handling of the last items: `keep` delivers a smaller batch; `drop` drops and counts them.
  batch_remainder remainder = batch_remainder::keep;
  /// Maximum weight of all items in the queue, by a weight function.
  std::size_t max_weight = unbounded;
  /// A budget that the queue shares with other queues; must outlive them.
  memory_budget* budget = nullptr;
  /// The name of the queue, in messages and reports.
  option_string name = "shuffle_batch";
  /// The time until next() fails with deadline_exceeded; see batcher_options::patience.
  std::optional<time_span> patience = {};
  /// The limit for a missing start; see batcher_options::start_patience.
  time_span start_patience = detail::default_start_patience;
};

/// Base class of batcher and shuffle_batcher, which collect items from enqueue operations and
/// deliver them in batches.
///
/// Add the operations that push into queue() with add(), start them with start(), then call next()
/// until it returns an empty optional. When the last operation has ended, the queue closes, and the
/// remaining items are still delivered.
///
/// Lifetime: the batcher must live until the coordinator or group has been joined.
///
/// Thread safety: as queue_runner; next() is thread-safe.
template <class Queue>
class basic_batcher {
 public:
  using value_type = typename Queue::value_type;

  basic_batcher(const basic_batcher&) = delete;
  basic_batcher& operator=(const basic_batcher&) = delete;

  /// Adds an operation that fills the queue; see queue_runner::add().
  template <class Operation>
  void add(Operation operation, std::string name = {}, scheduler* on = nullptr) {
    runner_.add(std::move(operation), std::move(name), on);
    ++feed_state_.operations;
  }

  /// Starts the operations on the scheduler that runs now, or on the scheduler `on`. `owner` is a
  /// coordinator or a task group. In a task group, if an operation fails, next() throws its error
  /// after the other operations have ended and their items have been removed.
  void start(task_owner owner) {
    runner_.start(owner);
    feed_state_.started = true;
  }
  void start(task_owner owner, scheduler& on) {
    runner_.start(owner, on);
    feed_state_.started = true;
  }

  /// Returns the next batch, or an empty optional if the input has ended.
  ///
  /// Errors: cancelled; the error of an enqueue operation; deadline_exceeded after the patience or,
  ///         if none is set and the start is missing, after start_patience.
  [[nodiscard]] task<std::optional<std::vector<value_type>>> next(
      std::source_location where = std::source_location::current()) {
    if (patience_) return next_within(*patience_, where);
    if (can_starve()) return next_if_started(where);
    return next_any(where);
  }

  /// The blocking form of next() in 0.2.
  template <std::convertible_to<wait_limit>... Limit>
  [[deprecated("write leat::block_on(batcher.next(), limit)")]] auto wait_next(
      const Limit&... limit) {
    return block_on(next(), limit...);
  }

  /// Returns the number of items that were left over at the end, with batch_remainder::drop, or 0
  /// before the end.
  [[nodiscard]] std::size_t dropped() const noexcept {
    return remainder_ == batch_remainder::drop && queue_.is_closed() && queue_.size() < batch_size_
               ? queue_.size()
               : 0;
  }

  /// Returns the queue that collects the items, for its statistics or to close or fail it.
  [[nodiscard]] Queue& queue() noexcept { return queue_; }
  /// Returns the number of elements in a full batch.
  [[nodiscard]] std::size_t batch_size() const noexcept { return batch_size_; }

  /// Returns the present fullness of the queue. Thread safety: thread-safe.
  [[nodiscard]] leat::fullness fullness() const { return queue_fullness(queue_); }

 protected:
  template <class Options, class... Arguments>
  explicit basic_batcher(const Options& o, Arguments&&... arguments)
      : batch_size_(checked(o.batch_size, o.name)),
        remainder_(o.remainder),
        patience_(o.patience),
        start_patience_(o.start_patience),
        queue_(std::forward<Arguments>(arguments)...),
        runner_(queue_) {
    if (patience_) detail::check_patience(queue_, *patience_);
    detail::check_patience(queue_, start_patience_);
  }
  ~basic_batcher() = default;

 private:
  static std::size_t checked(std::size_t batch_size, const std::string& name) {
    if (batch_size > 0 && batch_size <= PTRDIFF_MAX) return batch_size;
    throw failure(errc::invalid_argument,
                  "batcher '" + name + "': batch_size is " +
                      std::to_string(static_cast<std::ptrdiff_t>(batch_size)) +
                      ", must be 1 or more");
  }

  task<std::optional<std::vector<value_type>>> next_any(std::source_location where) {
    if (remainder_ == batch_remainder::keep)
      co_return co_await queue_.pop_up_to(batch_size_, where);
    co_return co_await queue_.pop_many(batch_size_, where);
  }

  bool can_starve() {
    if (feed_state_.operations == 0) return false;
    return !feed_state_.started ||
           (!has_started_feeding() && !detail::unstarted_producers_text().empty());
  }

  // True once something was pushed, or the queue was closed.
  bool has_started_feeding() noexcept {
    // Relaxed: it only says how to wait.
    if (has_started_feeding_.load(std::memory_order_relaxed)) return true;
    const queue_statistics s = queue_.statistics();
    if (s.pushed == 0 && !s.closed) return false;
    has_started_feeding_.store(true, std::memory_order_relaxed);
    return true;
  }

  // Sources that were never started deliver nothing, nor do those that wait for a producer that was
  // never started.
  bool is_starving() {
    const bool started = feed_state_.started || runner_.last_start();
    return !started || (!has_started_feeding() && detail::waits_for_unstarted_producer());
  }

  // The next batch. Fails if none comes within start_patience and sources or producers for which it
  // waits were never started; either may be started meanwhile.
  task<std::optional<std::vector<value_type>>> next_if_started(std::source_location where) {
    try {
      co_return co_await next_within(start_patience_, where);
    } catch (const std::system_error& e) {
      if (e.code() != errc::deadline_exceeded || queue_.failure_cause() || is_starving()) throw;
    }
    co_return co_await next_any(where);
  }

  // A deadline_exceeded may also be the error of a source, which is rethrown unchanged.
  task<std::optional<std::vector<value_type>>> next_within(duration patience,
                                                           std::source_location where) {
    try {
      if (remainder_ == batch_remainder::keep) {
        co_return co_await with_timeout(queue_.pop_up_to(batch_size_, where), patience, where);
      }
      co_return co_await with_timeout(queue_.pop_many(batch_size_, where), patience, where);
    } catch (const std::system_error& e) {
      if (e.code() != errc::deadline_exceeded || queue_.failure_cause()) throw;
    }
    throw detail::starvation_error(queue_, batch_size_, patience, feed_state_);
  }

  const std::size_t batch_size_;
  const batch_remainder remainder_;
  const std::optional<time_span> patience_;
  const time_span start_patience_;
  detail::feed_state feed_state_;
  std::atomic<bool> has_started_feeding_ = false;  // what has_started_feeding() found
  Queue queue_;
  queue_runner runner_;
};

/// A batcher that delivers items in the order in which they were added.
///
/// TensorFlow: tf.train.batch.
template <class T, queue_weigher<T> Weigh = unweighed>
class batcher final : public basic_batcher<fifo_queue<T, Weigh>> {
 public:
  /// Errors: invalid_argument if the batch size or the capacity is 0, if patience or start_patience
  ///         is not above 0, or if max_weight or budget is set without a weight function.
  explicit batcher(const batcher_options& o, Weigh weigh = {})
      : basic_batcher<fifo_queue<T, Weigh>>(o,
                                            queue_options{.capacity = o.capacity,
                                                          .max_weight = o.max_weight,
                                                          .budget = o.budget,
                                                          .name = o.name},
                                            std::move(weigh)) {}
};

/// A batcher that draws the items of each batch at random from the queue.
///
/// Recommended capacity: min_after_dequeue + (enqueue operations + a few) * batch_size.
///
/// TensorFlow: tf.train.shuffle_batch.
template <class T, queue_weigher<T> Weigh = unweighed>
class shuffle_batcher final : public basic_batcher<random_shuffle_queue<T, Weigh>> {
 public:
  /// Errors: as batcher; invalid_argument also if min_after_dequeue is not below the capacity.
  explicit shuffle_batcher(const shuffle_batcher_options& o, Weigh weigh = {})
      : basic_batcher<random_shuffle_queue<T, Weigh>>(
            o,
            shuffle_options{.capacity = o.capacity,
                            .min_after_dequeue = o.min_after_dequeue,
                            .seed = o.seed,
                            .max_weight = o.max_weight,
                            .budget = o.budget,
                            .name = o.name},
            std::move(weigh)) {}
};

}  // namespace LEAT
