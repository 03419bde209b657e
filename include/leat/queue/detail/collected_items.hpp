#pragma once

#include <cstddef>
#include <iterator>
#include <optional>
#include <utility>
#include <vector>

#include "leat/queue/detail/queue_operations.hpp"
#include "leat/queue/queue_base.hpp"

namespace LEAT::detail {

/// A pop_up_to whose result keeps the weights of the items, so that they can still return to the
/// queue.
template <class PopUpTo>
struct pop_part_operation : PopUpTo {
  using batch_type = decltype(PopUpTo::batch);
  template <class Queue>
  pop_part_operation(Queue* q, std::size_t count, batch_type&& memory = {})
      : PopUpTo{q, count, std::move(memory)} {}

  [[nodiscard]] std::optional<batch_type> result(wait_outcome o) noexcept {
    if (o != wait_outcome::done) return std::nullopt;
    return std::move(this->batch);
  }
};

/// The items that several pops have removed for one batch. Items that are not taken return to the
/// front of their queue when this is destroyed, for example with the coroutine that waits for more.
template <class Batch>
class collected_items {
 public:
  /// `memory`: an empty batch, whose capacity limits the number of items.
  collected_items(queue_base& queue, Batch&& memory) noexcept
      : items_(std::move(memory)), pop_(queue, queue_waiter::role::pop_up_to, &items_, 0) {}
  collected_items(const collected_items&) = delete;
  collected_items& operator=(const collected_items&) = delete;
  ~collected_items() {
    pop_.count_ = items_.size();
    pop_.set_done();
    static_cast<void>(pop_.undo_unread());  // if it fails, so does the queue
  }

  [[nodiscard]] std::size_t size() const noexcept { return items_.size(); }

  /// Adds the result of a pop. Precondition: the capacity suffices.
  void add(std::optional<Batch>&& more) noexcept {
    if (!more) return;
    move_to_end(items_, *more);
    if constexpr (requires { more->weights; }) move_to_end(items_.weights, more->weights);
  }

  /// Returns the items to the caller.
  [[nodiscard]] Batch take() && noexcept { return std::exchange(items_, Batch()); }

 private:
  template <class Values>
  static void move_to_end(Values& to, Values& from) noexcept {
    to.insert(to.end(), std::move_iterator(from.begin()), std::move_iterator(from.end()));
  }

  Batch items_;
  queue_waiter pop_;
};

}  // namespace LEAT::detail
