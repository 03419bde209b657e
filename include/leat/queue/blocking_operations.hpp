#pragma once

#include <concepts>
#include <cstddef>
#include <optional>
#include <source_location>
#include <utility>
#include <vector>

#include "leat/async/wait_limit.hpp"

namespace leat {

/// The blocking form of a queue's operations, for OS threads. For each awaitable `x()` there is a
/// `wait_x()` with the same results, errors and guarantees.
///
/// Precondition: the thread does not run a scheduler. In a task, use the awaitable.
///
/// Stop requests: in a thread that coordinator::start_thread() started, a stop of the coordinator
/// ends the current wait and all later ones with `cancelled`, as in a task.
///
/// Limits: every operation accepts a wait_limit, which is a stop token, a time or both. If the
/// limit has been reached before the call:
///
/// - After a stop request the operation fails with `cancelled`, even if it need not wait.
/// - After the deadline it still succeeds if it need not wait.
/// - With zero items it always succeeds.
///
/// Errors:       the errors of the awaitable; cancelled; deadline_exceeded. wait_push_many() throws
///               the last two as a partial_push_error, whose count() is the number of items added.
/// Cancellation: total, as in a task, by a stop request or a deadline. For wait_push_many():
///               partial.
/// Cost:         the cost of the awaitable. A call that waits also puts the thread to sleep. A time
///               span reads the clock.
///
/// Queue is the queue class, which derives from this class. Items is the type that
/// wait_push_many() accepts; Batch is the type that wait_pop_many() returns.
template <class Queue, class Item, class Items, class Batch>
class blocking_operations {
 public:
  /// Adds an item, blocking while the queue is full. Returns true, or false if the queue is closed;
  /// in that case `item` has not been moved from.
  bool wait_push(Item&& item, std::source_location where = std::source_location::current()) {
    return self().block_push(std::move(item), nullptr, where);
  }
  bool wait_push(Item&& item, const wait_limit& limit,
                 std::source_location where = std::source_location::current()) {
    return self().block_push(std::move(item), &limit, where);
  }
  bool wait_push(const Item& item, std::source_location where = std::source_location::current())
    requires std::copy_constructible<Item>
  {
    return self().block_push(item, nullptr, where);
  }
  bool wait_push(const Item& item, const wait_limit& limit,
                 std::source_location where = std::source_location::current())
    requires std::copy_constructible<Item>
  {
    return self().block_push(item, &limit, where);
  }

  /// Removes the next item, blocking while the queue is empty. Returns the item, or an empty
  /// optional once the queue is closed and all items have been removed.
  std::optional<Item> wait_pop(std::source_location where = std::source_location::current()) {
    return self().block_pop(nullptr, where);
  }
  std::optional<Item> wait_pop(const wait_limit& limit,
                               std::source_location where = std::source_location::current()) {
    return self().block_pop(&limit, where);
  }

  /// Adds all `items` as one contiguous sequence, blocking whenever the queue is full. Returns the
  /// number of items added, which is less than the number of items only if the queue was closed.
  std::size_t wait_push_many(Items items,
                             std::source_location where = std::source_location::current()) {
    return self().block_push_many(std::move(items), nullptr, where);
  }
  std::size_t wait_push_many(Items items, const wait_limit& limit,
                             std::source_location where = std::source_location::current()) {
    return self().block_push_many(std::move(items), &limit, where);
  }

  /// Removes `count` items, blocking until it has all of them. Returns the items, or an empty
  /// optional if the queue is closed and has fewer items left.
  std::optional<Batch> wait_pop_many(std::size_t count,
                                     std::source_location where = std::source_location::current()) {
    return self().block_pop_many(count, nullptr, where);
  }
  std::optional<Batch> wait_pop_many(std::size_t count, const wait_limit& limit,
                                     std::source_location where = std::source_location::current()) {
    return self().block_pop_many(count, &limit, where);
  }
  /// Overloads that reuse the memory of `reused`: see basic_queue::pop_many(). A tensor_queue has
  /// none.
  std::optional<Batch> wait_pop_many(std::size_t count, Batch&& reused,
                                     std::source_location where = std::source_location::current())
    requires std::same_as<Batch, std::vector<Item>>
  {
    return self().block_pop_many(count, nullptr, where, std::move(reused));
  }
  std::optional<Batch> wait_pop_many(std::size_t count, Batch&& reused, const wait_limit& limit,
                                     std::source_location where = std::source_location::current())
    requires std::same_as<Batch, std::vector<Item>>
  {
    return self().block_pop_many(count, &limit, where, std::move(reused));
  }

  /// Removes `count` items like wait_pop_many(), or the remaining items if the queue is closed.
  /// Returns the items, or an empty optional once the queue is closed and all items have been
  /// removed.
  std::optional<Batch> wait_pop_up_to(
      std::size_t count, std::source_location where = std::source_location::current()) {
    return self().block_pop_up_to(count, nullptr, where);
  }
  std::optional<Batch> wait_pop_up_to(
      std::size_t count, const wait_limit& limit,
      std::source_location where = std::source_location::current()) {
    return self().block_pop_up_to(count, &limit, where);
  }
  std::optional<Batch> wait_pop_up_to(std::size_t count, Batch&& reused,
                                      std::source_location where = std::source_location::current())
    requires std::same_as<Batch, std::vector<Item>>
  {
    return self().block_pop_up_to(count, nullptr, where, std::move(reused));
  }
  std::optional<Batch> wait_pop_up_to(std::size_t count, Batch&& reused, const wait_limit& limit,
                                      std::source_location where = std::source_location::current())
    requires std::same_as<Batch, std::vector<Item>>
  {
    return self().block_pop_up_to(count, &limit, where, std::move(reused));
  }

 private:
  friend Queue;
  blocking_operations() = default;

  Queue& self() noexcept { return static_cast<Queue&>(*this); }
};

}  // namespace leat
