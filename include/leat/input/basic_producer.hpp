#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "leat/async/task.hpp"
#include "leat/async/this_task.hpp"
#include "leat/base/braced.hpp"
#include "leat/base/random.hpp"
#include "leat/coordination/coordinator.hpp"
#include "leat/coordination/internal/producer_list.hpp"
#include "leat/coordination/queue_runner.hpp"
#include "leat/input/limit_epochs.hpp"
#include "leat/queue/fifo_queue.hpp"
#include "leat/queue/queue_fullness.hpp"
#include "leat/queue/queue_registry.hpp"

namespace LEAT {

/// Options of a producer.
struct producer_options {
  std::optional<std::int64_t> num_epochs = {};  ///< 1 or more; if not set, no limit
  bool shuffle = true;                          ///< if true, each epoch has a new order
  std::optional<std::uint64_t> seed = {};       ///< of the orders; if not set, different each time
  std::size_t capacity = 32;                    ///< of the queue, in items, or `unbounded`
  option_string name = "input_producer";        ///< of the queue, in messages and reports
  /// The registry in which readers and other producers find the queue by its name. It must outlive
  /// the producer. If null, the producer has a queue of its own.
  queue_registry* shared = nullptr;
  named_operation cancel_op = {};  ///< see queue_runner_options::cancel_op
  /// The time that a reader or pipeline waits for the first item if start() was never called. It
  /// then fails with deadline_exceeded; the message names the producer. If several producers share
  /// the queue, the shortest time counts, and only while none of them was started.
  time_span start_patience = detail::default_start_patience;
};

namespace detail {

// How many rows a push adds at most. They are in memory twice while they wait for free capacity.
[[nodiscard]] inline std::size_t push_chunk_size(std::size_t capacity) noexcept {
  return std::min<std::size_t>(capacity, 64);
}

// In which order each epoch goes over its items: a function of seed, epoch and number of items.
class producer_order {
 public:
  // Errors: invalid_argument, see basic_producer.
  explicit producer_order(const producer_options& options);

  // Begins the next epoch, which has `items` items. Returns false if no epoch is left.
  [[nodiscard]] bool begin_epoch(std::size_t items);

  [[nodiscard]] std::uint64_t epoch() const noexcept { return epoch_; }
  // The item at a position of the order. Precondition: position < items.
  [[nodiscard]] std::size_t operator[](std::size_t position) const noexcept {
    return order_.empty() ? position : order_[position];
  }

 private:
  epoch_limit limit_;
  const bool shuffle_;
  const random_engine random_;
  std::uint64_t epoch_ = 0;
  std::vector<std::size_t> order_;  // empty: as they stand
};

[[nodiscard]] failure shared_queue_closed_error(const std::string& producer, std::uint64_t epoch,
                                                std::size_t position, std::size_t items);
// Errors: invalid_argument for none; `what` are the items.
void require_items(std::size_t count, const std::string& producer, std::string_view what);

}  // namespace detail

/// Base class of all producers, which add items to a queue epoch by epoch. Each epoch is complete
/// before the next one begins.
///
/// The order of epoch e is a function of (seed, e) and is the same on every platform. Shuffling is
/// uniform, within the epoch. There may be more items than the capacity: the producer waits while
/// the queue is full. After the last epoch the queue is closed, and its items remain. A stop of the
/// coordinator closes the queue with close_and_cancel().
///
/// If a producer fails, its queue fails with the same error, which readers of the queue receive.
///
/// Producers with the same options that share a queue by name fill it together, each with its own
/// epochs. The first one to finish its epochs closes the queue, and all that have not finished then
/// fail. So no item is missing silently.
///
/// Lifetime: the producer must live until the coordinator has been joined.
///
/// Thread safety: as queue_runner; the queue is thread-safe.
/// Cost:          8 bytes for each item if `shuffle` is set. The producer creates items as they are
///                needed, several in one call: all items of a list, or up to 64 rows, but no more
///                than the capacity.
template <class T>
class basic_producer {
 public:
  using value_type = typename detail::element_of_queue<T>::type;

  basic_producer(const basic_producer&) = delete;
  basic_producer& operator=(const basic_producer&) = delete;

  /// Starts filling the queue on the scheduler that runs now, or on the scheduler `on`.
  void start(task_owner owner) { runner_.start(owner); }
  void start(task_owner owner, scheduler& on) { runner_.start(owner, on); }

  /// Returns the runner that fills the queue. Use it to start the producer in other ways, such as
  /// in a task group or together with other runners.
  [[nodiscard]] queue_runner& runner() noexcept { return runner_; }

  /// Returns the queue that the producer fills.
  [[nodiscard]] fifo_queue<T>& queue() noexcept { return *queue_; }

  /// Returns the present fullness of the queue. Thread safety: thread-safe.
  [[nodiscard]] leat::fullness fullness() const { return queue_fullness(*queue_); }

 protected:
  /// Creates the queue, or finds it in producer_options::shared.
  ///
  /// Errors: invalid_argument for num_epochs below 1, a capacity of 0, an unbounded queue without
  ///         num_epochs, or a shared queue that differs.
  explicit basic_producer(const producer_options& options)
      : order_(options),
        shared_(options.shared != nullptr),
        queue_(shared_ ? options.shared->get<fifo_queue<T>>(
                             {.capacity = options.capacity, .name = options.name})
                       : std::make_shared<fifo_queue<T>>(options.capacity, options.name)),
        runner_(*queue_, {.cancel_op = options.cancel_op}),
        list_entry_(runner_, *queue_, options.start_patience) {}
  ~basic_producer() = default;

  /// Sets the function that the runner calls for each epoch, until its task<bool> returns false.
  /// `step` usually returns run_epoch().
  template <class Step>
  void run(Step step) {
    runner_.add(std::move(step), "epochs");
  }

  /// Adds the `count` items of the next epoch to the queue, in the order of that epoch. make(i)
  /// creates item i, and each push adds up to `chunk_size` items. Returns false if there is no
  /// further epoch, or if the queue was closed.
  ///
  /// Errors: aborted if another producer has closed the shared queue; the error of a failed queue.
  template <class Make>
  task<bool> run_epoch(std::size_t count, std::size_t chunk_size, Make make) {
    if (!order_.begin_epoch(count)) co_return false;
    std::vector<T> some;
    for (std::size_t position = 0; position < count;) {
      some.clear();
      const std::size_t end = position + std::min(chunk_size, count - position);
      for (std::size_t i = position; i < end; ++i) some.push_back(make(order_[i]));
      position += co_await queue_->push_many(some);
      if (position == end) continue;
      const bool stopped = this_task::stop_requested();
      if (!shared_ || stopped) co_return false;
      throw detail::shared_queue_closed_error(queue_->name(), order_.epoch(), position, count);
    }
    co_return true;
  }

  /// Checks that there are items. `what` describes the items in the message.
  ///
  /// Errors: invalid_argument if `count` is 0.
  void require_items(std::size_t count, std::string_view what) const {
    detail::require_items(count, queue_->name(), what);
  }

 private:
  detail::producer_order order_;
  const bool shared_;
  const std::shared_ptr<fifo_queue<T>> queue_;
  queue_runner runner_;
  const detail::producer_list_entry list_entry_;
};

}  // namespace LEAT
