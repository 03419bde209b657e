#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "leat/core/error.hpp"
#include "leat/core/random.hpp"
#include "leat/sync/coordinator.hpp"
#include "leat/sync/fifo_queue.hpp"
#include "leat/sync/queue_runner.hpp"

namespace leat {

/// How a producer goes over its items.
struct producer_options {
  std::optional<std::uint64_t> num_epochs = {};  ///< times; none: again and again
  bool shuffle = true;                           ///< a new order in each epoch
  std::optional<std::uint64_t> seed = {};        ///< of the orders; none: others each time
  std::size_t capacity = 32;                     ///< of the queue, in items
  std::string name = "input_producer";           ///< of the queue, for messages and reports
};

/// Puts a list of items into a queue, epoch by epoch, each in full before the next begins.
///
/// The order of epoch e is a function of (seed, e). After the last epoch the queue is closed; what
/// is in it stays.
///
/// Lives until the coordinator was joined. Thread safety: as queue_runner; the queue is
/// shared-safe.
/// Source: tf.train.input_producer.
template <queue_element T>
  requires std::copy_constructible<T>
class input_producer {
 public:
  /// Errors: invalid_argument for no items, no epoch, or a capacity of 0.
  input_producer(std::vector<T> items, producer_options options = {})
      : options_(std::move(options)),
        items_(std::move(items)),
        random_(seed_or_entropy(options_.seed)),
        queue_(options_.capacity, options_.name),
        runner_(queue_) {
    if (items_.empty()) {
      throw failure(errc::invalid_argument,
                    "producer '" + options_.name + "': the list of items is empty");
    }
    if (options_.num_epochs == std::uint64_t{0}) {
      throw failure(errc::invalid_argument,
                    "producer '" + options_.name + "': num_epochs is 0; leave it out for no limit");
    }
    runner_.add([this] { return run_epoch(); }, "epochs");
  }
  input_producer(const input_producer&) = delete;
  input_producer& operator=(const input_producer&) = delete;

  /// Starts filling the queue on the scheduler that runs now, or on `home`.
  void start(coordinator& coord) { runner_.start(coord); }
  void start(coordinator& coord, scheduler& home) { runner_.start(coord, home); }

  [[nodiscard]] fifo_queue<T>& queue() noexcept { return queue_; }
  [[nodiscard]] std::size_t items() const noexcept { return items_.size(); }

 private:
  task<bool> run_epoch() {
    if (options_.num_epochs && epoch_ == *options_.num_epochs) co_return false;
    std::vector<T> order = items_;
    if (options_.shuffle) {
      random_engine random = random_.stream(epoch_);
      leat::shuffle(order.begin(), order.end(), random);
    }
    ++epoch_;
    co_return co_await queue_.push_many(order) == order.size();
  }

  const producer_options options_;
  const std::vector<T> items_;
  const random_engine random_;
  std::uint64_t epoch_ = 0;
  fifo_queue<T> queue_;
  queue_runner runner_;
};

/// Produces strings, such as filenames. Source: tf.train.string_input_producer.
using string_input_producer = input_producer<std::string>;

}  // namespace leat
